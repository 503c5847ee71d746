// D14, D19: servers that are wrong about fees, references, ids and customers.
import { fault, type How } from "../fault.ts";
import {
  createCheckout,
  createDisbursement,
  data,
  otherReferences,
  verifyCheckout,
  verifyDisbursement,
  type Fields,
} from "../ways.ts";

const shown = (change: (record: Fields) => unknown) => data(verifyDisbursement, change);
/** Changes the fee of payouts wherever it is shown. */
const fees = (
  change: (amount: number, fee: number) => unknown,
  where: readonly string[] = [createDisbursement, verifyDisbursement],
): How => data(where, (each) => ({ ...each, fee: change(Number(each["amount"]), Number(each["fee"])) }));
const numbered = (prefix: string): How =>
  otherReferences((before) => `${prefix}${String(before + 1).padStart(18, "0")}`);

const money = [
  fault(
    "fee-fraction",
    "Fees are not rounded.",
    "fee.on-top",
    fees((amount) => amount / 100 + 0.5),
  ),
  fault(
    "fee-negative",
    "Fees are below nothing.",
    "fee.on-top",
    fees(() => -1),
  ),
  fault(
    "fee-as-text",
    "The fee is text.",
    "fee.on-top create.result-shape",
    fees((_, fee) => String(fee), [createDisbursement]),
  ),
  fault(
    "fee-differs-later",
    "The record's fee is another than that of the answer.",
    "fee.on-top verify.agrees-with-create",
    fees((_, fee) => fee + 1, [verifyDisbursement]),
  ),
  fault(
    "fee-off-the-amount",
    "The record's amount is without the fee.",
    "fee.on-top verify.agrees-with-create",
    shown((record) => ({ ...record, amount: Number(record["amount"]) - Number(record["fee"]) })),
  ),
  fault(
    "fee-rounded-down",
    "Fees are rounded down.",
    "fee.default-rates",
    fees((amount) => Math.floor(amount / 100)),
  ),
  fault(
    "fee-of-checkout-rounded-down",
    "Fees of checkouts are rounded down.",
    "fee.default-rates",
    fees((amount) => Math.floor(amount * 0.048), [createCheckout]),
  ),
  fault("fee-free", "There is no fee.", "fee.default-rates", { env: { DISBURSEMENT_FEE_BPS: "0" } }),
];

const references = [
  fault(
    "reference-other-prefix",
    "References of payouts start with PAY.",
    "references.form",
    data(createDisbursement, (made) => ({ ...made, reference: String(made["reference"]).replace("DSB", "PAY") })),
  ),
  fault(
    "reference-short",
    "References of checkouts have no room for 80 bits.",
    "references.form",
    data(createCheckout, (made) => ({ ...made, reference: String(made["reference"]).slice(0, 12) })),
  ),
  fault("reference-counted", "References are counted up.", "references.unguessable", numbered("DSB")),
  fault(
    "id-of-version-4",
    "Ids are UUIDs of another version.",
    "references.record-ids",
    data([verifyDisbursement, verifyCheckout], (record) => ({
      ...record,
      id: String(record["id"]).replace(/^(.{14})7/, "$14"),
    })),
  ),
  fault(
    "id-counted",
    "Ids are numbers.",
    "references.record-ids",
    data([verifyDisbursement, verifyCheckout], (record) => ({ ...record, id: "1" })),
  ),
  fault(
    "customer-new-each-time",
    "Each payout makes a new customer.",
    "references.customer",
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: record["id"] } })),
  ),
  fault(
    "customer-shared",
    "All recipients are one customer.",
    "references.customer",
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: "1" } })),
  ),
  fault(
    "customer-named-by-first-digits",
    "A customer is called by the first four digits.",
    "references.customer",
    shown((record) => ({
      ...record,
      customer: {
        ...(record["customer"] as Fields),
        name: `Customer ${String((record["customer"] as Fields)["phoneNumber"]).slice(0, 4)}`,
      },
    })),
  ),
];

export const referenceFaults = [...money, ...references];
