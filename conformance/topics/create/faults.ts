// Servers that respond incorrectly to a create, refuse a valid one, or pay and show other values than requested (§2.1 to
// §2.3, §4.1).
import { commonPairs } from "../../generate/countries.ts";
import { also, caughtOnlyBy, forEach, through, type Faults, type How, type Reply } from "../../broken/fault.ts";
import {
  accepts,
  handles,
  records,
  refuses,
  requests,
  responses,
  results,
  statuses,
  texts,
} from "../../broken/changes.ts";
import { dataOf, isAccepted, refusal, withData } from "../../broken/replies.ts";
import { exchangesWithin, extraIn, isOf, isText, sent, without, type Fields } from "../../broken/calls.ts";
import { changesRecord, isPayout, rewrites } from "../../broken/webhooks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** Changes the merchant's reference in the response. */
const echoes = (change: (reference: string) => string) =>
  results((created) => ({ ...created, merchantsReference: change(String(created["merchantsReference"])) }));
/** Changes the merchant's reference before it is stored. */
const keeps = (change: (reference: string) => string) => texts("createDisbursement", "reference", change);
const payments = (change: (fields: Fields) => Fields) => requests("createDisbursement", change);
/** Makes payouts, but responds as if they were refused. */
const pretends = (fits: (fields: Fields) => boolean): How =>
  responses("createDisbursement", (reply, call) => (isAccepted(reply) && fits(sent(call)) ? refusal(422) : reply));

const withAmount = (change: (amount: number) => unknown) => (record: Fields) => ({
  ...record,
  amount: change(Number(record["amount"])),
});
const to32Bits = (amount: number) => Math.trunc(amount) | 0;
const withPhone = (record: Fields, phoneNumber: string): Fields => ({
  ...record,
  customer: { ...(record["customer"] as Fields), phoneNumber },
});
const phones = (change: (phoneNumber: string) => string) =>
  records((record) => withPhone(record, change(String((record["customer"] as Fields)["phoneNumber"]))));
/** Accepts texts of a kind as the value of a field. */
const acceptsTexts = (
  id: RequirementId,
  field: string,
  what: string,
  valid: () => unknown,
  kinds: Readonly<Record<string, RegExp>>,
) =>
  forEach(Object.entries(kinds), ([kind, pattern]) => [
    `${id}: ${what} ${kind} is accepted.`,
    accepts("createDisbursement", field, (value) => isText(value) && pattern.test(value), valid),
  ]);
const acceptsAmounts = (isInvalid: (value: unknown) => boolean, valid: (value: unknown) => unknown) =>
  accepts("createDisbursement", "amount", isInvalid, valid);
const served = new Set(["CI", "NG", "GH", "KE", "US"]);

/** Requirements whose checks compare the records of payouts of every kind with their requests. */
const comparing = [
  "records.as-requested",
  "create.generated-valid-accepted",
  "create.model",
  "create.duplicate-refused",
  "create.duplicate-any-field",
  "life.facts-kept",
  "life.references-used",
] as const;

