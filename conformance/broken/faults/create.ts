// §2.1, §2.2, §4.1: servers that pay, but answer wrongly or refuse what is sound.
import { fault } from "../fault.ts";
import {
  responses,
  createDisbursement,
  data,
  dataOf,
  instead,
  isAccepted,
  refusal,
  requests,
  withBody,
  withStatus,
  type Fields,
} from "../ways.ts";

/** Changes the merchant's reference in the answer. */
const echoes = (change: (reference: string) => string) => () =>
  data(createDisbursement, (made) => ({ ...made, merchantsReference: change(String(made["merchantsReference"])) }));
/** Changes the merchant's reference before it is kept. */
const keeps = (change: (reference: string) => string) => () =>
  requests(createDisbursement, (fields) =>
    typeof fields["reference"] === "string" ? { ...fields, reference: change(fields["reference"]) } : fields,
  );
const amounts = (change: (amount: number) => unknown) => () =>
  data(createDisbursement, (made) => ({ ...made, amount: change(Number(made["amount"])) }));
const refuses = (fits: (fields: Fields) => boolean) => () => instead(createDisbursement, fits, () => refusal(422));

export const createFaults = [
  fault("created-201", "A payout is answered with 201.", "create.accepted", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withStatus(reply, 201) : reply)),
  ),
  fault("created-202", "A payout is only taken in, with 202.", "create.accepted", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withStatus(reply, 202) : reply)),
  ),
  fault("result-without-envelope", "The result lies in no envelope.", "create.result-shape", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  fault("result-in-list", "The result lies in a list.", "create.result-shape", () =>
    data(createDisbursement, (made) => [made]),
  ),
  fault("result-cut-short", "The answer to a payout breaks off.", "create.result-shape json.answers", () =>
    responses(createDisbursement, (reply) => (isAccepted(reply) ? { ...reply, text: reply.text.slice(0, -4) } : reply)),
  ),
  fault("status-in-capitals", "A payout's status is in capitals.", "create.status-known create.result-shape", () =>
    data(createDisbursement, (made) => ({ ...made, status: String(made["status"]).toUpperCase() })),
  ),
  fault("status-processing", "A new payout is called processing.", "create.status-known", () =>
    data(createDisbursement, (made) => ({ ...made, status: "processing" })),
  ),
  fault(
    "amount-as-text-of-units",
    "Amounts are answered in units.",
    "create.amount-echoed",
    amounts((n) => n / 100),
  ),
  fault(
    "amount-rounded",
    "Amounts are rounded to tens.",
    "create.amount-echoed",
    amounts((n) => Math.round(n / 10) * 10),
  ),
  fault("amount-with-fee", "The fee is taken off the amount.", "create.amount-echoed", () =>
    data(createDisbursement, (made) => ({ ...made, amount: Number(made["amount"]) - Number(made["fee"]) })),
  ),
  fault(
    "amount-16-bits",
    "Amounts overflow at 65,536.",
    "create.amount-echoed",
    amounts((n) => n % 65_536),
  ),
  fault(
    "amount-single-precision",
    "Amounts lose their last digit from 2^24 on.",
    "create.amount-echoed",
    amounts(Math.fround),
  ),
  fault(
    "reference-trimmed",
    "References are trimmed.",
    "create.reference-echoed",
    keeps((text) => text.trim()),
  ),
  fault(
    "reference-small",
    "References are made small.",
    "create.reference-echoed",
    keeps((text) => text.toLowerCase()),
  ),
  fault(
    "reference-echo-capitals",
    "References are echoed in capitals.",
    "create.reference-echoed",
    echoes((text) => text.toUpperCase()),
  ),
  fault(
    "reference-composed",
    "References are brought into another Unicode form.",
    "create.reference-echoed",
    keeps((text) => text.normalize("NFC")),
  ),
  fault(
    "reference-ascii",
    "Other characters than ASCII become question marks.",
    "create.reference-echoed",
    echoes((text) => text.replaceAll(/[^ -~]/gu, "?")),
  ),
  fault(
    "reference-spaces",
    "Several spaces become one.",
    "create.reference-echoed",
    echoes((text) => text.replaceAll(/ +/g, " ")),
  ),
  fault(
    "reference-escaped",
    "References are echoed as HTML.",
    "create.reference-echoed",
    echoes((text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")),
  ),
  fault(
    "reference-decoded",
    "Plus signs in references become spaces.",
    "create.reference-echoed",
    echoes((text) => text.replaceAll("+", " ")),
  ),
  fault("reference-shared", "Every payout has the same service reference.", "create.service-reference-unique", () =>
    data(createDisbursement, (made) => ({ ...made, reference: "DSB000000000000000000000" })),
  ),
  fault(
    "reference-not-that-of-verify",
    "The reference of the answer is not the one that verify takes.",
    "create.service-reference-verifies",
    () => data(createDisbursement, (made) => ({ ...made, reference: `${String(made["reference"])}X` })),
  ),
  fault("answers-swapped", "A payout is answered with the record of the one before.", "create.reference-echoed", () => {
    let before: unknown;
    return data(createDisbursement, (made) => {
      const other = before ?? made;
      before = made;
      return other;
    });
  }),
  fault(
    "references-swapped",
    "The two references of a payout are mixed up.",
    "create.reference-echoed create.service-reference-verifies",
    () =>
      data(createDisbursement, (made) => ({
        ...made,
        reference: made["merchantsReference"],
        merchantsReference: made["reference"],
      })),
  ),
  fault(
    "least-refused",
    "An amount of 1 is refused.",
    "create.amount-minimum-accepted",
    refuses(({ amount }) => amount === 1),
  ),
  fault(
    "phone-15-refused",
    "15 digits are too many.",
    "create.phone-lengths-accepted",
    refuses(({ phoneNumber }) => /^\d{15}$/.test(String(phoneNumber))),
  ),
  fault(
    "phone-10-refused",
    "10 digits are too few.",
    "create.phone-lengths-accepted",
    refuses(({ phoneNumber }) => /^\d{10}$/.test(String(phoneNumber))),
  ),
  fault(
    "webhook-demanded",
    "A payout without a webhookURL is refused.",
    "create.webhook-optional",
    refuses(({ webhookURL }) => webhookURL === undefined),
  ),
  fault(
    "webhook-refused",
    "A webhookURL with a query is refused.",
    "create.webhook-optional",
    refuses(({ webhookURL }) => String(webhookURL).includes("?")),
  ),
  fault(
    "kenya-refused",
    "Payouts to Kenya are refused.",
    "create.pairs-accepted",
    refuses(({ country }) => country === "KE"),
  ),
  fault(
    "countries-closed",
    "Other countries than the four common ones are refused.",
    "create.generated-valid-accepted",
    refuses(({ country }) => /^[A-Z]{2}$/.test(String(country)) && !["CI", "NG", "GH", "KE"].includes(String(country))),
  ),
  fault("status-at-once", "Every payout is answered as a success.", "create.initial-status", () =>
    data(createDisbursement, (made) => ({ ...made, status: "success" })),
  ),
  fault("extra-field-refused", "A field that nobody knows is refused.", "create.extra-field", () =>
    instead(
      createDisbursement,
      (fields) => "certifyExtra" in fields,
      () => refusal(400),
    ),
  ),
];
