// Servers that respond incorrectly to a create, refuse a valid one, or pay and show other values than requested (§2.1 to
// §2.3, §4.1).
import { commonPairs } from "../../generate/countries.ts";
import { also, caughtOnlyBy, forEach, through, type Faults, type How } from "../../broken/fault.ts";
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
import { changesRecord } from "../../broken/webhooks.ts";
import { disbursementIn, exchangesWithin, extraIn, isOf, sent, without, type Fields } from "../../broken/calls.ts";

const payments = (change: (fields: Fields) => Fields) => requests("createDisbursement", change);

/** Makes payouts, but responds as if they were refused. A refusal without a payout would count as a limit. */
const pretends = (fits: (fields: Fields) => boolean): How =>
  responses("createDisbursement", (reply, call) => (isAccepted(reply) && fits(sent(call)) ? refusal(422) : reply));
const withAmount = (change: (amount: number) => unknown) => (record: Fields) => ({
  ...record,
  amount: change(Number(record["amount"])),
});
const withPhone = (record: Fields, phoneNumber: string): Fields => ({
  ...record,
  customer: { ...(record["customer"] as Fields), phoneNumber },
});
const phones = (change: (phoneNumber: string) => string) =>
  records((record) => withPhone(record, change(String((record["customer"] as Fields)["phoneNumber"]))));
/** Texts that only a careless pattern accepts, each with a valid value of its field. */
const almostValid = [
  ["create.phone-pattern", "phoneNumber", "with a leading plus sign", /^\+\d+$/, "2257038102473"],
  ["create.phone-pattern", "phoneNumber", "of 9 digits", /^\d{9}$/, "2257038102473"],
  ["create.phone-pattern", "phoneNumber", "of 16 digits", /^\d{16}$/, "2257038102473"],
  ["create.phone-pattern", "phoneNumber", "with a trailing line break", /^\d+\n$/, "2257038102473"],
  ["create.phone-pattern", "phoneNumber", "in another script", /^\p{Nd}*[^\P{Nd}0-9]\p{Nd}*$/u, "2257038102473"],
  ["create.country-pattern", "country", "in lower case", /^[a-z]{2}$/, "CI"],
  ["create.country-pattern", "country", "with a trailing space", /^[A-Z]{2} $/, "CI"],
  ["create.country-pattern", "country", "with an accent", /^[A-Z]\u00cd$/, "CI"],
  ["create.currency-pattern", "currency", "of two letters", /^[A-Z]{2}$/, "XOF"],
  ["create.currency-pattern", "currency", "with a digit", /^[A-Z]0[A-Z]$/, "XOF"],
  ["create.currency-pattern", "currency", "in Cyrillic letters", /^\p{Script=Cyrillic}{3}$/u, "XOF"],
] as const;
const acceptsAmounts = (invalid: RegExp | ((value: unknown) => boolean), valid: number) =>
  accepts("createDisbursement", "amount", invalid, valid);
const served = new Set(["CI", "NG", "GH", "KE", "US"]);

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
  "create.reference-echoed: The merchant's reference is trimmed.": texts("createDisbursement", "reference", (text) =>
    text.trim(),
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
  "inputs.coverage: A webhookURL with a plus sign in its path is refused.": refuses(({ webhookURL }) =>
    /\+[^?]*\?/.test(String(webhookURL)),
  ),
  "create.extra-field: An unknown field is refused.": refuses((fields) => extraIn(fields) !== undefined, 400),

  "create.phone-422: An invalid phone number returns 400.": statuses("createDisbursement", 422, 400),

  "create.split-400-422: Every invalid create returns 422.": statuses("createDisbursement", 400, 422),
  ...forEach(almostValid, ([id, field, kind, pattern, valid]) => [
    `${id}: A ${field} ${kind} is accepted.`,
    accepts("createDisbursement", field, pattern, valid),
  ]),
  "create.country-pattern: An invalid country returns 404.": refuses(
    ({ country }) => !/^[A-Z]{2}$/.test(String(country)),
    404,
  ),
  "create.amount-type: An amount of 1.5 is rounded and paid.": acceptsAmounts((value) => value === 1.5, 2),
  "create.generated-invalid-refused: A text with punctuation is accepted as amount.": acceptsAmounts(/[!-/:-@]/, 1),
  "create.phone-required: A missing phoneNumber is taken from a field named __proto__.": payments((fields) => {
    const hidden = Object.getOwnPropertyDescriptor(fields, "__proto__")?.value as object | undefined;
    return hidden ? { ...hidden, ...without(fields, "__proto__") } : fields;
  }),
  "numbers.exact: Verify shows 15 significant digits of an amount.": caughtOnlyBy(
    ["numbers.exact", "life.facts-kept"],
    records(withAmount((amount) => Number(amount.toPrecision(15)))),
  ),
  "numbers.exact: An amount of 2^53 + 1 is accepted and changed.": acceptsAmounts(
    (amount) => amount === 2 ** 53,
    Number.MAX_SAFE_INTEGER,
  ),
  "numbers.largest-amount: Amounts above 2^40 are refused.": refuses(({ amount }) => Number(amount) > 2 ** 40),
  "webhook.amount: Webhooks state the amount as a signed 32-bit integer.": through(
    "numbers.exact",
    changesRecord(withAmount((amount) => amount | 0)),
  ),
  "records.as-requested: A payout in another currency than the country's is made in the country's.": payments(
    (fields) => {
      const usual = commonPairs.find(({ country }) => country === fields["country"])?.currency;
      return usual && /^[A-Z]{3}$/.test(String(fields["currency"])) ? { ...fields, currency: usual } : fields;
    },
  ),
  "records.as-requested: Records of payouts to Ghana have the webhookURL without its query.": caughtOnlyBy(
    [
      "records.as-requested",
      "records.concurrent",
      "create.generated-valid-accepted",
      "create.model",
      "create.duplicate-refused",
      "create.duplicate-any-field",
      "life.facts-kept",
      "life.references-used",
      "verify.webhook-address",
      "numbers.exact",
    ],
    records((record) =>
      record["country"] === "GH" && record["webhookURL"] !== undefined
        ? { ...record, webhookURL: String(record["webhookURL"]).split("?")[0] }
        : record,
    ),
  ),
  "records.concurrent: The records of two concurrent creates have each other's recipient.": also(
    "life.facts-kept",
    through("records.concurrent", (world) => {
      const exchange = exchangesWithin<unknown>(3, world);
      const recipients = new Map<unknown, unknown>();
      return handles(async (call, ask) => {
        const reply = await ask(call);
        if (!reply || !isAccepted(reply)) return reply;
        const record = dataOf(reply);
        const { phoneNumber } = disbursementIn(call) ?? {};
        if (phoneNumber) recipients.set(record["reference"], await exchange(phoneNumber));
        const recipient = isOf(call, "verifyDisbursement") ? recipients.get(record["reference"]) : undefined;
        return recipient === undefined ? reply : withData(reply, withPhone(record, String(recipient)));
      });
    }),
  ),
  "records.phone-digits: Phone numbers are stored as numbers, so that leading zeros are lost.": phones((phone) =>
    String(Number(phone)),
  ),
  "records.phone-digits: Phone numbers of 14 digits lose the last digit.": caughtOnlyBy(
    ["records.phone-digits", "life.facts-kept"],
    phones((phone) => phone.replace(/^(\d{13})\d$/, "$1")),
  ),
};
