// Servers whose lists leave out a status, or whose checkouts do not show when they ended.
import { fault } from "../fault.ts";
import { data, verifyCheckout } from "../ways.ts";

/** Leaves pending records out of a list. */
const withoutPending = (page: Record<string, unknown>) => ({
  ...page,
  items: (page["items"] as { status: string }[]).filter(({ status }) => status !== "pending"),
});

export const listStatusFaults = [
  fault(
    "list-without-pending-payouts",
    "The list of disbursements leaves out those that are pending.",
    "lists.every-status",
    data("listDisbursements", withoutPending),
  ),
  fault(
    "list-without-pending-checkouts",
    "The list of checkouts leaves out those that are pending.",
    "lists.every-status",
    data("listCheckouts", withoutPending),
  ),
  fault(
    "checkout-updated-never",
    "updatedAt of a checkout stays the time of its creation.",
    "checkout-states.updated-at",
    data(verifyCheckout, (record) => ({ ...record, updatedAt: record["createdAt"] })),
  ),
];
