import type {
  ApiKey,
  Attempt,
  Checkout,
  Customer,
  Delivery,
  DeliveryStatus,
  Disbursement,
  Draft,
  DueAfter,
  Event,
  FinalStatus,
  Merchant,
  WebhookSecrets,
} from "./types.ts";

/**
 * What the domain asks of its storage. Each method is one transaction, and its effect is durable when its promise
 * resolves. A storage is opened with a clock and reads the time itself, inside the transaction: all processes that share
 * a database share one clock, and a merchant's time never goes backwards.
 */
export interface Storage
  extends MerchantStore, DisbursementStore, CheckoutStore, ClockStore, DeliveryQueue, EventLog, Housekeeping {
  /** Resolves when the storage can do its work; rejects with the reason otherwise. */
  ping(): Promise<void>;
  /** Finishes the transactions in progress, then closes the storage. */
  close(): Promise<void>;
}

// ---- merchants and keys -------------------------------------------------------------------------------------------

export interface MerchantStore {
  insertMerchant(merchant: Pick<Merchant, "id" | "name" | "createdAt">, webhookSecret: string): Promise<void>;
  /** Oldest first. */
  listMerchants(): Promise<Merchant[]>;
  insertKey(key: ApiKey): Promise<void>;
  /** Oldest first. */
  listKeys(): Promise<ApiKey[]>;
  /** The key with this hash, revoked or not. */
  findKey(hash: Uint8Array): Promise<ApiKey | undefined>;
  /** Revokes a key, or lifts the revocation when `revokedAt` is undefined. False if there is no such key. */
  setRevoked(keyId: string, revokedAt: number | undefined): Promise<boolean>;
  /** The merchant that owns the key with this hash, unless the key is revoked. */
  findMerchantByKey(hash: Uint8Array): Promise<{ merchant: Merchant; hash: Uint8Array } | undefined>;
  findMerchant(id: string): Promise<Merchant | undefined>;
  readSecrets(merchantId: string): Promise<WebhookSecrets>;
  /**
   * Makes `secret` the current one. The secret before it signs for another `keepMs`; earlier ones keep their own expiry.
   * At most `maxPrevious` previous secrets are kept, the newest ones (D12).
   */
  rotateSecret(merchantId: string, secret: string, keepMs: number, maxPrevious: number): Promise<WebhookSecrets>;
}

// ---- records ------------------------------------------------------------------------------------------------------

/** Whether this call stored the record. If not, `record` is the existing one with the same merchant's reference (D4). */
export interface Insertion<T> {
  inserted: boolean;
  record: T;
}

/** Which records to list, newest first. */
export interface RecordQuery<Status extends string = string> {
  merchantId: string;
  merchantsReference?: string;
  status?: Status;
  /** Created at or after this time. */
  createdAfter?: number;
  /** Created before this time. */
  createdBefore?: number;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
}

/** As `RecordQuery`, as a caller asks for it. */
export type RecordFilter<Status extends string> = Partial<Omit<RecordQuery<Status>, "merchantId">>;

/** Items on a page if the caller sets no limit. */
export const DEFAULT_LIMIT = 20;

export interface DisbursementStore {
  /**
   * Stores a disbursement. The customer's id is used if the merchant has no customer with this phone number yet. A record
   * that is final from the start writes its event in the same transaction.
   */
  insertDisbursement(draft: Draft<Disbursement>): Promise<Insertion<Disbursement>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  findDisbursementByMerchantsReference(merchantId: string, ref: string): Promise<Disbursement | undefined>;
  /** Newest first. @throws InvalidCursorError when the cursor is none that this list returned to this merchant */
  listDisbursements(query: RecordQuery<Disbursement["status"]>): Promise<Page<Disbursement>>;
  /** Counts one more attempt with a reference that the sandbox refuses at first (D17, 503). Returns the new count. */
  countRefusal(merchantId: string, merchantsReference: string): Promise<number>;
}

export interface CheckoutStore {
  insertCheckout(draft: Draft<Checkout>): Promise<Insertion<Checkout>>;
  findCheckout(merchantId: string, reference: string): Promise<Checkout | undefined>;
  /** As `listDisbursements`. */
  listCheckouts(query: RecordQuery<Checkout["status"]>): Promise<Page<Checkout>>;
  /** By the service's reference alone, which is the key to the public page (D19). */
  findPublicCheckout(reference: string): Promise<{ checkout: Checkout; merchant: Merchant } | undefined>;
  /** Sets the payer and what is due, once. False if the checkout is final or has a payer already. */
  payCheckout(reference: string, customer: Customer, due: DueAfter | undefined): Promise<boolean>;
  /** Gives a pending checkout its final status and writes the event. False if it was final already. */
  finishCheckout(reference: string, status: FinalStatus): Promise<boolean>;
  /** Cancels a checkout without a payer and writes the event. False if it has a payer or is final. */
  cancelCheckout(reference: string): Promise<boolean>;
}

