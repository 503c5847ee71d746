import type { Chaos } from "./chaos.ts";

/**
 * The records that the service stores. Amounts are whole numbers of the lowest denomination (10000 is 100.00). Times
 * are milliseconds since 1970. Times named `…At` are in the merchant's sandbox time (D18) unless their comment says
 * "real time".
 */

export interface Merchant {
  id: string;
  name: string;
  /** Real time. */
  createdAt: number;
  /** How far the merchant's sandbox time is ahead of real time, in milliseconds. */
  clockOffset: number;
  /**
   * The sandbox time to which the clock was last moved; 0 if it never was. Everything that was due by then is dated
   * when it was due, because the move skipped that time (D29).
   */
  movedTo: number;
  /** The destination of events whose request gave none (D40). */
  webhookUrl?: string;
  /** What the chaos switch of the sandbox does; absent while it is off (D67). */
  chaos?: Chaos;
}

/** A program that makes a merchant's webhook attempts itself, because the service cannot reach the receiver (D69). */
export interface Listener {
  /** Identifies the listener until another one takes over. */
  session: string;
  /** For people. */
  name: string;
  /** Where the listener sends webhooks. */
  url: string;
  /** The API key with which it connects. Its revocation ends the listener. */
  keyId?: string;
}

/** A webhook secret that a rotation replaced. It signs until `expiresAt` (D12). */
export interface PreviousSecret {
  secret: string;
  expiresAt: number;
}

export interface WebhookSecrets {
  current: string;
  /** Newest first. Secrets that have expired may still be listed. */
  previous: PreviousSecret[];
}

/** A stored API key. Only its SHA-256 is stored, never its text. */
export interface ApiKey {
  id: string;
  merchantId: string;
  hash: Uint8Array;
  /** The last four characters, so that people can tell keys apart. */
  hint: string;
  /** What people call it. */
  name?: string;
  /** Real time. */
  createdAt: number;
  /** When a request last had it, to about a minute; absent if none had. Real time. */
  usedAt?: number;
  /** Real time. */
  revokedAt?: number;
}

export type FinalStatus = "success" | "failed" | "cancelled";

/** The final status that a pending record will get, and when. */
export interface Due {
  at: number;
  status: FinalStatus;
}

/** Like `Due`, but relative to the time at which the storage records it. */
export interface DueAfter {
  afterMs: number;
  status: FinalStatus;
}

export interface Customer {
  id: string;
  phoneNumber: string;
}

interface PaymentRecord {
  id: string;
  merchantId: string;
  /** The service's reference. */
  reference: string;
  merchantsReference: string;
  amount: number;
  fee: number;
  country: string;
  currency: string;
  webhookURL?: string;
  createdAt: number;
  updatedAt: number;
  /** Absent if the status is final, and for records that stay pending indefinitely. */
  due?: Due;
  /** The W3C trace context of the request that created the record, if that request had one. */
  traceparent?: string;
}

export interface Disbursement extends PaymentRecord {
  status: "pending" | "success" | "failed";
  customer: Customer;
}

export interface Checkout extends PaymentRecord {
  status: "pending" | "success" | "failed" | "cancelled";
  redirectURL?: string;
  locale: "en" | "fr";
  /** The payer; absent until a phone number was submitted. */
  customer?: Customer;
}

/** A record before it is stored. The storage adds the times, which depend on the merchant's clock at that moment. */
export type Draft<T extends PaymentRecord> = Omit<T, "createdAt" | "updatedAt" | "due"> & { due?: DueAfter };

export type EventType =
  "disbursement.completed" | "disbursement.failed" | "checkout.completed" | "checkout.failed" | "checkout.cancelled";

/** A status change, written in the same transaction as the change itself (D30). */
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
  /** That of the record. */
  traceparent?: string;
}

export type DeliveryStatus = "pending" | "delivered" | "ended" | "exhausted";

export interface Attempt {
  number: number;
  at: number;
  /** Real time. */
  sentAt: number;
  latencyMs: number;
  httpStatus?: number;
  responseBody?: string;
  error?: string;
}

/** A request of a merchant as its log shows it: without secrets, and with the last three digits of phone numbers. */
export interface LoggedRequest {
  requestId: string;
  merchantId: string;
  /** When it ended, in real time. */
  at: number;
  /** Orders what one process has logged in the same millisecond. */
  number: number;
  /** The operationId of the contract. */
  operation: string;
  method: string;
  path: string;
  /** Absent if the connection ended before a response was sent. */
  status?: number;
  /** The code of an error. */
  code?: string;
  durationMs: number;
  /** The service's reference of the payment that the request was about. */
  reference?: string;
  merchantsReference?: string;
  /** The request's body or query, redacted, as JSON. */
  sent?: string;
  /** The response's body, redacted, as JSON. */
  returned?: string;
  /** How many requests of the merchant, up to about the time of this one, were not kept. */
  leftOut?: number;
}

/** An event with an address, and the state of its delivery to that address. */
export interface Delivery extends Event {
  url: string;
  /** True if the merchant's listener makes the attempts (D69). */
  toListener?: true;
  status: DeliveryStatus;
  /** The number of attempts made so far in the retry schedule. A replay restarts the schedule. */
  step: number;
  nextAttemptAt?: number;
  attempts: Attempt[];
}

/** A sandbox, or a service that moves real money. A database belongs to one of them for ever (D80). */
export type Mode = "sandbox" | "live";

/** The mode that SANDBOX asks for, if it is set. */
export type AskedMode = Mode | "unset";
