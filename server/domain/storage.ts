/**
 * What the domain asks of its storage. Every method is one transaction by itself and has happened, durably, when
 * its promise resolves. Times are milliseconds since 1970; those named `…At` on records are in the merchant's own
 * sandbox time (D18), which is real time plus `clockOffset`. Amounts are in the lowest denomination.
 */
export interface Storage extends Merchants, Disbursements, Checkouts, DeliveryQueue, DeliveryLog, Timeline {
  /** Resolves when the storage can take work; rejects with the reason otherwise. */
  ping(): Promise<void>;
  /** Finishes what was begun, then lets go of the storage. */
  close(): Promise<void>;
}

// ---- merchants and keys -------------------------------------------------------------------------------------------

export interface Merchant {
  id: string;
  name: string;
  createdAt: number;
  /** How far the merchant's sandbox time is ahead of real time, in milliseconds. */
  clockOffset: number;
}

export interface WebhookSecrets {
  current: string;
  /** Still signs until `expiresAt`. */
  previous?: { secret: string; expiresAt: number };
}

/** A key as it is kept: never its text, only the SHA-256 of it. */
export interface ApiKey {
  id: string;
  merchantId: string;
  hash: Uint8Array;
  /** The last four characters, for people to tell keys apart. */
  hint: string;
  createdAt: number;
  revokedAt?: number;
}

export interface Merchants {
  insertMerchant(merchant: Merchant, webhookSecret: string): Promise<void>;
  /** In the order in which they were made. */
  listMerchants(): Promise<Merchant[]>;
  insertKey(key: ApiKey): Promise<void>;
  listKeys(): Promise<ApiKey[]>;
  /** The key with this hash, revoked or not. */
  findKey(hash: Uint8Array): Promise<ApiKey | undefined>;
  /** Sets or lifts the revocation; false when there is no such key. */
  setRevoked(keyId: string, revokedAt: number | undefined): Promise<boolean>;
  /** The merchant that owns the key with this hash, unless the key was revoked. */
  findMerchantByKey(hash: Uint8Array): Promise<{ merchant: Merchant; hash: Uint8Array } | undefined>;
  findMerchant(id: string): Promise<Merchant | undefined>;
  readSecrets(merchantId: string): Promise<WebhookSecrets>;
  /** Puts a new secret in force; the one before it still signs until `expiresAt`, in the merchant's sandbox time (D12). */
  rotateSecret(merchantId: string, secret: string, expiresAt: number): Promise<WebhookSecrets>;
}

// ---- records ------------------------------------------------------------------------------------------------------

export type FinalStatus = "success" | "failed" | "cancelled";

/** What will become of a pending record, and when, in the merchant's sandbox time. */
export interface Due {
  at: number;
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
  /** Absent once the status is final, and for what stays pending. */
  due?: Due;
}

export interface Disbursement extends PaymentRecord {
  status: "pending" | "success" | "failed";
  customer: Customer;
}

export interface Checkout extends PaymentRecord {
  status: "pending" | "success" | "failed" | "cancelled";
  redirectURL?: string;
  locale: "en" | "fr";
  /** The payer; absent until a number was given. */
  customer?: Customer;
}

/** Whether this call made the record; if not, `record` is the one that has its merchant's reference already (D4). */
export interface Insertion<T> {
  inserted: boolean;
  record: T;
}

export interface Disbursements {
  /**
   * Records a payout. The customer's id is used when the merchant has none with this number yet. A record that is
   * final from the start writes its event in the same transaction.
   */
  insertDisbursement(record: Disbursement): Promise<Insertion<Disbursement>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  findDisbursementByMerchantsReference(merchantId: string, ref: string): Promise<Disbursement | undefined>;
  /** Counts one more try of a reference that the sandbox refuses at first (D17, 503); how many there were. */
  countTry(merchantId: string, merchantsReference: string): Promise<number>;
}

export interface Checkouts {
  insertCheckout(record: Checkout): Promise<Insertion<Checkout>>;
  findCheckout(merchantId: string, reference: string): Promise<Checkout | undefined>;
  /** By the service's reference alone, which is the key to the public page (D19). */
  findPublicCheckout(reference: string): Promise<{ checkout: Checkout; merchant: Merchant } | undefined>;
  /**
   * The payer gave a number: sets the customer and what is due, once. False when the checkout is not pending any
   * more, or was paid before.
   */
  payCheckout(reference: string, customer: Customer, due: Due | undefined, at: number): Promise<boolean>;
  /** Gives a pending checkout its final status, with its event. False when it was final already. */
  finishCheckout(reference: string, status: FinalStatus, at: number): Promise<boolean>;
  /** Cancels a checkout for which no number was given yet, with its event. False when it was paid, or is final. */
  cancelCheckout(reference: string, at: number): Promise<boolean>;
}

