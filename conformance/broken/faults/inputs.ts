// Servers that mishandle disbursements only for certain inputs: repeats in another form of the same JSON, similar
// references, amounts, and pairs of country and currency (§2.1, §7).
import { drops, isPayout } from "../messages.ts";
import { type Call, type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  createDisbursement,
  data,
  fieldsOf,
  hasExtra,
  instead,
  isAccepted,
  isOf,
  refusal,
  requests,
  verifyDisbursement,
  withFields,
  type Fields,
} from "../ways.ts";

/** Handles each valid create that repeats a reference. */
const repeatedly = (pays: (call: Call, first: Call) => boolean): Hooks => {
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
/** What a service may compare besides the reference, by the kind of repetition that it then takes for a new request. */
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
  ["with-exponent", "an exponent in its amount", (call) => /"amount":[\d.]+e/.test(text(call))],
  ["large", "more than 4 KiB", ({ body }) => body.length > 4096],
  ["with-expect", "an Expect header", ({ headers }) => headers["expect"]],
  ["with-accept", "another Accept header", ({ headers }) => headers["accept"]],
  ["with-idempotency-key", "another Idempotency-Key", ({ headers }) => headers["idempotency-key"]],
  ["with-query", "another query", ({ path }) => path],
];

/** Refuses a reference with 409 if another reference has the same key. */
const confuses = (key: (reference: string) => string): Hooks => {
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
  ["path", "up to a slash, a question mark or a number sign", (reference) => reference.replace(/(.)[/?#].*/s, "$1")],
  ["end", "by their last 24 characters", (reference) => reference.slice(-24)],
  ["order", "by the characters that they contain", (reference) => [...reference].toSorted().join("")],
  ["spaces", "with a single space for several", (reference) => reference.replaceAll(/ +/g, " ")],
  ["markup", "without HTML tags", (reference) => reference.replaceAll(/<[^>]*>/g, "")],
  ["backslashes", "without backslashes", (reference) => reference.replaceAll("\\", "")],
  ["dashes", "with a hyphen for a dash", (reference) => reference.replaceAll("\u2013", "-")],
  [
    "quotation-marks",
    "with a straight quotation mark for a curved one",
    (reference) => reference.replaceAll("\u2019", "'"),
  ],
  [
    "plane",
    "without characters beyond the first plane of Unicode",
    (reference) => reference.replaceAll(/[^\0-\uffff]/gu, "?"),
  ],
];
/** Keys with which databases compare texts. */
const collations: typeof keys = [
  [
    "letters",
    "without regard to the case of letters outside of ASCII",
    (reference) => reference.replaceAll(/[^\0-\u007f]/g, (each) => each.toLowerCase()),
  ],
  ["accents", "without accents", (reference) => reference.normalize("NFD").replaceAll(/\p{M}/gu, "")],
  ["compatibility", "after compatibility normalisation", (reference) => reference.normalize("NFKC")],
  ["zero-width", "without characters that have no width", (reference) => reference.replaceAll("\u200b", "")],
  ["hard-spaces", "with a space for a space that does not break", (reference) => reference.replaceAll("\u00a0", " ")],
];

const creates = (change: (fields: Fields) => Fields): Hooks => requests(createDisbursement, change);
const values: Fault[] = [
  quickFault(
    "addresses-with-plus-refused",
    "A webhookURL with a plus sign in its path is refused.",
    "inputs.coverage",
    () =>
      instead(
        createDisbursement,
        ({ webhookURL }) => /\+[^?]*\?/.test(String(webhookURL)),
        () => refusal(422),
      ),
  ),
  fault("dollars-in-nigeria", "A disbursement in dollars to Nigeria is paid in naira.", "records.as-requested", () =>
    creates((fields) =>
      fields["country"] === "NG" && fields["currency"] === "USD" ? { ...fields, currency: "NGN" } : fields,
    ),
  ),
  fault("country-of-the-number", "The country is the phone number's country.", "records.as-requested", () =>
    creates((fields) =>
      String(fields["phoneNumber"]).startsWith("234") && /^[A-Z]{2}$/.test(String(fields["country"]))
        ? { ...fields, country: "NG" }
        : fields,
    ),
  ),
  fault("amounts-above-the-limit-changed", "An amount of 2^53 + 1 is accepted and changed.", "numbers.exact", () =>
    creates((fields) => (fields["amount"] === 2 ** 53 ? { ...fields, amount: Number.MAX_SAFE_INTEGER } : fields)),
  ),
  fault(
    "amounts-in-between-refused",
    "Amounts from 20,001 to 99,999 are refused, larger amounts are accepted.",
    "numbers.exact",
    () =>
      instead(
        createDisbursement,
        ({ amount }) => Number(amount) > 20_000 && Number(amount) < 100_000,
        () => refusal(422),
      ),
  ),
  fault("phone-number-in-array", "A phone number in an array is accepted.", "create.phone-type", () =>
    creates((fields) => {
      const { phoneNumber } = fields;
      return Array.isArray(phoneNumber) ? { ...fields, phoneNumber: String(phoneNumber) } : fields;
    }),
  ),
  fault(
    "amount-exponent-lost",
    "The exponent of an amount such as 1.5e1 is ignored, and its fraction is cut off.",
    "records.as-requested",
    () =>
      requests(createDisbursement, (fields, { body }) => {
        const [, most = ""] = /"amount":(\d+)(?:\.\d+)?e/.exec(body.toString()) ?? [];
        return Number(most) > 0 ? { ...fields, amount: Number(most) } : fields;
      }),
  ),
  fault(
    "customers-by-last-digits",
    "A recipient whose number has the last nine digits of another recipient's number is taken for the other recipient.",
    "records.phone-digits",
    () => {
      const first = new Map<string, string>();
      return requests(createDisbursement, (fields) => {
        const phoneNumber = String(fields["phoneNumber"]);
        if (!/^[0-9]{10,15}$/.test(phoneNumber)) return fields;
        const end = phoneNumber.slice(-9);
        if (!first.has(end)) first.set(end, phoneNumber);
        return { ...fields, phoneNumber: first.get(end) };
      });
    },
  ),
  fault(
    "addresses-normalised",
    "A record shows its webhookURL as a URL parser writes it, with percent-encoded apostrophes.",
    "records.as-requested",
    () =>
      data(verifyDisbursement, (record) =>
        typeof record["webhookURL"] === "string"
          ? { ...record, webhookURL: new URL(record["webhookURL"]).href }
          : record,
      ),
  ),
  fault(
    "merchant-of-another",
    "One in seven records is shown with the name of another merchant.",
    "life.facts-kept",
    () => {
      let count = 0;
      return data(verifyDisbursement, (record) =>
        (count += 1) % 7 === 0 ? { ...record, merchant: { name: "Another" } } : record,
      );
    },
    "records.as-requested",
  ),
  fault("reference-zeros-lost", "A reference of digits loses its leading zeros.", "create.references-apart", () =>
    creates((fields) =>
      /^0+\d/.test(String(fields["reference"]))
        ? { ...fields, reference: `${String(fields["reference"]).replace(/^0+/, "")}` }
        : fields,
    ),
  ),
  fault(
    "references-as-patterns",
    "A reference is refused as a duplicate if it matches another reference as a pattern of SQL.",
    "create.references-apart",
    () => {
      const used: string[] = [];
      return {
        async handle(call, ask) {
          const { reference } = (isOf(call, createDisbursement) && fieldsOf(call.body)) || {};
          if (typeof reference !== "string") return ask(call);
          const [before = "", ...after] = reference.split("%");
          const matches = (other: string) => other.startsWith(before) && after.every((part) => other.endsWith(part));
          if (after.length === 1 && used.some(matches)) return refusal(409);
          used.push(reference);
          return ask(call);
        },
      };
    },
  ),
  ...["null", "0", "constructor"].map((word) =>
    fault(
      `reference-${word}-refused`,
      `The reference "${word}" is refused as missing.`,
      "create.references-apart",
      () =>
        instead(
          createDisbursement,
          ({ reference }) => reference === word,
          () => refusal(422),
        ),
    ),
  ),
];

/** Lets payouts succeed although they must fail, and notifies their success. */
const succeeds = (is: (record: { country: string; amount: number }) => boolean): Hooks => ({
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
    () => succeeds(({ country }) => country === "NG"),
  ),
  fault(
    "failures-above-100-succeed",
    "Payouts above 100.00 that fail are stored and notified as success.",
    "forced.089-fails-later",
    () => succeeds(({ amount }) => amount > 10_000),
  ),
  fault(
    "webhooks-in-dollars-lost",
    "No webhook is sent for a payout in USD.",
    "life.webhooks-sent",
    () => drops((message) => isPayout(message) && message.body.includes('"currency":"USD"')),
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
      () => repeatedly((call, first) => form(call) !== form(first)),
    ),
  ),
  fault(
    "repeat-of-a-million-paid",
    "From an amount of 1,000,000, a duplicate reference is paid again.",
    "create.duplicate-refused",
    () => repeatedly((call) => Number(fieldsOf(call.body)?.["amount"]) >= 1_000_000),
  ),
  ...keys.map(([id, what, key]) =>
    fault(`references-compared-${id}`, `References are compared ${what}.`, "create.references-apart", () =>
      confuses(key),
    ),
  ),
  ...collations.map(([id, what, key]) =>
    fault(
      `references-collated-${id}`,
      `References are compared ${what}.`,
      "create.references-apart limits.reference-as-sent",
      () => confuses(key),
    ),
  ),
  ...values,
];
