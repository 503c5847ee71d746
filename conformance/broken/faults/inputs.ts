// Servers that mishandle disbursements only for certain inputs: repeats in another form of the same JSON, similar
// references, amounts, and pairs of country and currency (§2.1, §7).
import { drops, isPayout } from "../messages.ts";
import { type Call, type Fault, fault, type How } from "../fault.ts";
import {
  createDisbursement,
  fieldsOf,
  hasExtra,
  instead,
  isAccepted,
  isOf,
  refusal,
  requests,
  withFields,
  type Fields,
} from "../ways.ts";

/** Handles each valid create that repeats a reference. */
const repeatedly =
  (pays: (call: Call, first: Call) => boolean): How =>
  () => {
    const used = new Map<unknown, Call>();
    let count = 0;
    return {
      async handle(call, ask) {
        const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
        const first = used.get(fields?.["reference"]);
        if (fields && first && pays(call, first))
          return ask(withFields(call, { ...fields, reference: `other-${(count += 1)}` }));
        const reply = await ask(call);
        if (fields && !first && reply && isAccepted(reply)) used.set(fields["reference"], call);
        return reply;
      },
    };
  };

const text = ({ body }: Call) => String(body);
const names = (call: Call) => Object.keys(fieldsOf(call.body) ?? {});
/** What a service may compare besides the reference, by what it then takes for a new request. */
const forms: [id: string, what: string, form: (call: Call) => unknown][] = [
  ["escaped", "escaped letters", (call) => text(call).includes("\\u00")],
  ["spaced", "white space around its fields", (call) => /^\s*\{\s/.test(text(call))],
  [
    "reordered",
    "its fields in another order",
    (call) => names(call).indexOf("reference") < names(call).indexOf("amount"),
  ],
  ["chunked", "its body in chunks", ({ chunked }) => chunked],
  ["with-charset", "a charset", ({ headers }) => headers["content-type"]],
  ["charset-in-capitals", "a charset in capitals", ({ headers }) => String(headers["content-type"]).includes("UTF-8")],
  ["with-unknown-field", "an unknown field", (call) => hasExtra(fieldsOf(call.body) ?? {})],
  ["with-idempotency-key", "another Idempotency-Key", ({ headers }) => headers["idempotency-key"]],
  ["with-query", "another query", ({ path }) => path],
];

/** Refuses a reference with 409 if another one has the same key. */
const confuses =
  (key: (reference: string) => string): How =>
  () => {
    const used = new Map<string, string>();
    return {
      async handle(call, ask) {
        const { reference } = (isOf(call, createDisbursement) && fieldsOf(call.body)) || {};
        if (typeof reference !== "string") return ask(call);
        const other = used.get(key(reference));
        if (other !== undefined && other !== reference) return refusal(409);
        const reply = await ask(call);
        if (reply && isAccepted(reply)) used.set(key(reference), reference);
        return reply;
      },
    };
  };

const isNumber = (reference: string) => /^\d+(\.\d+|e\d+)?$/.test(reference);
const asNumber = (reference: string) => (isNumber(reference) ? String(Number(reference)) : reference);
const decoded = (reference: string) => {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
};
/** Returns what a spreadsheet shows for a text. */
const computed = (reference: string) => {
  const [, first, second] = /^=(\d+)\+(\d+)$/.exec(reference) ?? [];
  return first && second ? String(BigInt(first) + BigInt(second)) : reference;
};
const keys: [id: string, what: string, key: (reference: string) => string][] = [
  ["numbers", "as numbers, so that 7 is 007", asNumber],
  ["digits", "by their digits alone", (reference) => reference.replaceAll(/\D/g, "")],
  ["punctuation", "without punctuation", (reference) => reference.replaceAll(/[^\p{L}\p{N}]/gu, "")],
  ["dates", "as dates", (reference) => reference.replaceAll(/-0?(\d)\b/g, "-$1")],
  ["formulas", "as a spreadsheet computes them", computed],
  ["phone-numbers", "as phone numbers", (reference) => reference.replace(/^(\+|00)(?=\d{10})/, "")],
  ["length", "by their first 20 characters", (reference) => reference.slice(0, 20)],
  ["question-marks", "in Latin-1, with question marks", (reference) => reference.replaceAll(/[^\0-\u00ff]/g, "?")],
  ["latin-1", "in Latin-1, cut off", (reference) => Buffer.from(reference, "latin1").toString("latin1")],
  ["percent", "after percent-decoding", decoded],
];

const creates = (change: (fields: Fields) => Fields): How => requests(createDisbursement, change);
const values: Fault[] = [
  fault(
    "addresses-with-plus-refused",
    "A webhookURL with a plus sign in its path is refused.",
    "inputs.coverage",
    instead(
      createDisbursement,
      ({ webhookURL }) => /\+[^?]*\?/.test(String(webhookURL)),
      () => refusal(422),
    ),
  ),
  fault(
    "dollars-in-nigeria",
    "A disbursement in dollars to Nigeria is paid in naira.",
    "records.as-requested",
    creates((fields) =>
      fields["country"] === "NG" && fields["currency"] === "USD" ? { ...fields, currency: "NGN" } : fields,
    ),
  ),
  fault(
    "country-of-the-number",
    "The country is that of the phone number.",
    "records.as-requested",
    creates((fields) =>
      String(fields["phoneNumber"]).startsWith("234") && /^[A-Z]{2}$/.test(String(fields["country"]))
        ? { ...fields, country: "NG" }
        : fields,
    ),
  ),
  fault(
    "amounts-above-the-limit-changed",
    "An amount of 2^53 + 1 is accepted and changed.",
    "numbers.exact",
    creates((fields) => (fields["amount"] === 2 ** 53 ? { ...fields, amount: Number.MAX_SAFE_INTEGER } : fields)),
  ),
  fault(
    "amounts-in-between-refused",
    "Amounts from 20,001 to 99,999 are refused, larger ones are accepted.",
    "numbers.exact",
    instead(
      createDisbursement,
      ({ amount }) => Number(amount) > 20_000 && Number(amount) < 100_000,
      () => refusal(422),
    ),
  ),
  fault(
    "phone-number-in-array",
    "A phone number in an array is accepted.",
    "create.phone-type",
    creates((fields) => {
      const { phoneNumber } = fields;
      return Array.isArray(phoneNumber) ? { ...fields, phoneNumber: String(phoneNumber) } : fields;
    }),
  ),
  fault(
    "reference-zeros-lost",
    "A reference of digits loses its leading zeros.",
    "create.references-apart",
    creates((fields) =>
      /^0+\d/.test(String(fields["reference"]))
        ? { ...fields, reference: `${String(fields["reference"]).replace(/^0+/, "")}` }
        : fields,
    ),
  ),
  ...["null", "0"].map((word) =>
    fault(
      `reference-${word}-refused`,
      `The reference "${word}" is refused as missing.`,
      "create.references-apart",
      instead(
        createDisbursement,
        ({ reference }) => reference === word,
        () => refusal(422),
      ),
    ),
  ),
];

/** Lets payouts succeed that must fail, and notifies their success. */
const succeeds = (is: (record: { country: string; amount: number }) => boolean): How => ({
  storage: (inner) => ({
    insertDisbursement(record) {
      if (record.due?.status !== "failed" || !is(record)) return inner.insertDisbursement(record);
      const { failure: _, ...others } = record;
      return inner.insertDisbursement({ ...others, due: { ...record.due, status: "success" } });
    },
  }),
});
const outcomes: Fault[] = [
  fault(
    "failures-in-nigeria-succeed",
    "Payouts that fail in Nigeria are stored and notified as success.",
    "forced.089-fails-later",
    succeeds(({ country }) => country === "NG"),
  ),
  fault(
    "failures-above-100-succeed",
    "Payouts above 100.00 that fail are stored and notified as success.",
    "forced.089-fails-later",
    succeeds(({ amount }) => amount > 10_000),
  ),
  fault(
    "webhooks-in-dollars-lost",
    "No webhook is sent for a payout in USD.",
    "life.webhooks-sent",
    drops((message) => isPayout(message) && message.body.includes('"currency":"USD"')),
    "records.as-requested",
  ),
];

export const faults: readonly Fault[] = [
  ...outcomes,
  ...forms.map(([id, what, form]) =>
    fault(
      `repeat-${id}-paid`,
      `A duplicate reference is paid again if its request has ${what}.`,
      "create.duplicate-any-field",
      repeatedly((call, first) => form(call) !== form(first)),
    ),
  ),
  fault(
    "repeat-of-a-million-paid",
    "From an amount of 1,000,000, a duplicate reference is paid again.",
    "create.duplicate-refused",
    repeatedly((call) => Number(fieldsOf(call.body)?.["amount"]) >= 1_000_000),
  ),
  ...keys.map(([id, what, key]) =>
    fault(`references-compared-${id}`, `References are compared ${what}.`, "create.references-apart", confuses(key)),
  ),
  ...values,
];
