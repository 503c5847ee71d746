// Servers with incorrect fees, references, ids or customers (D14, D19).
import { also, type Faults } from "../../broken/fault.ts";
import { data, records } from "../../broken/changes.ts";
import { otherReferences } from "../../broken/memory.ts";
import { type Fields, type Operations } from "../../broken/calls.ts";

/** Changes the fee in the responses to these operations. */
const fees = (
  change: (amount: number, fee: number) => unknown,
  operations: Operations = ["createDisbursement", "verifyDisbursement"],
) => data(operations, (each) => ({ ...each, fee: change(Number(each["amount"]), Number(each["fee"])) }));
const checkoutReferences = (make: (reference: string) => string) =>
  data("createCheckout", (created) => ({ ...created, reference: make(String(created["reference"])) }));
const customers = (change: (customer: Fields, record: Fields) => Fields) =>
  records((record) => {
    const customer = record["customer"] as Fields;
    return { ...record, customer: { ...customer, ...change(customer, record) } };
  });

export const faults: Faults = {
  "fee.on-top: Fees are not rounded.": also(
    "verify.record-shape",
    fees((amount) => amount / 100 + 0.5),
  ),
  "fee.on-top: The record's fee differs from the fee in the create response.": also(
    "verify.agrees-with-create",
    fees((_, fee) => fee + 1, ["verifyDisbursement"]),
  ),
  "fee.default-rates: Fees are rounded down.": fees((amount) => Math.floor(amount / 100)),
  "references.form: Service references of checkouts are too short for 80 random bits.": checkoutReferences(
    (reference) => reference.slice(0, 12),
  ),
  "references.unguessable: Service references are sequential.": otherReferences(
    (before) => `DSB${String(before + 1).padStart(18, "0")}`,
  ),
  "references.record-ids: Record ids are UUIDs of version 4.": data(
    ["verifyDisbursement", "verifyCheckout"],
    (record) => ({
      ...record,
      id: String(record["id"]).replace(/^(.{14})7/, "$14"),
    }),
  ),
  "references.customer: Each payout creates a new customer.": customers((_, { id }) => ({ id })),
  "references.customer-own: Merchants share customers.": () => {
    const ids = new Map<unknown, unknown>();
    return customers(({ phoneNumber, id }) => {
      if (!ids.has(phoneNumber)) ids.set(phoneNumber, id);
      return { id: ids.get(phoneNumber) };
    });
  },
};