export const faults: Faults = {
  "create.accepted: A create returns 201.": statuses("createDisbursement", 200, 201),
  "create.result-shape: The create response is truncated.": also(
    "json.answers",
    responses("createDisbursement", (reply) =>
      isAccepted(reply) ? { ...reply, text: reply.text.slice(0, -4) } : reply,
    ),
  ),
  "create.status-known: The status is in upper case.": also(
    "create.result-shape",
    results((created) => ({ ...created, status: String(created["status"]).toUpperCase() })),
  ),
  "create.amount-echoed: The create response shows the amount divided by 100.": results(
    withAmount((amount) => amount / 100),
  ),
  "create.reference-echoed: The merchant's reference is trimmed.": keeps((text) => text.trim()),
  "create.reference-echoed: The merchant's reference is converted to lower case.": keeps((text) => text.toLowerCase()),
  "create.reference-echoed: The merchant's reference is normalised to Unicode NFC.": keeps((text) =>
    text.normalize("NFC"),
  ),
  "create.reference-echoed: The merchant's reference is returned with HTML escapes.": echoes((text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
  ),
  "create.service-reference-unique: Every payout has the same service reference.": results((created) => ({
    ...created,
    reference: "DSB0",
  })),
  "create.service-reference-verifies: Verify does not find the service reference from the create response.": results(
    (created) => ({
      ...created,
      reference: `${String(created["reference"])}X`,
    }),
  ),

  "create.amount-minimum-accepted: An amount of 1 is refused.": refuses(({ amount }) => amount === 1),
  "create.phone-lengths-accepted: Phone numbers of 10 and 15 digits are refused.": refuses(({ phoneNumber }) =>
    [10, 15].includes(String(phoneNumber).length),
  ),
  "create.phone-leading-zeros: A phone number with leading zeros is refused.": refuses(({ phoneNumber }) =>
    String(phoneNumber).startsWith("0"),
  ),
  "create.webhook-optional: A payout without a webhookURL is refused.": refuses(
    ({ webhookURL }) => webhookURL === undefined,
  ),
  "create.webhook-null: A webhookURL of null counts as missing.": payments((fields) =>
    fields["webhookURL"] === null ? without(fields, "webhookURL") : fields,
  ),
  "create.pairs-accepted: Payouts to Kenya get a 500.": refuses(({ country }) => country === "KE", 500),

  "create.usd-accepted: Payouts in USD are refused, but made.": pretends(({ currency }) => currency === "USD"),
  "create.generated-valid-accepted: Payouts to countries other than the common ones are refused, but made.": pretends(
    ({ country }) => /^[A-Z]{2}$/.test(String(country)) && !served.has(String(country)),
  ),
  "create.result-as-requested: The create response has an empty merchantsReference if the request has an unknown field.":
    through(
      "create.extra-field",
      results((created, call) => (extraIn(sent(call)) ? { ...created, merchantsReference: "" } : created)),
    ),
  "create.initial-status: Every create response has the status success.": also(
    "verify.transitions",
    results((created) => ({ ...created, status: "success" })),
  ),
  "create.extra-field: An unknown field is refused.": refuses((fields) => extraIn(fields) !== undefined, 400),

  "create.phone-422: An invalid phone number returns 400.": statuses("createDisbursement", 422, 400),

  "create.split-400-422: Every invalid create returns 422.": statuses("createDisbursement", 400, 422),
  ...acceptsTexts("create.phone-pattern", "phoneNumber", "A phone number", () => "2257038102473", {
    "with a leading plus sign": /^\+\d+$/,
    "with spaces": /^[\d ]+ \d+$/,
    "with hyphens": /^\d+(-\d+)+$/,
    "of 9 digits": /^\d{9}$/,
    "of 16 digits": /^\d{16}$/,
    "with a letter": /^\d+[A-Z]\d+$/,
    "with a trailing line break": /^\d+\n$/,
    "with digits of another script": /^\p{Nd}*[^\P{Nd}0-9]\p{Nd}*$/u,
  }),
  ...acceptsTexts("create.country-pattern", "country", "A country", () => "CI", {
    "in lower case": /^[a-z]{2}$/,
    "in upper and lower case": /^[A-Z][a-z]$/,
    "of three letters": /^[A-Z]{3}$/,
    "with a trailing space": /^[A-Z]{2} $/,
    "with a trailing line break": /^[A-Z]{2}\n$/,
    "with an accent": /^[A-Z]\u00cd$/,
  }),
  "create.country-pattern: An invalid country returns 404.": refuses(
    ({ country }) => !/^[A-Z]{2}$/.test(String(country)),
    404,
  ),
  ...acceptsTexts("create.currency-pattern", "currency", "A currency", () => "XOF", {
    "in lower case": /^[a-z]{3}$/,
    "of two letters": /^[A-Z]{2}$/,
    "with a digit": /^[A-Z]0[A-Z]$/,
    "in Cyrillic letters": /^\p{Script=Cyrillic}{3}$/u,
  }),
  "create.amount-type: A string with separators is accepted as amount.": acceptsAmounts(
    (value) => isText(value) && /^\d+([ ,.]\d+)+$/.test(value),
    () => 1000,
  ),
  "create.amount-type: An amount of 1.5 is rounded and paid.": acceptsAmounts(
    (value) => value === 1.5,
    () => 2,
  ),
  "create.phone-type: A phone number in an array is accepted.": accepts(
    "createDisbursement",
    "phoneNumber",
    Array.isArray,
    String,
  ),
  "create.generated-invalid-refused: A text with punctuation is accepted as amount.": acceptsAmounts(
    (value) => isText(value) && /[!-/:-@]/.test(value),
    () => 1,
  ),
  "create.phone-required: A missing phoneNumber is taken from a field named __proto__.": payments((fields) => {
    const hidden = Object.getOwnPropertyDescriptor(fields, "__proto__")?.value as object | undefined;
    return hidden ? { ...hidden, ...without(fields, "__proto__") } : fields;
  }),
  "numbers.exact: The amount has single precision in the create response.": through(
    "numbers.exact",
    also("create.result-as-requested", results(withAmount(Math.fround))),
  ),
  "numbers.exact: Verify shows amounts as signed 32-bit integers.": records(withAmount(to32Bits)),
  "numbers.exact: Verify shows 15 significant digits of an amount.": caughtOnlyBy(
    ["numbers.exact", "life.facts-kept"],
    records(withAmount((amount) => Number(amount.toPrecision(15)))),
  ),
  "numbers.exact: An amount of 2^53 + 1 is accepted and changed.": payments((fields) =>
    fields["amount"] === 2 ** 53 ? { ...fields, amount: Number.MAX_SAFE_INTEGER } : fields,
  ),
  "numbers.largest-amount: Amounts above 2^40 are refused.": refuses(({ amount }) => Number(amount) > 2 ** 40),
  "webhook.amount: Webhooks state the amount as a signed 32-bit integer.": caughtOnlyBy(
    ["webhook.amount", "life.webhooks-true"],
    through("numbers.exact", changesRecord(withAmount(to32Bits), isPayout)),
  ),
  "records.as-requested: Amounts in KES are rounded to a multiple of 100, because mobile money in Kenya has no cents.":
    payments((fields) => {
      const { amount, currency } = fields;
      const isRounded = currency === "KES" && Number.isSafeInteger(amount) && Number(amount) > 0;
      return isRounded ? { ...fields, amount: Math.max(100, Math.round(Number(amount) / 100) * 100) } : fields;
    }),
  "records.as-requested: The exponent of an amount such as 1.5e1 is ignored, and its fraction is cut off.": requests(
    "createDisbursement",
    (fields, { body }) => {
      const [, most = ""] = /"amount":(\d+)(?:\.\d+)?e/.exec(body.toString()) ?? [];
      return Number(most) > 0 ? { ...fields, amount: Number(most) } : fields;
    },
  ),
  "records.as-requested: A payout in another currency than the country's is made in the country's.": payments(
    (fields) => {
      const own = commonPairs.find(({ country }) => country === fields["country"])?.currency;
      return own && /^[A-Z]{3}$/.test(String(fields["currency"])) ? { ...fields, currency: own } : fields;
    },
  ),
  "records.as-requested: Records of payouts to Ghana have the webhookURL without its query.": caughtOnlyBy(
    [...comparing, "records.concurrent", "verify.webhook-address", "numbers.exact"],
    records((record) =>
      record["country"] === "GH" && record["webhookURL"] !== undefined
        ? { ...record, webhookURL: String(record["webhookURL"]).split("?")[0] }
        : record,
    ),
  ),
  "records.concurrent: Two concurrent creates get each other's response.": through(
    "records.concurrent",
    also("create.result-as-requested", (world) => {
      const exchange = exchangesWithin<Reply>(5, world);
      return handles(async (call, ask) => {
        const reply = await ask(call);
        return reply && isAccepted(reply) && isOf(call, "createDisbursement") ? exchange(reply) : reply;
      });
    }),
  ),
  "records.concurrent: Concurrent creates share a variable, and records show another record's recipient.": caughtOnlyBy(
    [...comparing, "records.concurrent", "create.duplicate-race-any-field"],
    () => {
      // A record gets the recipient of the last request that arrived before the record's response was sent.
      const recipients = new Map<unknown, string>();
      let shared = "";
      return handles(async (call, ask, { sleep }) => {
        const isCreate = isOf(call, "createDisbursement");
        if (isCreate) shared = String(sent(call)["phoneNumber"] ?? shared);
        const [reply] = await Promise.all([ask(call), sleep(isCreate ? 20 : 0)]);
        if (!reply || !isAccepted(reply)) return reply;
        const record = dataOf(reply);
        if (isCreate) recipients.set(record["reference"], shared);
        const recipient = recipients.get(record["reference"]);
        const isShown = recipient !== undefined && isOf(call, "verifyDisbursement");
        return isShown ? withData(reply, withPhone(record, recipient)) : reply;
      });
    },
  ),
  "records.phone-digits: Phone numbers are stored as numbers, so that leading zeros are lost.": phones((phone) =>
    String(Number(phone)),
  ),
  "records.phone-digits: Phone numbers of 14 digits lose the last digit.": caughtOnlyBy(
    ["records.phone-digits", "life.facts-kept"],
    phones((phone) => phone.replace(/^(\d{13})\d$/, "$1")),
  ),
  "life.webhooks-true: Webhooks about payouts in USD to a country of another currency state XOF.": rewrites((body) =>
    body.replace('"currency":"USD"', '"currency":"XOF"'),
  ),
};
