// Servers that respond incorrectly to a create or refuse a valid create (§2.1, §2.2, §4.1).
import { type Fault, fault, quickFault } from "../fault.ts";
import {
  responses,
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  instead,
  isAccepted,
  refusal,
  requests,
  withBody,
  withStatus,
  without,
  type Fields,
  hasExtra,
} from "../ways.ts";

/** Changes the merchant's reference in the response. */
const echoes = (change: (reference: string) => string) =>
  data(createDisbursement, (created) => ({
    ...created,
    merchantsReference: change(String(created["merchantsReference"])),
  }));
/** Changes the merchant's reference before it is stored. */
const keeps = (change: (reference: string) => string) =>
  requests(createDisbursement, (fields) =>
    typeof fields["reference"] === "string" ? { ...fields, reference: change(fields["reference"]) } : fields,
  );
const amounts = (change: (amount: number) => unknown) =>
  data(createDisbursement, (created) => ({ ...created, amount: change(Number(created["amount"])) }));
const refuses = (fits: (fields: Fields) => boolean, status = 422) =>
  instead(createDisbursement, fits, () => refusal(status));
/** Makes payouts, but responds as if they were refused. */
const pretends = (fits: (fields: Fields) => boolean) =>
  responses(createDisbursement, (reply, call) =>
    isAccepted(reply) && fits(fieldsOf(call.body) ?? {}) ? refusal(422) : reply,
  );

