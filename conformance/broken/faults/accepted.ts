// §2.1, §2.4: servers that accept what they must refuse. Each takes a sound value in place of one that is not.
import { fault } from "../fault.ts";
import {
  accepts,
  responses,
  createCheckout,
  createDisbursement,
  fieldsOf,
  instead,
  isOf,
  refusal,
  withFields,
  withStatus,
} from "../ways.ts";

const phone = "2257038102473";
let made = 0;
const fresh = () => `accepted-${(made += 1)}`;

const left = (value: unknown) => value === undefined;
const noText = (value: unknown) => value !== undefined && typeof value !== "string";
const isText = (value: unknown): value is string => typeof value === "string";
const texts = (pattern: RegExp) => (value: unknown) => isText(value) && pattern.test(value);

/** A row: id, sentence, requirement, field, which unsound values are accepted, and what is made of them. */
type Row = readonly [string, string, string, string, (value: unknown) => boolean, (value: unknown) => unknown];

// prettier-ignore
const ofPayouts: Row[] = [
  ["no-reference", "A payout without reference is made.", "create.reference-required", "reference", left, fresh],
  ["no-amount", "A payout without amount is made.", "create.amount-required", "amount", left, () => 1],
  ["no-phone", "A payout without phoneNumber is made.", "create.phone-required", "phoneNumber", left, () => phone],
  ["no-country", "Without country it is CI.", "create.country-required", "country", left, () => "CI"],
  ["no-currency", "Without currency it is XOF.", "create.currency-required", "currency", left, () => "XOF"],
  ["reference-number", "A number is taken as reference.", "create.reference-type", "reference", (v) => typeof v === "number", fresh],
  ["reference-null", "null is taken as reference.", "create.reference-type", "reference", (v) => v === null, fresh],
  ["reference-object", "An object is taken as reference.", "create.reference-type", "reference", (v) => v?.constructor === Object, fresh],
  ["amount-text", "A text of digits is taken as amount.", "create.amount-type", "amount", texts(/^\d+$/), Number],
  ["amount-fraction", "A fraction is rounded and paid.", "create.amount-type", "amount", (v) => v === 1.5, () => 2],
  ["amount-true", "true is paid as 1.", "create.amount-type", "amount", (v) => v === true, () => 1],
  ["amount-null", "An amount of null is paid as 1.", "create.amount-type", "amount", (v) => v === null, () => 1],
  ["amount-list", "A list with one amount is paid.", "create.amount-type", "amount", Array.isArray, () => 100],
  ["phone-number", "A number is taken as phoneNumber.", "create.phone-type", "phoneNumber", (v) => typeof v === "number", String],
  ["phone-list", "A list is taken as phoneNumber.", "create.phone-type", "phoneNumber", Array.isArray, () => phone],
  ["country-number", "A number is taken as country.", "create.country-type", "country", (v) => typeof v === "number", () => "CI"],
  ["country-list", "A list is taken as country.", "create.country-type", "country", Array.isArray, () => "CI"],
  ["currency-number", "A number is taken as currency.", "create.currency-type", "currency", (v) => typeof v === "number", () => "XOF"],
  ["currency-null", "null is taken as currency.", "create.currency-type", "currency", (v) => v === null, () => "XOF"],
  ["webhook-not-text", "A webhookURL that is no text is overlooked.", "create.webhook-type", "webhookURL", noText, () => undefined],
  ["amount-zero", "An amount of 0 is paid.", "create.amount-minimum", "amount", (v) => v === 0, () => 1],
  ["amount-negative", "A negative amount is paid without its sign.", "create.amount-minimum", "amount", (v) => Number(v) < 0, (v) => Math.ceil(Math.abs(Number(v)))],
  ["phone-empty", "An empty phoneNumber is accepted.", "create.phone-pattern", "phoneNumber", (v) => v === "", () => phone],
  ["phone-plus", "A plus sign before the number is dropped.", "create.phone-pattern", "phoneNumber", texts(/^\+\d+$/), () => phone],
  ["phone-spaces", "Spaces in the number are dropped.", "create.phone-pattern", "phoneNumber", texts(/^[\d ]+ \d+$/), () => phone],
  ["phone-short", "9 digits are accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d{9}$/), () => phone],
  ["phone-long", "16 digits are accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d{16}$/), () => phone],
  ["phone-letter", "A letter in the number is accepted.", "create.phone-pattern", "phoneNumber", texts(/^\d+[A-Z]\d+$/), () => phone],
  ["phone-line-break", "A line break after the number is overlooked.", "create.phone-pattern", "phoneNumber", texts(/^\d+\n$/), () => phone],
  ["phone-other-digits", "Digits of other scripts are accepted.", "create.phone-pattern", "phoneNumber", texts(/^\p{Nd}*[^\P{Nd}0-9]\p{Nd}*$/u), () => phone],
  ["country-small", "A country in small letters is accepted.", "create.country-pattern", "country", texts(/^[a-z]{2}$/), () => "CI"],
  ["country-three", "A country of three letters is accepted.", "create.country-pattern", "country", texts(/^[A-Z]{3}$/), () => "CI"],
  ["country-space", "A space after the country is overlooked.", "create.country-pattern", "country", texts(/^[A-Z]{2} $/), () => "CI"],
  ["country-accent", "A country with an accent is accepted.", "create.country-pattern", "country", texts(/^C\u00cd$/), () => "CI"],
  ["currency-small", "A currency in small letters is accepted.", "create.currency-pattern", "currency", texts(/^[a-z]{3}$/), () => "XOF"],
  ["currency-two", "A currency of two letters is accepted.", "create.currency-pattern", "currency", texts(/^[A-Z]{2}$/), () => "XOF"],
  ["currency-digit", "A currency with a digit is accepted.", "create.currency-pattern", "currency", texts(/^X0F$/), () => "XOF"],
  ["webhook-any-text", "Any text is taken as webhookURL.", "create.webhook-format", "webhookURL", (v) => isText(v) && !URL.canParse(v), () => undefined],
  ["country-line-break", "A line break after the country is overlooked.", "create.generated-invalid-refused", "country", texts(/^[A-Z]{2}\n$/), () => "CI"],
  ["phone-full-width", "Digits of full width are accepted.", "create.generated-invalid-refused", "phoneNumber", texts(/^[\uff10-\uff19]+$/), () => phone],
  ["currency-cyrillic", "A currency in Cyrillic letters is accepted.", "create.generated-invalid-refused", "currency", texts(/^\p{Script=Cyrillic}{3}$/u), () => "XOF"],
  ["amount-tiny-fraction", "An amount of 1.0000001 is paid as 1.", "create.generated-invalid-refused", "amount", (v) => v === 1.0000001, () => 1],
];

// prettier-ignore
const ofCheckouts: Row[] = [
  ["no-amount", "A checkout without amount is made.", "checkout.amount-required", "amount", left, () => 1],
  ["no-currency", "A checkout without currency is made.", "checkout.currency-required", "currency", left, () => "XOF"],
  ["no-country", "A checkout without country is made.", "checkout.country-required", "country", left, () => "CI"],
  ["amount-text", "A text of digits is taken as a checkout's amount.", "checkout.types", "amount", texts(/^\d+$/), Number],
  ["currency-number", "A number is taken as a checkout's currency.", "checkout.types", "currency", (v) => typeof v === "number", () => "XOF"],
  ["country-list", "A list is taken as a checkout's country.", "checkout.types", "country", Array.isArray, () => "CI"],
  ["webhook-not-text", "A checkout's webhookURL that is no text is overlooked.", "checkout.types", "webhookURL", noText, () => undefined],
  ["redirect-not-text", "A redirectURL that is no text is overlooked.", "checkout.types", "redirectURL", noText, () => undefined],
  ["amount-zero", "A checkout of 0 is made.", "checkout-request.amount", "amount", (v) => v === 0, () => 1],
  ["amount-negative", "A checkout of less than 0 is made.", "checkout-request.amount", "amount", (v) => Number(v) < 0, () => 1],
  ["amount-fraction", "A checkout of a fraction is rounded.", "checkout-request.amount", "amount", (v) => v === 2.5, () => 3],
  ["country-small", "A checkout's country in small letters is accepted.", "checkout-request.patterns", "country", texts(/^[a-z]{2}$/), () => "CI"],
  ["currency-small", "A checkout's currency in small letters is accepted.", "checkout-request.patterns", "currency", texts(/^[a-z]{3}$/), () => "XOF"],
  ["currency-line-break", "A line break after a checkout's currency is overlooked.", "checkout-request.generated-refused", "currency", texts(/^[A-Z]{3}\n$/), () => "XOF"],
  ["reference-control", "A control character in a checkout's reference is accepted.", "checkout-request.generated-refused", "reference", texts(/\p{Cc}/u), fresh],
  ["locale-any", "Any locale is taken for English.", "checkout-request.locale", "locale", (v) => isText(v) && !["en", "fr"].includes(v), () => "en"],
  ["locale-number", "A locale that is a number is overlooked.", "checkout-request.locale", "locale", (v) => typeof v === "number", () => "en"],
  ["redirect-javascript", "A redirectURL with javascript: is accepted.", "addresses.refused", "redirectURL", texts(/^javascript:/), () => undefined],
];

const rows = (prefix: string, operation: string, table: readonly Row[]) =>
  table.map(([id, wrong, breaks, field, unsound, sound]) =>
    fault(`${prefix}-${id}`, wrong, breaks, accepts(operation, field, unsound, sound)),
  );

export const acceptedFaults = [
  ...rows("accepts", createDisbursement, ofPayouts),
  ...rows("checkout-accepts", createCheckout, ofCheckouts),
  fault("checkout-of-nothing", "A checkout without a body is made.", "checkout.malformed-refused", {
    handle: (call, ask) =>
      ask(
        isOf(call, createCheckout) && (call.body.length === 0 || fieldsOf(call.body) === undefined)
          ? withFields(
              { ...call, headers: { ...call.headers, "content-type": "application/json" } },
              { amount: 1, currency: "XOF", country: "CI" },
            )
          : call,
      ),
  }),
  fault("checkout-malformed-500", "A checkout whose body is no JSON is a 500.", "checkout.malformed-refused", {
    handle: async (call, ask) =>
      isOf(call, createCheckout) && fieldsOf(call.body) === undefined && call.body.length > 0
        ? refusal(500)
        : ask(call),
  }),
  fault("phone-400", "A phone number of the wrong format is a 400.", "create.phone-422", () =>
    responses(createDisbursement, (reply) => (reply.status === 422 ? withStatus(reply, 400) : reply)),
  ),
  fault("all-422", "Everything invalid is a 422.", "create.split-400-422", () =>
    responses(createDisbursement, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  ),
  fault("checkout-all-422", "Every invalid checkout is a 422.", "checkout.error-statuses", () =>
    responses(createCheckout, (reply) => (reply.status === 400 ? withStatus(reply, 422) : reply)),
  ),
  fault("refuses-404", "An invalid country is a 404.", "create.country-pattern", () =>
    instead(
      createDisbursement,
      ({ country }) => !/^[A-Z]{2}$/.test(String(country)),
      () => refusal(404),
    ),
  ),
];
