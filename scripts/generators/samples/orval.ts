import {
  createDisbursement,
  type CheckoutCancelledEvent,
  type CheckoutCompletedEvent,
  type CheckoutFailedEvent,
  type DisbursementCompletedEvent,
  type DisbursementFailedEvent,
  type WebhookEvent,
} from "./orval/index";

export async function pay(apiKey: string) {
  const response = await createDisbursement(
    {
      reference: "payroll-2026-11-0042",
      amount: 1_500_000,
      phoneNumber: "2257038102473",
      country: "CI",
      currency: "XOF",
    },
    { headers: { "x-api-key": apiKey } },
  );
  if (response.status !== 200) throw new Error(response.data.code);
  return response.data.data.status;
}

/** A status that a later version adds can be read. */
export const added: Awaited<ReturnType<typeof pay>> = "reversed";

interface Handlers {
  paid(event: DisbursementCompletedEvent): void;
  returned(event: DisbursementFailedEvent): void;
  sold(event: CheckoutCompletedEvent): void;
  refused(event: CheckoutFailedEvent): void;
  abandoned(event: CheckoutCancelledEvent): void;
}

export function handle(event: WebhookEvent, handlers: Handlers) {
  switch (event.event) {
    case "disbursement.completed":
      return handlers.paid(event);
    case "disbursement.failed":
      return handlers.returned(event);
    case "checkout.completed":
      return handlers.sold(event);
    case "checkout.failed":
      return handlers.refused(event);
    case "checkout.cancelled":
      return handlers.abandoned(event);
    default:
      event satisfies never;
  }
}