export const faults: readonly Fault[] = [
  quickFault("created-201", "A create returns 201.", "create.accepted", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withStatus(reply, 201) : reply)),
  ),
  fault("created-202", "A create returns 202.", "create.accepted", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withStatus(reply, 202) : reply)),
  ),
  fault("result-without-envelope", "The create response has no envelope.", "create.result-shape", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  fault("result-in-list", "The data of a create response is an array.", "create.result-shape", () =>
    data(createDisbursement, (created) => [created]),
  ),
  fault("result-cut-short", "The create response is truncated.", "create.result-shape json.answers", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? { ...reply, text: reply.text.slice(0, -4) } : reply)),
  ),
  fault(
    "status-upper-case",
    "The status is in upper case.",
    "create.status-known create.result-shape",
    () => data(createDisbursement, (created) => ({ ...created, status: String(created["status"]).toUpperCase() })),
    "create.status-known",
  ),
  fault("status-processing", "A new payout has the status processing.", "create.status-known", () =>
    data(createDisbursement, (created) => ({ ...created, status: "processing" })),
  ),
  fault("amount-in-major-units", "The create response shows the amount divided by 100.", "create.amount-echoed", () =>
    amounts((n) => n / 100),
  ),
  fault("amount-rounded", "The amount is rounded to a multiple of 10.", "create.amount-echoed", () =>
    amounts((n) => Math.round(n / 10) * 10),
  ),
  fault(
    "amount-with-fee",
    "The fee is subtracted from the amount in the create response.",
    "create.amount-echoed",
    () =>
      data(createDisbursement, (created) => ({
        ...created,
        amount: Number(created["amount"]) - Number(created["fee"]),
      })),
  ),
  fault("amount-16-bits", "The amount overflows at 16 bits.", "create.amount-echoed", () => amounts((n) => n % 65_536)),
  quickFault(
    "amount-single-precision",
    "The amount has single precision: it is inexact above 2^24.",
    "numbers.exact create.result-as-requested",
    () => amounts(Math.fround),
    "numbers.exact",
  ),
  fault("reference-trimmed", "The merchant's reference is trimmed.", "create.reference-echoed", () =>
    keeps((text) => text.trim()),
  ),
  fault("reference-lower-case", "The merchant's reference is converted to lower case.", "create.reference-echoed", () =>
    keeps((text) => text.toLowerCase()),
  ),
  fault(
    "reference-echo-upper-case",
    "The merchant's reference is returned in upper case.",
    "create.reference-echoed",
    () => echoes((text) => text.toUpperCase()),
  ),
  fault("reference-composed", "The merchant's reference is normalised to Unicode NFC.", "create.reference-echoed", () =>
    keeps((text) => text.normalize("NFC")),
  ),
  fault(
    "reference-ascii",
    "Non-ASCII characters in a reference become question marks.",
    "create.reference-echoed",
    () => echoes((text) => text.replaceAll(/[^ -~]/gu, "?")),
  ),
  fault("reference-spaces", "Consecutive spaces in a reference are collapsed.", "create.reference-echoed", () =>
    echoes((text) => text.replaceAll(/ +/g, " ")),
  ),
  fault("reference-escaped", "The merchant's reference is returned with HTML escapes.", "create.reference-echoed", () =>
    echoes((text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")),
  ),
  fault("reference-decoded", "Plus signs in a reference become spaces.", "create.reference-echoed", () =>
    echoes((text) => text.replaceAll("+", " ")),
  ),
  fault("reference-shared", "Every payout has the same service reference.", "create.service-reference-unique", () =>
    data(createDisbursement, (created) => ({ ...created, reference: "DSB000000000000000000000" })),
  ),
  fault(
    "reference-unverifiable",
    "Verify does not find the service reference from the create response.",
    "create.service-reference-verifies",
    () => data(createDisbursement, (created) => ({ ...created, reference: `${String(created["reference"])}X` })),
  ),
  fault(
    "responses-delayed-by-one",
    "A create returns the data of the previous payout.",
    "create.reference-echoed",
    () => {
      let before: unknown;
      return data(createDisbursement, (created) => {
        const other = before ?? created;
        before = created;
        return other;
      });
    },
  ),
  fault(
    "references-swapped",
    "The service's and the merchant's reference are swapped.",
    "create.reference-echoed create.service-reference-verifies",
    () =>
      data(createDisbursement, (created) => ({
        ...created,
        reference: created["merchantsReference"],
        merchantsReference: created["reference"],
      })),
  ),
  fault("minimum-refused", "An amount of 1 is refused.", "create.amount-minimum-accepted", () =>
    refuses(({ amount }) => amount === 1),
  ),
  fault("phone-15-refused", "A phone number of 15 digits is refused.", "create.phone-lengths-accepted", () =>
    refuses(({ phoneNumber }) => /^\d{15}$/.test(String(phoneNumber))),
  ),
  fault("phone-10-refused", "A phone number of 10 digits is refused.", "create.phone-lengths-accepted", () =>
    refuses(({ phoneNumber }) => /^\d{10}$/.test(String(phoneNumber))),
  ),
  fault("webhook-required", "A payout without a webhookURL is refused.", "create.webhook-optional", () =>
    refuses(({ webhookURL }) => webhookURL === undefined),
  ),
  fault("webhook-refused", "A webhookURL with a query is refused.", "create.webhook-optional", () =>
    refuses(({ webhookURL }) => String(webhookURL).includes("?")),
  ),
  fault("kenya-refused", "Payouts to Kenya get a 500.", "create.pairs-accepted", () =>
    refuses(({ country }) => country === "KE", 500),
  ),
  fault("ghana-refused", "Phone numbers of Ghana are refused with 404.", "create.pairs-accepted", () =>
    refuses(({ phoneNumber }) => String(phoneNumber).startsWith("233"), 404),
  ),
  fault("dollars-refused", "Payouts in USD are refused, but made.", "create.usd-accepted", () =>
    pretends(({ currency }) => currency === "USD"),
  ),
  fault("webhook-null-dropped", "A webhookURL of null counts as missing.", "create.webhook-null", () =>
    requests(createDisbursement, (fields) => (fields["webhookURL"] === null ? without(fields, "webhookURL") : fields)),
  ),
  fault(
    "countries-limited",
    "Payouts to countries other than the common countries and US are refused, but made.",
    "create.generated-valid-accepted",
    () =>
      pretends(
        ({ country }) =>
          /^[A-Z]{2}$/.test(String(country)) && !["CI", "NG", "GH", "KE", "US"].includes(String(country)),
      ),
  ),
  fault(
    "status-immediate",
    "Every create response has the status success.",
    "create.initial-status verify.transitions",
    () => data(createDisbursement, (created) => ({ ...created, status: "success" })),
  ),
  fault("extra-field-refused", "An unknown field is refused.", "create.extra-field", () =>
    instead(createDisbursement, hasExtra, () => refusal(400)),
  ),
];
