// Servers whose lists leave out a status, whose checkouts do not show the time of their end, or whose sandbox cannot be
// read.
import { type Fault, fault, quickFault } from "../fault.ts";
import { data, refusal, responses, verifyCheckout, verifyDisbursement } from "../ways.ts";

/** Leaves records with this status out of a list. */
const leavesOut = (left: string) => (page: Record<string, unknown>) => ({
  ...page,
  items: (page["items"] as { status: string }[]).filter(({ status }) => status !== left),
});

export const faults: readonly Fault[] = [
  quickFault(
    "list-without-pending-payouts",
    "The list of disbursements leaves out pending disbursements.",
    "lists.every-status",
    () => data("listDisbursements", leavesOut("pending")),
  ),
  fault(
    "list-without-pending-checkouts",
    "The list of checkouts leaves out pending checkouts.",
    "lists.every-status",
    () => data("listCheckouts", leavesOut("pending")),
  ),
  fault(
    "list-without-cancelled-checkouts",
    "The list of checkouts leaves out cancelled checkouts.",
    "lists.every-status",
    () => data("listCheckouts", leavesOut("cancelled")),
  ),
  fault("sandbox-secret-500", "Reading the webhook secret fails with 500.", "sandbox.reads", () =>
    responses("readWebhookSecret", () => refusal(500)),
  ),
  fault("customer-of-any-merchant", "Merchants share customers.", "references.customer-own", () => {
    const ids = new Map<unknown, unknown>();
    return data(verifyDisbursement, (record) => {
      const customer = record["customer"] as Record<string, unknown>;
      const { phoneNumber, id } = customer;
      if (!ids.has(phoneNumber)) ids.set(phoneNumber, id);
      return { ...record, customer: { ...customer, id: ids.get(phoneNumber) } };
    });
  }),
  fault("secrets-without-end", "An old secret never expires.", "signature.five-secrets", () =>
    data("readWebhookSecret", ({ secret, previousSecrets }) => ({
      secret,
      previousSecrets:
        (previousSecrets as unknown[]).length === 0
          ? [{ secret, expiresAt: "2020-01-01T00:00:00.000Z" }]
          : previousSecrets,
    })),
  ),
  fault("secrets-without-limit", "The old secrets include a sixth secret.", "signature.five-secrets", () =>
    data("readWebhookSecret", (secrets) => {
      const { previousSecrets } = secrets as { previousSecrets: unknown[] };
      const isFull = previousSecrets.length === 5;
      return { ...secrets, previousSecrets: isFull ? [...previousSecrets, previousSecrets[0]] : previousSecrets };
    }),
  ),
  fault(
    "checkout-updated-never",
    "updatedAt of a checkout stays the time of its creation.",
    "checkout-states.updated-at",
    () => data(verifyCheckout, (record) => ({ ...record, updatedAt: record["createdAt"] })),
  ),
];
