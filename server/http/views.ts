import type { components } from "../../generated/openapi.ts";
import type { Attempt, Checkout, Delivery, Disbursement, Event, Merchant } from "../domain/storage.ts";

type Schemas = components["schemas"];

/** Records as they go over the wire. What was not given is left out (D7a). */

export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** §2.2 */
export function disbursementCreated(record: Disbursement): Schemas["DisbursementCreated"] {
  const { reference, merchantsReference, amount, fee, status } = record;
  return { reference, merchantsReference, amount, fee, status };
}

/** §2.3 */
export function disbursementView(record: Disbursement, merchant: Merchant): Schemas["Disbursement"] {
  return { ...recordView(record, merchant), customer: customerView(record.customer), status: record.status };
}

/** D8 */
export function checkoutView(record: Checkout, merchant: Merchant): Schemas["Checkout"] {
  const { customer, redirectURL, status } = record;
  return {
    ...recordView(record, merchant),
    ...(customer === undefined ? {} : { customer: customerView(customer) }),
    ...(redirectURL === undefined ? {} : { redirectURL }),
    status,
  };
}

function recordView(record: Disbursement | Checkout, merchant: Merchant) {
  const { id, merchantId: userId, country, currency, amount, fee, webhookURL, reference, merchantsReference } = record;
  return {
    id,
    userId,
    merchant: { name: merchant.name },
    country,
    currency,
    amount,
    fee,
    ...(webhookURL === undefined ? {} : { webhookURL }),
    reference,
    merchantsReference,
    createdAt: timestamp(record.createdAt),
    updatedAt: timestamp(record.updatedAt),
  };
}

/** D6 */
export function checkoutCreated(record: Checkout, url: string): Schemas["CheckoutCreated"] {
  const { reference, merchantsReference, amount, fee, status } = record;
  return { url, reference, merchantsReference, amount, fee, status };
}

/** Nobody supplies a name, so the number's last four digits stand in for one (D19). */
function customerView({ id, phoneNumber }: { id: string; phoneNumber: string }): Schemas["Customer"] {
  return { id, name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber };
}

/** The body of a webhook: its data is what verify returns (D11). */
export function webhookBody({ type, record }: Event, merchant: Merchant): Schemas["WebhookEvent"] {
  const data = "locale" in record ? checkoutView(record, merchant) : disbursementView(record, merchant);
  return { event: type, data } as Schemas["WebhookEvent"];
}

export function eventView(event: Event, merchant: Merchant): Schemas["Event"] {
  return {
    id: event.id,
    createdAt: timestamp(event.createdAt),
    reference: event.record.reference,
    body: webhookBody(event, merchant),
  };
}

export function deliveryView(delivery: Delivery): Schemas["Delivery"] {
  const { id, type, record, url, status, createdAt, nextAttemptAt, attempts } = delivery;
  return {
    id,
    event: type,
    reference: record.reference,
    url,
    status,
    createdAt: timestamp(createdAt),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt: timestamp(nextAttemptAt) }),
    attempts: attempts.map(attemptView),
  };
}

function attemptView({ at, sentAt, ...rest }: Attempt): Schemas["Attempt"] {
  return { ...rest, at: timestamp(at), sentAt: timestamp(sentAt) };
}
