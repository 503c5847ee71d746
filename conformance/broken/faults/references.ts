// Servers with incorrect fees, references, ids or customers (D14, D19).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
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
/** Changes the fee in the responses to the operations in `where`. */
const fees = (
  change: (amount: number, fee: number) => unknown,
  where: readonly string[] = [createDisbursement, verifyDisbursement],
): Hooks => data(where, (each) => ({ ...each, fee: change(Number(each["amount"]), Number(each["fee"])) }));
const numbered = (prefix: string): Hooks =>
  otherReferences((before) => `${prefix}${String(before + 1).padStart(18, "0")}`);

const money = [
  fault("fee-fraction", "Fees are not rounded.", "fee.on-top", () => fees((amount) => amount / 100 + 0.5)),
  fault("fee-negative", "Fees are negative.", "fee.on-top", () => fees(() => -1)),
  fault("fee-as-text", "The fee in the create response is a string.", "fee.on-top create.result-shape", () =>
    fees((_, fee) => String(fee), [createDisbursement]),
  ),
  fault(
    "fee-differs-later",
    "The record's fee differs from the fee in the create response.",
    "fee.on-top verify.agrees-with-create",
    () => fees((_, fee) => fee + 1, [verifyDisbursement]),
  ),
  fault(
    "fee-off-the-amount",
    "The fee is subtracted from the record's amount.",
    "fee.on-top verify.agrees-with-create",
    () => shown((record) => ({ ...record, amount: Number(record["amount"]) - Number(record["fee"]) })),
  ),
  quickFault("fee-rounded-down", "Fees are rounded down.", "fee.default-rates", () =>
    fees((amount) => Math.floor(amount / 100)),
  ),
  fault("fee-of-checkout-rounded-down", "Checkout fees are rounded down.", "fee.default-rates", () =>
    fees((amount) => Math.floor(amount * 0.048), [createCheckout]),
  ),
  fault("fee-free", "There is no fee.", "fee.default-rates", () => ({ env: { DISBURSEMENT_FEE_BPS: "0" } })),
];

const references = [
  fault("reference-other-prefix", "Service references of payouts start with PAY.", "references.form", () =>
    data(createDisbursement, (created) => ({
      ...created,
      reference: String(created["reference"]).replace("DSB", "PAY"),
    })),
  ),
  quickFault(
    "reference-short",
    "Service references of checkouts are too short for 80 random bits.",
    "references.form",
    () => data(createCheckout, (created) => ({ ...created, reference: String(created["reference"]).slice(0, 12) })),
  ),
  fault("reference-sequential", "Service references are sequential.", "references.unguessable", () => numbered("DSB")),
  fault(
    "checkout-reference-sequential",
    "Service references of checkouts are sequential.",
    "references.unguessable",
    () => {
      let count = 0;
      return data(createCheckout, (created) => ({
        ...created,
        reference: `CHK${String((count += 1)).padStart(20, "0")}`,
      }));
    },
  ),
  fault(
    "reference-from-time",
    "Service references are the time, a counter and the same random characters.",
    "references.unguessable",
    () =>
      otherReferences((before) =>
        `DSB${Date.now().toString(36)}${String(before).padStart(4, "0")}q7m2x9t4k8v1r6z3w0h5n1p8`.toUpperCase(),
      ),
  ),
  fault("reference-of-digits", "Service references of checkouts are 20 random digits.", "references.form", () =>
    data(createCheckout, (created) => ({
      ...created,
      reference: `CHK${Array.from({ length: 20 }, () => Math.floor(Math.random() * 10)).join("")}`,
    })),
  ),
  fault("id-of-version-4", "Record ids are UUIDs of version 4.", "references.record-ids", () =>
    data([verifyDisbursement, verifyCheckout], (record) => ({
      ...record,
      id: String(record["id"]).replace(/^(.{14})7/, "$14"),
    })),
  ),
  fault("id-numeric", "Record ids are numbers.", "references.record-ids", () =>
    data([verifyDisbursement, verifyCheckout], (record) => ({ ...record, id: "1" })),
  ),
  fault("customer-new-each-time", "Each payout creates a new customer.", "references.customer", () =>
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: record["id"] } })),
  ),
  fault("customer-shared", "All recipients share one customer.", "references.customer", () =>
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: "1" } })),
  ),
  fault(
    "customer-named-by-first-digits",
    "A customer's name has the first four digits of the number instead of the last.",
    "references.customer",
    () =>
      shown((record) => ({
        ...record,
        customer: {
          ...(record["customer"] as Fields),
          name: `Customer ${String((record["customer"] as Fields)["phoneNumber"]).slice(0, 4)}`,
        },
      })),
  ),
];

export const faults: readonly Fault[] = [...money, ...references];
