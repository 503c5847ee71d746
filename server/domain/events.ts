import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import { kindOf, type Disbursement, type FinalStatus, type Payment } from "./records.ts";
import { erasedPhone, textWithoutPhone } from "./redaction.ts";
import type { Merchant } from "./merchants.ts";
import { customerView, paymentView } from "./representation.ts";

export type EventType = components["schemas"]["EventName"];

/** A status change, written in the same transaction as the change itself (D11). */
export interface Event {
  /** `msg_…`; sent as `webhook-id`. */
  id: string;
  merchantId: string;
  type: EventType;
  /** The service's reference of the record that changed. */
  reference: string;
  createdAt: number;
  /** The JSON that every attempt sends, byte for byte (D11). */
  body: string;
}

const verbs = { success: "completed", failed: "failed", cancelled: "cancelled" } as const;

export const EVENT_TYPES = document.components.schemas.EventName.enum as readonly EventType[];

/**
 * The event that reports a record's final status (D11). The event's body is the response of verify at this moment. It
 * is rendered here once, so that a later version of this code cannot change the bytes of a retry.
 * @param merchantName the merchant's name as it appears in the record
 */
export function eventOf(record: Payment, merchantName: string): Event {
  const type = `${kindOf(record)}.${verbs[record.status as FinalStatus]}` as EventType;
  return {
    id: eventId(record.id),
    merchantId: record.merchantId,
    type,
    reference: record.reference,
    createdAt: record.updatedAt,
    body: JSON.stringify({ event: type, data: paymentView(record, merchantName) }),
  };
}

/** Returns an event's body with the erased phone number, and otherwise the same bytes: digits elsewhere stay. */
export function withoutPhone(body: string, phoneNumber: string): string {
  const { event, data } = JSON.parse(body) as components["schemas"]["WebhookEvent"];
  const { customer, failure } = data;
  if (customer) Object.assign(customer, customerView({ id: customer.id, phoneNumber: erasedPhone(phoneNumber) }));
  if (failure) failure.message = textWithoutPhone(failure.message, phoneNumber);
  return JSON.stringify({ event, data });
}

/**
 * Derives the id of a record's event from the record's id. A record becomes final only once, so no retry, crash or race
 * can create a second event.
 */
export function eventId(recordId: string): string {
  return `msg_${recordId.replaceAll("-", "")}`;
}

/** Where an event goes (D40): to the address in the request, else to the merchant's default address. */
export function destinationOf(
  { webhookURL }: Pick<Disbursement, "webhookURL">,
  { webhookUrl }: Pick<Merchant, "webhookUrl">,
): { url: string; host: string } | undefined {
  const url = webhookURL ?? webhookUrl;
  return url === undefined ? undefined : { url, host: receiverOf(url) };
}

/** Returns the host and port of a webhook URL. The result is never empty, so that every delivery belongs to a lane. */
export function receiverOf(url: string): string {
  return URL.parse(url)?.host || "invalid";
}
