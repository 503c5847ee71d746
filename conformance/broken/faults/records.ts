// Servers whose responses are right only for the usual amount, recipient, country or currency (§2.2, §2.3).
import { commonPairs } from "../../generate/countries.ts";
import { type Fault, caughtOnlyBy, fault, type Hooks, type How } from "../fault.ts";
import {
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  hasExtra,
  instead,
  isAccepted,
  isOf,
  refusal,
  requests,
  shifted,
  verifyDisbursement,
  withBody,
  type Fields,
} from "../ways.ts";

const records = (change: (record: Fields) => Fields): Hooks => data(verifyDisbursement, change);
const phoneOf = (record: Fields) => String((record["customer"] as Fields)["phoneNumber"]);
const withPhone = (record: Fields, phoneNumber: string): Fields => ({
  ...record,
  customer: { ...(record["customer"] as Fields), phoneNumber },
});

/** Shows a value of the merchant's first disbursement in every record. */
const asInTheFirst = (...names: string[]): Hooks => {
  let first: Fields | undefined;
  return data(verifyDisbursement, (record) => {
    first ??= record;
    const kept = first;
    return { ...record, ...Object.fromEntries(names.map((name) => [name, kept[name]])) };
  });
};

/**
 * Keeps a value of the request in a variable that concurrent requests share. A record then gets the value of the last
 * request that arrived before the record's response was sent.
 */