// ---- events and their delivery ------------------------------------------------------------------------------------

export type EventType =
  "disbursement.completed" | "disbursement.failed" | "checkout.completed" | "checkout.failed" | "checkout.cancelled";

export type DeliveryStatus = "pending" | "delivered" | "ended" | "exhausted";

/** A status change, written in one transaction with it. Its delivery is the same row (D30). */
export interface Event {
  /** `msg_…`; the `webhook-id`. */
  id: string;
  merchantId: string;
  type: EventType;
  createdAt: number;
  /** The record that changed. It is final, so it still reads as at the moment of the event. */
  record: Disbursement | Checkout;
}

export interface Attempt {
  number: number;
  /** In the merchant's sandbox time. */
  at: number;
  /** Real time. */
  sentAt: number;
  latencyMs: number;
  httpStatus?: number;
  responseBody?: string;
  error?: string;
}

export interface Delivery extends Event {
  url: string;
  status: DeliveryStatus;
  /** Steps of the retry schedule that were used up; a replay starts again from none. */
  step: number;
  nextAttemptAt?: number;
  attempts: Attempt[];
}

/** A delivery that this process, and no other, may attempt until its lease ends. */
export interface ClaimedDelivery {
  event: Event;
  url: string;
  step: number;
  merchant: Merchant;
  secrets: WebhookSecrets;
}

export interface ClaimRequest {
  /** Real time. */
  now: number;
  /** Real time until which nobody else claims the same deliveries. */
  leaseUntil: number;
  /** At most this many in all. */
  limit: number;
  /** How many more deliveries a host may be sent; called with the host of a `webhookURL`. */
  room(host: string): number;
  /** How many more deliveries a merchant may have under way. */
  roomOf(merchantId: string): number;
  /** Only those of this merchant. */
  merchantId?: string;
}

export interface AttemptOutcome {
  status: DeliveryStatus;
  step: number;
  /** When to try again, in the merchant's sandbox time; only while `status` is pending. */
  nextAttemptAt?: number;
}

export interface Page {
  merchantId: string;
  reference?: string;
  limit: number;
  /** Only those older than the event with this id. */
  before?: string;
}

export interface DeliveryQueue {
  claimDeliveries(request: ClaimRequest): Promise<ClaimedDelivery[]>;
  /** Claims one delivery whatever its status; undefined when it is unknown, "claimed" when an attempt is under way. */
  claimDelivery(
    merchantId: string,
    id: string,
    now: number,
    leaseUntil: number,
  ): Promise<ClaimedDelivery | "claimed" | undefined>;
  /**
   * Records an attempt, frees the claim and says what comes next. Its number is given here, counting from 1. Of each
   * delivery the last 100 attempts are kept.
   */
  recordAttempt(eventId: string, attempt: Omit<Attempt, "number">, outcome: AttemptOutcome): Promise<void>;
}

export interface DeliveryLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** Newest first; at most `limit`. */
  listEvents(page: Page): Promise<Event[]>;
  listDeliveries(page: Page & { status?: DeliveryStatus }): Promise<Delivery[]>;
}

// ---- time ---------------------------------------------------------------------------------------------------------

export interface Timeline {
  /**
   * Gives every record that is due its final status, each with its event, at most `limit` of them; how many.
   * @param now real time
   */
  settleDue(now: number, limit: number, merchantId?: string): Promise<number>;
  /** When the merchant's next record or delivery falls due, in its sandbox time. */
  nextDue(merchantId: string): Promise<{ at: number; claimed: boolean } | undefined>;
  /** Moves the merchant's time forward; never back. */
  setClockOffset(merchantId: string, clockOffset: number): Promise<void>;
  /**
   * Forgets the merchant's records, events and tries, and puts its clock back to real time. A rotation of the webhook
   * secret ends: on the clock that is put back, a secret that has expired would be in force again.
   */
  reset(merchantId: string): Promise<void>;
}