// ---- time ---------------------------------------------------------------------------------------------------------

export interface ClockStore {
  /** Gives records that are due their final status, each with its event. At most `limit`; returns how many. */
  settleDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Moves a merchant's clock forward by `by` milliseconds, or up to the sandbox time `to`; a `to` in the past moves
   * nothing. Concurrent moves add up. Undefined if the move would lead beyond `latest`.
   */
  moveClock(merchantId: string, move: ClockMove, latest: number): Promise<Merchant | undefined>;
  /** Whether a record or delivery of the merchant, claimed ones included, is due at or before this sandbox time. */
  hasDue(merchantId: string, until: number): Promise<boolean>;
  /**
   * Forgets the merchant's records, events and refusal counts, and puts its clock back to real time. Previous webhook
   * secrets end: on the clock put back, an expired one would be valid again. The rows go later, in `prune`.
   */
  reset(merchantId: string): Promise<void>;
}

export type ClockMove = { by: number } | { to: number };

export interface Housekeeping {
  /** Deletes at most about `limit` rows that a reset left behind. Returns how many. */
  prune(limit: number): Promise<number>;
}

// ---- events and their delivery ------------------------------------------------------------------------------------

/** The deliveries of one merchant to one receiver. */
export interface Lane {
  merchantId: string;
  /** Host and port of the receiver; never empty. */
  host: string;
}

/** How many ready deliveries of a lane to claim. */
export interface LaneClaim extends Lane {
  count: number;
}

/**
 * A delivery that its claimant, and nobody else, may attempt until the lease ends. `token` is different for each claim of
 * a delivery: the storage uses it to recognise a claimant whose lease has lapsed.
 */
export interface ClaimedDelivery {
  event: Event;
  url: string;
  token: number;
  step: number;
  /** When the attempt fell due; absent for a replay, which is not part of the schedule. */
  dueAt?: number;
  merchant: Merchant;
  secrets: WebhookSecrets;
}

/** What identifies a claim. */
export type Claim = Pick<ClaimedDelivery, "event" | "token">;

/** What follows from an attempt. */
export interface NextStep {
  status: DeliveryStatus;
  step: number;
  /** Only while `status` is pending. */
  nextAttemptAt?: number;
}

/**
 * The deliveries to make. One waits for its time, then it is ready, then claimed. Waiting deliveries cost a look nothing,
 * however many there are. The caller decides which ready ones to claim.
 */
export interface DeliveryQueue {
  /** Makes deliveries ready whose time has come or whose lease has lapsed. At most `limit`; returns how many. */
  promoteDue(limit: number, merchantId?: string): Promise<number>;
  /** Lanes that have ready deliveries, ordered by merchant and host, starting behind `after`; at most `limit`. */
  readyLanes(query: { after?: Lane; limit: number; merchantId?: string }): Promise<Lane[]>;
  /** Claims ready deliveries, in each lane those that fell due first. */
  claimDeliveries(lanes: readonly LaneClaim[], leaseMs: number): Promise<ClaimedDelivery[]>;
  /** Claims one delivery whatever its status. "claimed" if an attempt is in progress; undefined if it is unknown. */
  claimDelivery(merchantId: string, id: string, leaseMs: number): Promise<ClaimedDelivery | "claimed" | undefined>;
  /** Extends the leases of claims that still count, while their attempts are in progress. */
  renewClaims(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /**
   * Logs an attempt, releases the claim and schedules what follows. If the lease has lapsed and the delivery was claimed
   * again, the attempt is logged and nothing else changes. Numbers the attempts from 1; keeps the last 100 of a delivery.
   * @returns whether the claim still counted
   */
  recordAttempt(claim: Claim, attempt: Omit<Attempt, "number">, next: NextStep): Promise<boolean>;
}

export interface PageQuery {
  merchantId: string;
  /** Of this record only. */
  reference?: string;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
  /** `older` (the default) lists newest first; `newer` lists oldest first and can be followed as events are written. */
  direction?: "older" | "newer";
}

export interface Page<T> {
  items: T[];
  /**
   * Continues behind the last item. In direction `older` absent on the last page; in direction `newer` present whenever
   * there is a position to continue from, so that a follower can ask again later.
   */
  cursor?: string;
}

export interface EventLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** @throws InvalidCursorError when the cursor is none that this list returned to this merchant */
  listEvents(query: PageQuery): Promise<Page<Event>>;
  /** Events with an address. @throws InvalidCursorError as `listEvents` */
  listDeliveries(query: PageQuery & { status?: DeliveryStatus }): Promise<Page<Delivery>>;
}
