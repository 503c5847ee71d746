// Servers that accept invalid values (§2.1, §2.4). Each server replaces an invalid value with a valid value.
import { type Fault, fault } from "../fault.ts";
import {
  accepts,
  responses,
  createCheckout,
  createDisbursement,
  fieldsOf,
  instead,
  isOf,
  refusal,
  requests,
  withFields,
  without,
  type Fields,
  withStatus,
} from "../ways.ts";

const phone = "2257038102473";
let made = 0;
const fresh = () => `accepted-${(made += 1)}`;

const missing = (value: unknown) => value === undefined;
const notString = (value: unknown) => value !== undefined && typeof value !== "string";
const isText = (value: unknown): value is string => typeof value === "string";
const texts = (pattern: RegExp) => (value: unknown) => isText(value) && pattern.test(value);

/**
 * Id, description, requirement, field, a predicate for the accepted invalid values, and the valid value used instead.
 */
type Row = readonly [
  ...[id: string, defect: string, violates: string, field: string],
  isInvalid: (value: unknown) => boolean,
  valid: (value: unknown, fields: Fields) => unknown,
];

// oxfmt-ignore
const ofPayouts: Row[] = [
  ["no-reference", "A payout without a reference is accepted.", "create.reference-required", "reference", missing, fresh],
  ["no-amount", "A payout without an amount is accepted.", "create.amount-required", "amount", missing, () => 1],
  ["no-phone", "A payout without a phoneNumber is accepted.", "create.phone-required", "phoneNumber", missing, () => phone],
  ["no-country", "A missing country defaults to CI.", "create.country-required", "country", missing, () => "CI"],
  ["no-currency", "A missing currency defaults to XOF.", "create.currency-required", "currency", missing, () => "XOF"],
  ["no-currency-in-kenya", "A missing currency defaults to KES in Kenya.", "create.currency-required", "currency", missing, (_, { country }) => country === "KE" ? "KES" : undefined],
  ["reference-number", "A numeric reference is accepted.", "create.reference-type", "reference", (v) => typeof v === "number", fresh],
  ["reference-null", "A null reference is accepted.", "create.reference-type", "reference", (v) => v === null, fresh],
  ["reference-object", "An object is accepted as reference.", "create.reference-type", "reference", (v) => v?.constructor === Object, fresh],
  ["amount-text", "A string of digits is accepted as amount.", "create.amount-type", "amount", texts(/^\d+$/), Number],
  ["amount-fraction", "A fractional amount is rounded and paid.", "create.amount-type", "amount", (v) => v === 1.5, () => 2],
  ["amount-true", "An amount of true is paid as 1.", "create.amount-type", "amount", (v) => v === true, () => 1],
  ["amount-null", "An amount of null is paid as 1.", "create.amount-type", "amount", (v) => v === null, () => 1],
  ["amount-list", "An array is accepted as amount.", "create.amount-type", "amount", Array.isArray, () => 100],
  ["phone-number", "A numeric phoneNumber is accepted.", "create.phone-type", "phoneNumber", (v) => typeof v === "number", String],
  ["phone-list", "An array is accepted as phoneNumber.", "create.phone-type", "phoneNumber", Array.isArray, () => phone],
  ["country-number", "A numeric country is accepted.", "create.country-type", "country", (v) => typeof v === "number", () => "CI"],
  ["country-list", "An array is accepted as country.", "create.country-type", "country", Array.isArray, () => "CI"],
  ["currency-number", "A numeric currency is accepted.", "create.currency-type", "currency", (v) => typeof v === "number", () => "XOF"],
  ["currency-null", "A null currency is accepted.", "create.currency-type", "currency", (v) => v === null, () => "XOF"],
  ["webhook-not-text", "A webhookURL that is not a string is ignored.", "create.webhook-type", "webhookURL", notString, () => undefined],
  ["amount-zero", "An amount of 0 is paid.", "create.amount-minimum", "amount", (v) => v === 0, () => 1],
  ["amount-negative", "A negative amount is paid as its absolute value.", "create.amount-minimum", "amount", (v) => Number(v) < 0, (v) => Math.ceil(Math.abs(Number(v)))],
  ["phone-empty", "An empty phoneNumber is accepted.", "create.phone-pattern", "phoneNumber", (v) => v === "", () => phone],
  ["phone-plus", "A phone number with a leading plus sign is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\+\d+$/), () => phone],
  ["phone-spaces", "A phone number with spaces is accepted.", "create.phone-pattern", "phoneNumber", texts(/^[\d ]+ \d+$/), () => phone],
  ["phone-short", "A phone number of 9 digits is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d{9}$/), () => phone],
  ["phone-long", "A phone number of 16 digits is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d{16}$/), () => phone],
  ["phone-letter", "A phone number with a letter is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d+[A-Z]\d+$/), () => phone],
  ["phone-line-break", "A phone number with a trailing line break is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d+\n$/), () => phone],
  ["phone-other-digits", "A phone number with digits of another script is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\p{Nd}*[^\P{Nd}0-9]\p{Nd}*$/u), () => phone],
  ["country-lower-case", "A country in lower case is accepted.", "create.country-pattern", "country", texts(/^[a-z]{2}$/), () => "CI"],
  ["country-mixed-case", "A country in upper and lower case is accepted.", "create.country-pattern", "country", texts(/^[A-Z][a-z]$/), () => "CI"],
  ["country-three", "A country of three letters is accepted.", "create.country-pattern", "country", texts(/^[A-Z]{3}$/), () => "CI"],
  ["country-space", "A country with a trailing space is accepted.", "create.country-pattern", "country", texts(/^[A-Z]{2} $/), () => "CI"],
  ["country-accent", "A country with an accent is accepted.", "create.country-pattern", "country", texts(/^[A-Z]\u00cd$/), () => "CI"],
  ["currency-lower-case", "A currency in lower case is accepted.", "create.currency-pattern", "currency", texts(/^[a-z]{3}$/), () => "XOF"],
  ["currency-two", "A currency of two letters is accepted.", "create.currency-pattern", "currency", texts(/^[A-Z]{2}$/), () => "XOF"],
  ["currency-digit", "A currency with a digit is accepted.", "create.currency-pattern", "currency", texts(/^[A-Z]0[A-Z]$/), () => "XOF"],
  ["webhook-any-text", "A webhookURL that is not a URL is accepted.", "create.webhook-format", "webhookURL", (v) => isText(v) && !URL.canParse(v), () => undefined],
  ["webhook-relative", "A relative webhookURL is accepted.", "create.webhook-format", "webhookURL", texts(/^\//), () => undefined],
  ["country-line-break", "A country with a trailing line break is accepted.", "create.country-pattern", "country", texts(/^[A-Z]{2}\n$/), () => "CI"],
  ["phone-full-width", "A phone number of full-width digits is accepted.", "create.phone-pattern", "phoneNumber", texts(/^[\uff10-\uff19]+$/), () => phone],
  ["currency-cyrillic", "A currency in Cyrillic letters is accepted.", "create.currency-pattern", "currency", texts(/^\p{Script=Cyrillic}{3}$/u), () => "XOF"],
  ["amount-punctuation", "A text with punctuation is accepted as amount.", "create.generated-invalid-refused", "amount", texts(/[!-/:-@]/), () => 1],
  ["amount-tiny-fraction", "An amount of 1.0000001 is paid as 1.", "create.amount-type", "amount", (v) => v === 1.0000001, () => 1],
];

// oxfmt-ignore
const ofCheckouts: Row[] = [
  ["no-amount", "A checkout without an amount is accepted.", "checkout.amount-required", "amount", missing, () => 1],
  ["no-currency", "A checkout without a currency is accepted.", "checkout.currency-required", "currency", missing, () => "XOF"],
  ["no-country", "A checkout without a country is accepted.", "checkout.country-required", "country", missing, () => "CI"],
  ["amount-text", "A string of digits is accepted as a checkout's amount.", "checkout.types", "amount", texts(/^\d+$/), Number],
  ["currency-number", "A numeric checkout currency is accepted.", "checkout.types", "currency", (v) => typeof v === "number", () => "XOF"],
  ["country-list", "An array is accepted as a checkout's country.", "checkout.types", "country", Array.isArray, () => "CI"],
  ["webhook-not-text", "A checkout's webhookURL that is not a string is ignored.", "checkout.types", "webhookURL", notString, () => undefined],
  ["webhook-null", "A checkout's webhookURL of null counts as missing.", "checkout-request.generated-refused", "webhookURL", (v) => v === null, () => undefined],
  ["redirect-not-text", "A redirectURL that is not a string is ignored.", "checkout.types", "redirectURL", notString, () => undefined],
  ["country-one", "A checkout's country of one letter is accepted.", "checkout.country-length", "country", texts(/^[A-Z]$/), () => "CI"],
  ["country-three", "A checkout's country of three letters is accepted.", "checkout.country-length", "country", texts(/^[A-Z]{3}$/), () => "CI"],
  ["country-digit", "A checkout's country with a digit is accepted.", "checkout.patterns", "country", texts(/^C1$/), () => "CI"],
  ["currency-four", "A checkout's currency of four letters is accepted.", "checkout.patterns", "currency", texts(/^[A-Z]{4}$/), () => "XOF"],
  ["amount-zero", "A checkout with an amount of 0 is accepted.", "checkout-request.amount", "amount", (v) => v === 0, () => 1],
  ["amount-negative", "A checkout with a negative amount is accepted.", "checkout-request.amount", "amount", (v) => Number(v) < 0, () => 1],
  ["amount-fraction", "A checkout's fractional amount is rounded.", "checkout-request.amount", "amount", (v) => v === 1.5, () => 2],
  ["country-lower-case", "A checkout's country in lower case is accepted.", "checkout-request.patterns", "country", texts(/^[a-z]{2}$/), () => "CI"],
  ["currency-lower-case", "A checkout's currency in lower case is accepted.", "checkout-request.patterns", "currency", texts(/^[a-z]{3}$/), () => "XOF"],
  ["currency-line-break", "A checkout's currency with a trailing line break is accepted.", "checkout-request.patterns", "currency", texts(/^[A-Z]{3}\n$/), () => "XOF"],
  ["reference-control", "A checkout reference with a control character is accepted.", "checkout-request.generated-refused", "reference", texts(/\p{Cc}/u), fresh],
  ["locale-any", "An unknown locale falls back to English.", "checkout-request.locale", "locale", (v) => isText(v) && !["en", "fr"].includes(v), () => "en"],
  ["locale-number", "A numeric locale is ignored.", "checkout-request.locale", "locale", (v) => typeof v === "number", () => "en"],
  ["redirect-javascript", "A redirectURL with the scheme javascript is accepted.", "addresses.refused", "redirectURL", texts(/^javascript:/), () => undefined],
];

const rows = (prefix: string, operation: string, table: readonly Row[]) =>
  table.map(([id, defect, violates, field, isInvalid, valid]) =>
    fault(`${prefix}-${id}`, defect, violates, () => accepts(operation, field, isInvalid, valid)),
  );

export const faults: readonly Fault[] = [
  ...rows("accepts", createDisbursement, ofPayouts),
  ...rows("checkout-accepts", createCheckout, ofCheckouts),
  fault(
    "accepts-phone-of-prototype",
    "A missing phoneNumber is taken from a field named __proto__.",
    "create.phone-required",
    () =>
      requests(createDisbursement, (fields) => {
        const hidden = Object.getOwnPropertyDescriptor(fields, "__proto__")?.value as object | undefined;
        return hidden ? { ...hidden, ...without(fields, "__proto__") } : fields;
      }),
  ),
  fault("checkout-of-nothing", "A checkout without a valid body is accepted.", "checkout.malformed-refused", () => ({
    handle: (call, ask) =>
      ask(
        isOf(call, createCheckout) && (call.body.length === 0 || fieldsOf(call.body) === undefined)
          ? withFields(
              { ...call, headers: { ...call.headers, "content-type": "application/json" } },
              { amount: 1, currency: "XOF", country: "CI" },
            )
          : call,
      ),
  })),
  fault("checkout-malformed-500", "A malformed checkout body returns 500.", "checkout.malformed-refused", () => ({
    handle: async (call, ask) =>
      isOf(call, createCheckout) && fieldsOf(call.body) === undefined && call.body.length > 0
        ? refusal(500)
        : ask(call),
  })),
  fault("phone-400", "An invalid phone number returns 400.", "create.phone-422", () =>
    responses(createDisbursement, (reply) => (reply.status === 422 ? withStatus(reply, 400) : reply)),
  ),
  fault("all-422", "Every invalid create returns 422.", "create.split-400-422", () =>
    responses(createDisbursement, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  ),
  fault("checkout-all-422", "Every invalid checkout returns 422.", "checkout.error-statuses", () =>
    responses(createCheckout, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  ),
  fault("refuses-404", "An invalid country returns 404.", "create.country-pattern", () =>
    instead(
      createDisbursement,
      ({ country }) => !/^[A-Z]{2}$/.test(String(country)),
      () => refusal(404),
    ),
  ),
];