const sharesVariable =
  (name: string, change: (record: Fields, value: unknown) => Fields): How =>
  ({ sleep }) => {
    const values = new Map<unknown, unknown>();
    let shared: unknown;
    return {
      async handle(call, ask) {
        if (isOf(call, createDisbursement)) {
          shared = fieldsOf(call.body)?.[name] ?? shared;
          const [reply] = await Promise.all([ask(call), sleep(20)]);
          if (reply && isAccepted(reply)) values.set(dataOf(reply)["reference"], shared);
          return reply;
        }
        const reply = await ask(call);
        if (!reply || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
        const record = dataOf(reply);
        const value = values.get(record["reference"]);
        return value === undefined ? reply : withBody(reply, { statusCode: 200, data: change(record, value) });
      },
    };
  };

const refusesLength = (length: number) =>
  instead(
    createDisbursement,
    ({ phoneNumber }) => String(phoneNumber).length === length,
    () => refusal(422),
  );

/** Moves the times of a record ahead by some hours. */
function withTimesAhead({ createdAt, updatedAt, ...record }: Fields, hours: number): Fields {
  const ahead = (time: unknown) => shifted(time, hours * 3_600_000);
  return { ...record, createdAt: ahead(createdAt), updatedAt: ahead(updatedAt) };
}

export const faults: readonly Fault[] = [
  fault("shillings-rounded", "Verify shows amounts in KES rounded to a multiple of 100.", "records.as-requested", () =>
    records((record) =>
      record["currency"] === "KES" ? { ...record, amount: Math.round(Number(record["amount"]) / 100) * 100 } : record,
    ),
  ),
  fault(
    "fee-of-large-amounts",
    "Verify calculates the fee of amounts above 700 anew, and rounds it up.",
    "records.as-requested",
    () =>
      records((record) =>
        Number(record["amount"]) > 700 ? { ...record, fee: Math.ceil(Number(record["amount"]) / 100) + 1 } : record,
      ),
  ),
  fault(
    "currency-of-first",
    "Every record has the country and currency of the first record.",
    "records.as-requested",
    () => asInTheFirst("country", "currency"),
  ),
  fault("customer-of-first", "Every record has the customer of the first record.", "records.as-requested", () =>
    asInTheFirst("customer"),
  ),
  fault(
    "country-by-currency",
    "Verify derives the country from the currency and knows XOF and NGN only.",
    "records.as-requested",
    () => records((record) => ({ ...record, country: record["currency"] === "NGN" ? "NG" : "CI" })),
  ),
  caughtOnlyBy(
    "records.as-requested records.concurrent create.duplicate-any-field life.facts-kept",
    fault(
      "address-of-ghana-lost",
      "Records of payouts to Ghana have the webhookURL without its query.",
      "records.as-requested",
      () =>
        records((record) =>
          record["country"] === "GH" && record["webhookURL"] !== undefined
            ? { ...record, webhookURL: String(record["webhookURL"]).split("?")[0] }
            : record,
        ),
    ),
  ),
  fault(
    "currency-of-country",
    "A payout in another currency than the country's is made in the country's.",
    "records.as-requested",
    () =>
      requests(createDisbursement, (fields) => {
        const own = commonPairs.find(({ country }) => country === fields["country"])?.currency;
        return own && /^[A-Z]{3}$/.test(String(fields["currency"])) ? { ...fields, currency: own } : fields;
      }),
  ),
  fault(
    "notified-without-dollars",
    "Webhooks about payouts in USD to a country of another currency state XOF.",
    "life.webhooks-true",
    () => ({
      webhook: (message, deliver) =>
        deliver({ ...message, body: message.body.replace('"currency":"USD"', '"currency":"XOF"') }),
    }),
  ),
  fault("verify-fails-during-creates", "Verify fails while another payout is created.", "records.concurrent", () => {
    let creates = 0;
    return {
      async handle(call, ask) {
        if (isOf(call, verifyDisbursement) && creates > 0) return refusal(500);
        const isCreate = isOf(call, createDisbursement);
        if (isCreate) creates += 1;
        return ask(call).finally(() => (creates -= Number(isCreate)));
      },
    };
  }),
  caughtOnlyBy(
    "records.concurrent create.duplicate-race-any-field life.facts-kept",
    fault(
      "recipient-of-another",
      "Concurrent creates share a variable, and records show another record's recipient.",
      "records.concurrent",
      sharesVariable("phoneNumber", (record, value) => withPhone(record, String(value))),
    ),
  ),
  fault(
    "currency-of-another",
    "Concurrent creates share a variable, and records show another record's currency.",
    "records.concurrent",
    sharesVariable("currency", (record, currency) => ({ ...record, currency })),
  ),
  caughtOnlyBy(
    "records.concurrent create.duplicate-race-any-field refused.existing-unchanged life.facts-kept",
    fault(
      "record-amount-of-another",
      "Concurrent creates share a variable, and records show another record's amount.",
      "records.concurrent",
      sharesVariable("amount", (record, amount) => ({ ...record, amount })),
    ),
  ),
  fault(
    "address-of-another",
    "Concurrent creates share a variable, and records show another record's webhookURL.",
    "records.concurrent",
    sharesVariable("webhookURL", (record, webhookURL) =>
      record["webhookURL"] === undefined ? record : { ...record, webhookURL },
    ),
  ),
  caughtOnlyBy(
    "records.phone-digits life.facts-kept",
    fault(
      "phone-as-number",
      "Phone numbers are stored as numbers, so that leading zeros are lost.",
      "records.phone-digits",
      () => records((record) => withPhone(record, String(Number(phoneOf(record))))),
    ),
  ),
  fault("phone-cut-at-14", "Phone numbers are cut to 14 digits.", "records.phone-digits", () =>
    records((record) => withPhone(record, phoneOf(record).slice(0, 14))),
  ),
  caughtOnlyBy(
    "records.phone-digits life.facts-kept",
    fault("phone-14-cut", "Phone numbers of 14 digits lose the last digit.", "records.phone-digits", () =>
      records((record) => withPhone(record, phoneOf(record).replace(/^(\d{13})\d$/, "$1"))),
    ),
  ),
  fault("phone-padded-to-11", "Phone numbers of 10 digits are padded with a zero.", "records.phone-digits", () =>
    records((record) => withPhone(record, phoneOf(record).padStart(11, "0"))),
  ),
  fault("phone-11-refused", "A phone number of 11 digits is refused.", "create.phone-lengths-accepted", () =>
    refusesLength(11),
  ),
  fault("phone-14-refused", "A phone number of 14 digits is refused.", "create.phone-lengths-accepted", () =>
    refusesLength(14),
  ),
  fault("leading-zeros-refused", "A phone number with leading zeros is refused.", "create.phone-leading-zeros", () =>
    instead(
      createDisbursement,
      ({ phoneNumber }) => String(phoneNumber).startsWith("0"),
      () => refusal(422),
    ),
  ),
  fault(
    "amount-lost-with-charset",
    "The create response has an amount of 1 if the Content-Type has a charset.",
    "create.result-as-requested",
    () =>
      data(createDisbursement, (created, { headers }) =>
        String(headers["content-type"]).includes("charset") ? { ...created, amount: 1 } : created,
      ),
    "json.charset-accepted",
  ),
  fault(
    "kenyan-times-local",
    "Verify shows the times of Kenyan records in local time, as if it were UTC.",
    "verify.timestamps",
    () => data(verifyDisbursement, (record) => (record["country"] === "KE" ? withTimesAhead(record, 3) : record)),
  ),
  fault(
    "reference-lost-with-extra-field",
    "The create response has an empty merchantsReference if the request has an unknown field.",
    "create.result-as-requested",
    () =>
      data(createDisbursement, (created, call) =>
        hasExtra(fieldsOf(call.body) ?? {}) ? { ...created, merchantsReference: "" } : created,
      ),
    "create.extra-field",
  ),
  fault("record-fee-of-request", "A record has the fee that its request names.", "records.as-requested", () => {
    const named = new Map<unknown, unknown>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply || !isAccepted(reply)) return reply;
        const record = dataOf(reply);
        if (isOf(call, createDisbursement)) named.set(record["reference"], fieldsOf(call.body)?.["fee"]);
        const fee = named.get(record["reference"]);
        if (!isOf(call, verifyDisbursement) || fee === undefined) return reply;
        return withBody(reply, { statusCode: 200, data: { ...record, fee } });
      },
    };
  }),
];
