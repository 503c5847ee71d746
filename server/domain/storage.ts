import type { Actor, AuditEntry, NewEntry } from "./audit.ts";
import type { Chaos } from "./chaos.ts";
import type { DashboardLink, DashboardSession, EndedSessions, NewSession, Team } from "./dashboard.ts";
import type { NewReplay, Replay } from "./replays.ts";
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
  EventType,
  FinalStatus,
  Listener,
  LoggedRequest,
  Merchant,
  WebhookSecrets,
} from "./types.ts";

/**
 * The storage that the domain needs. Each method takes effect in one transaction and is durable when its promise
 * resolves. A storage is opened with a clock and reads the time itself, inside the transaction, so that a merchant's
 * time never goes backwards.
 */
export interface Storage
  extends
    MerchantStore,
    DisbursementStore,
    CheckoutStore,
    ClockStore,
    DeliveryQueue,
    ListenerStore,
    EventLog,
    ReplayStore,
    AuditLog,
    DashboardStore,
    RequestLog,
    Housekeeping {
  /** Counts what waits to be done, of all merchants. It takes about 15 ms at most, however long the queues are. */
  readBacklog(): Promise<Backlog>;
  /** Resolves if the storage can commit. Otherwise rejects with the reason. */
  ping(): Promise<void>;
  /** Finishes the transactions in progress, then closes the storage. */
  close(): Promise<void>;
}

/** The counts end at this number, so that a long queue takes no longer to count. */
export const MOST_COUNTED = 10_000;
/** The oldest due delivery is looked for among those of this many receivers. */
export const MOST_LANES = 1_000;

/** What waits to be done. May include what resets have deleted and no worker has removed yet. Times are real time. */
export interface Backlog {
  /** Deliveries that are due. */
  dueDeliveries: number;
  /** Deliveries that are being attempted or wait for their next attempt. */
  waitingDeliveries: number;
  /** When the delivery that has been due for longest fell due; absent if none is. */
  oldestDeliveryDueAt?: number;
  /** Payouts and checkouts whose final status is due. */
  dueSettlements: number;
  /** When the record that has been due for longest fell due; absent if none is. */
  oldestSettlementDueAt?: number;
}

// ---- merchants and keys -------------------------------------------------------------------------------------------

/** A method with an `actor` records the action in the audit trail, in the same transaction (D41). */
export interface MerchantStore {
  /** Runs `work` while no other process is in this method, so that two first starts create one merchant. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  insertMerchant(
    merchant: Pick<Merchant, "id" | "name" | "createdAt">,
    webhookSecret: string,
    actor: Actor,
  ): Promise<void>;
  /** Oldest first. */
  listMerchants(): Promise<Merchant[]>;
  /**
   * Stores a key. Resolves with false, and stores nothing, if the merchant has `MOST_KEYS` keys that are not revoked.
   */
  insertKey(key: ApiKey, actor: Actor): Promise<boolean>;
  /** Lists the keys of all merchants, oldest first. */
  listKeys(): Promise<ApiKey[]>;
  /** Lists a merchant's keys: first those that are not revoked, newest first, then the `MOST_KEYS` that were revoked last. */
  listKeysOf(merchantId: string): Promise<ApiKey[]>;
  /** Records the last use of keys, unless a later one is recorded. A power failure may undo it. */
  recordKeyUses(uses: readonly KeyUse[]): Promise<void>;
  /** The key with this hash, revoked or not. */
  findKey(hash: Uint8Array): Promise<ApiKey | undefined>;
  /** Revokes a key for good, and ends the listener that uses it. A key that is revoked already keeps its time. Resolves with false if there is no such key. */
  revokeKey(keyId: string, revokedAt: number, actor: Actor): Promise<boolean>;
  /** The owner of the key with this hash. Undefined if the key is unknown or revoked. */
  findMerchantByKey(hash: Uint8Array): Promise<KeyOwner | undefined>;
  findMerchant(id: string): Promise<Merchant | undefined>;
  /**
   * Takes a request from a merchant's bucket, which all processes share: it holds `perSecond` requests and fills up at
   * that rate in real time. Resolves with false, and takes nothing, if it is empty. May be forgotten when a process ends.
   */
  takeRequest(merchantId: string, perSecond: number): Promise<boolean>;
  readSecrets(merchantId: string): Promise<WebhookSecrets>;
  /** Reads the secrets to show them to a person. */
  revealSecrets(merchantId: string, actor: Actor): Promise<WebhookSecrets>;
  /**
   * Makes `secret` the current secret. The one that it replaces signs for another `keepMs` milliseconds; the expiry of
   * earlier ones does not change. Only the newest `maxPrevious` previous secrets remain (D12).
   */
  rotateSecret(merchantId: string, secret: string, rotation: Rotation): Promise<WebhookSecrets>;
  /**
   * Sets the address for events whose request gave none (D40), or removes it. Events that exist keep their destination.
   */
  setDefaultWebhook(merchantId: string, url: string | undefined, actor: Actor): Promise<void>;
  /** Sets what the chaos switch of the merchant's sandbox does, or with undefined switches it off (D67). */
  setChaos(merchantId: string, chaos: Chaos | undefined, actor: Actor): Promise<void>;
}

/** The most keys of a merchant that are not revoked. */
export const MOST_KEYS = 100;

/** A request had this key at `usedAt`, in real time. */
export interface KeyUse {
  merchantId: string;
  keyId: string;
  usedAt: number;
}

/** The owner of a key, and the stored parts of the key. */
export interface KeyOwner {
  merchant: Merchant;
  keyId: string;
  hash: Uint8Array;
}

export interface Rotation {
  keepMs: number;
  maxPrevious: number;
  actor: Actor;
}

// ---- records ------------------------------------------------------------------------------------------------------

/**
 * The result of an insert. `inserted` is false if the merchant's reference was already in use (D4). In that case
 * `record` is the existing record with that reference.
 */
export interface Insertion<T> {
  inserted: boolean;
  record: T;
}

/** Which records to list, newest first. */
export interface RecordQuery<Status extends string = string> {
  merchantId: string;
  merchantsReference?: string;
  /** The recipient's or payer's number. Ignored if `merchantsReference` is set. */
  phoneNumber?: string;
  status?: Status;
  /** Created at or after this time. */
  createdAfter?: number;
  /** Created before this time. */
  createdBefore?: number;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
}

/** The parts of a `RecordQuery` that a caller may set. */
export type RecordFilter<Status extends string> = Partial<Omit<RecordQuery<Status>, "merchantId">>;

/** Items on a page if the caller sets no limit. */
export const DEFAULT_LIMIT = 20;

/** Returns a caller's filter as a query. Copies the named fields only, so that nothing else reaches the storage. */
export function recordQuery<Status extends string>(
  merchantId: string,
  filter: RecordFilter<Status>,
): RecordQuery<Status> {
  const { merchantsReference, phoneNumber, status, createdAfter, createdBefore } = filter;
  const { limit = DEFAULT_LIMIT, cursor } = filter;
  return { merchantId, merchantsReference, phoneNumber, status, createdAfter, createdBefore, limit, cursor };
}

export interface DisbursementStore {
  /**
   * Stores a disbursement. The draft's customer id is used only if the merchant has no customer with this phone number
   * yet. If the record is final from the start, its event is written in the same transaction.
   */
  insertDisbursement(draft: Draft<Disbursement>): Promise<Insertion<Disbursement>>;
  findDisbursement(merchantId: string, reference: string): Promise<Disbursement | undefined>;
  findDisbursementByMerchantsReference(merchantId: string, ref: string): Promise<Disbursement | undefined>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listDisbursements(query: RecordQuery<Disbursement["status"]>): Promise<Page<Disbursement>>;
  /** Counts one more attempt with a reference that the sandbox refuses at first (D17, 503). Returns the new count. */
  countRefusal(merchantId: string, merchantsReference: string): Promise<number>;
}

export interface CheckoutStore {
  insertCheckout(draft: Draft<Checkout>): Promise<Insertion<Checkout>>;
  findCheckout(merchantId: string, reference: string): Promise<Checkout | undefined>;
  /** Lists checkouts as `listDisbursements` lists disbursements. */
  listCheckouts(query: RecordQuery<Checkout["status"]>): Promise<Page<Checkout>>;
  /** Finds a checkout by the service's reference alone, which gives access to the public page (D19). */
  findPublicCheckout(reference: string): Promise<{ checkout: Checkout; merchant: Merchant } | undefined>;
  /**
   * Sets the payer and replaces the due status. Resolves with false if the checkout is final or already has a payer.
   */
  payCheckout(reference: string, customer: Customer, due: DueAfter | undefined): Promise<boolean>;
  /** Gives a pending checkout its final status and writes the event. Resolves with false if it was already final. */
  finishCheckout(reference: string, status: FinalStatus): Promise<boolean>;
  /** Cancels a checkout without a payer and writes the event. Resolves with false if it has a payer or is final. */
  cancelCheckout(reference: string): Promise<boolean>;
}

// ---- time ---------------------------------------------------------------------------------------------------------

export interface ClockStore {
  /**
   * Gives at most `limit` due records their final status and writes their events. Resolves with the number of records.
   */
  settleDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Moves a merchant's clock forward by `by` milliseconds, or up to the sandbox time `to`; a `to` in the past moves
   * nothing. Concurrent moves by `by` add up. Resolves with undefined, and moves nothing, if the move would lead further
   * ahead of real time than `mostAheadMs`.
   * @param actor who moves it, for the audit trail; nothing is recorded without one
   */
  moveClock(merchantId: string, move: ClockMove, mostAheadMs: number, actor?: Actor): Promise<Merchant | undefined>;
  /**
   * True if a record or delivery of the merchant is due at or before this sandbox time. Includes claimed deliveries, but
   * those to a listener only while it searches for some.
   */
  hasDue(merchantId: string, until: number): Promise<boolean>;
  /** Lists the first `limit` records and deliveries of the merchant that are due at or before this sandbox time. */
  listUpcoming(merchantId: string, until: number, limit: number): Promise<Upcoming>;
  /**
   * Deletes the merchant's records, events and refusal counts, resets its clock to real time, switches chaos off and stops
   * a running replay. Also deletes previous webhook secrets, because an expired one would become valid again on the reset
   * clock. The rows of records and events become invisible immediately; `prune` removes them later.
   * @param actor as for `moveClock`
   */
  reset(merchantId: string, actor?: Actor): Promise<void>;
}

export type ClockMove = { by: number } | { to: number };

/** What will happen to a merchant's records and deliveries, the earliest first. */
export interface Upcoming {
  items: UpcomingItem[];
  /** How many there are; `MOST_COUNTED` if there are more. */
  total: number;
}

/** Something that falls due. `at` is in the merchant's sandbox time; `reference` is the service's. */
export type UpcomingItem = { at: number; reference: string } & (
  | { kind: "disbursement" | "checkout"; merchantsReference: string; status: FinalStatus }
  | { kind: "delivery"; id: string; type: EventType; step: number }
);

export interface Housekeeping {
  /**
   * Deletes up to about `limit` rows that resets left behind or that are too old for the log of requests. Resolves with
   * the number of deleted rows.
   */
  prune(limit: number): Promise<number>;
  /**
   * Looks at the next `limit` events of a merchant, and deletes those that nothing needs any more, with their attempts:
   * created before `before` and either delivered, with no attempt since then, or without an address. Keeps records, and
   * events whose delivery is pending, has failed or is being attempted.
   */
  pruneEvents(query: PruneQuery): Promise<Pruned>;
}

export interface PruneQuery {
  merchantId: string;
  /** Real time. */
  before: number;
  /** Where the previous step ended; 0 at first. */
  after: number;
  limit: number;
  /** True to count only. */
  dryRun: boolean;
}

/** What a step has deleted, or would delete. */
export interface Pruned {
  events: number;
  attempts: number;
  /** The size of the events' bodies. */
  bytes: number;
  /** Where the next step begins; absent if there is none. */
  next?: number;
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
 * A delivery that only its claimant may attempt until the lease ends. Each claim of a delivery has a different
 * fencing token, by which the storage recognises a claimant that has lost its claim.
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

/** The parts of a claimed delivery that identify the claim. */
export type Claim = Pick<ClaimedDelivery, "event" | "token">;

/** The state of a delivery after an attempt. */
export interface NextStep {
  status: DeliveryStatus;
  step: number;
  /** Set only if `status` is pending. */
  nextAttemptAt?: number;
}

/**
 * The queue of deliveries. A delivery waits until it is due, then becomes ready, and is then claimed for an attempt.
 * The cost of finding due deliveries does not depend on how many are waiting. The caller decides which ready ones to
 * claim.
 */
export interface DeliveryQueue {
  /** Makes at most `limit` deliveries ready that are due or whose lease has lapsed. Resolves with their number. */
  promoteDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Lists at most `limit` lanes with ready deliveries, ordered by merchant and host, starting after the lane `after`.
   */
  readyLanes(query: { after?: Lane; limit: number; merchantId?: string }): Promise<Lane[]>;
  /**
   * Makes at most `limit` deliveries of a lane ready that wait for a retry, if at least `least` wait. The early attempt of
   * a delivery does not count among those of the schedule. Resolves with their number.
   */
  advanceRetries(lane: Lane, query: { least: number; limit: number }): Promise<number>;
  /** Claims ready deliveries. Within a lane, those that fell due first are claimed first. */
  claimDeliveries(lanes: readonly LaneClaim[], leaseMs: number): Promise<ClaimedDelivery[]>;
  /**
   * Claims one delivery, in any status, for a replay by `actor`. Resolves with "claimed" if an attempt is in progress,
   * and with undefined if the merchant has no such delivery. A delivery to a listener is made ready instead, as by
   * `requestReplay`, and the result is "requested".
   */
  claimDelivery(
    merchantId: string,
    id: string,
    leaseMs: number,
    actor: Actor,
  ): Promise<ClaimedDelivery | "claimed" | "requested" | undefined>;
  /**
   * Makes a delivery, in any status, ready again as if its event had just been written, so that a server delivers it.
   * Resolves with "claimed", and changes nothing, if an attempt is in progress.
   */
  requestReplay(merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown">;
  /**
   * Extends the leases of claims whose attempts are in progress; a lease of 0 ends the claims, and the deliveries are
   * due immediately. Ignores claims that are no longer valid.
   */
  renewClaims(claims: readonly Claim[], leaseMs: number): Promise<void>;
  /**
   * Logs an attempt, releases the claim and schedules the next attempt. If the lease lapsed and the delivery has become
   * ready or been claimed again since, the attempt is only logged. After a reset nothing is recorded, and neither is a
   * second attempt with the same claim. Attempts are numbered from 1; only the last 100 of a delivery are stored.
   * @returns true if the claim was still valid
   */
  recordAttempt(claim: Claim, attempt: Omit<Attempt, "number">, next: NextStep): Promise<boolean>;
}

/** Without a request for this long, a listener is no longer connected (D69). */
export const LISTENER_CONNECTED_MS = 3_600_000;
/** A listener has searched for deliveries at most this long ago if it makes attempts now. */
export const LISTENER_ATTENDS_MS = 15_000;

/** A search of a listener for deliveries. A later search or session ends it. */
export interface ListenerSearch {
  session: string;
  poll: number;
}

/** The merchants' listeners (D69), at most one for each. */
export interface ListenerStore {
  /**
   * Makes this the merchant's listener. Ends the claims of the previous one, and everything that waited for that one goes
   * to the new one. Resolves with the name of the previous one if it searched for deliveries a moment ago.
   */
  connectListener(merchantId: string, listener: Listener): Promise<string | undefined>;
  /**
   * Begins a search for deliveries. Renews the claims that the listener holds, and ends its others.
   * @param keyId the API key of the search, whose revocation ends the listener from now on
   * @throws ServiceError `unauthorized` if the key is revoked, as `connectListener` does
   * @returns the number of the search, or undefined if the session has ended
   */
  beginSearch(
    merchantId: string,
    session: string,
    holding: readonly { id: string; token: number }[],
    leaseMs: number,
    keyId?: string,
  ): Promise<number | undefined>;
  /**
   * Claims ready deliveries for the listener, those first that fell due first. Resolves with "replaced" if the session has
   * ended, and with "superseded" if there is a later search.
   */
  claimForListener(
    merchantId: string,
    search: ListenerSearch,
    count: number,
    leaseMs: number,
  ): Promise<ClaimedDelivery[] | "replaced" | "superseded">;
  /** Ends a session and its claims. Resolves with false if it had ended before. */
  disconnectListener(merchantId: string, session: string): Promise<boolean>;
}

export interface PageQuery {
  merchantId: string;
  /** The service's reference of a record. If set, only the entries of that record are listed. */
  reference?: string;
  /** If set, only the entries of events created at or after this time are listed. */
  createdAfter?: number;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
  /** `older` (the default) lists newest first; `newer` lists oldest first and can be followed as events are written. */
  direction?: "older" | "newer";
}

export interface Page<T> {
  items: T[];
  /**
   * The cursor of the next page. In direction `older` it is absent on the last page. In direction `newer` it is absent
   * only while the list is empty, so that a caller can poll for later entries.
   */
  cursor?: string;
  /**
   * Set if the page ended because many entries were looked at and few found: when the last one looked at was created.
   * Such a page has fewer items than its limit, or none, and a cursor.
   */
  searchedTo?: number;
}

export interface EventLog {
  findDelivery(merchantId: string, id: string): Promise<Delivery | undefined>;
  /** @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listEvents(query: PageQuery): Promise<Page<Event>>;
  /** Lists the events that have an address. @throws InvalidCursorError as for `listEvents` */
  listDeliveries(query: PageQuery & DeliverySearch): Promise<Page<Delivery>>;
}

/** A status of a delivery; `failed` stands for both statuses in which the server has given up (`ended`, `exhausted`). */
export type DeliveryFilter = DeliveryStatus | "failed";

/** Which deliveries of a merchant to find: those that meet all conditions. */
export interface DeliverySearch {
  status?: DeliveryFilter;
  type?: EventType;
  /** Host and port of the receiver. */
  host?: string;
  /** The service's reference of a record. */
  reference?: string;
  /** Of events created at or after this time. */
  createdAfter?: number;
  /** Of events created before this time. */
  createdBefore?: number;
}

// ---- replays by filter --------------------------------------------------------------------------------------------

/** Replays in progress are jobs, which the storage keeps: a process that ends loses nothing of them (D64). */
export interface ReplayStore {
  /** Counts the deliveries that a replay of this filter would make ready. It looks at a bounded number of them. */
  countDeliveries(merchantId: string, filter: DeliverySearch): Promise<DeliveryCount>;
  /**
   * Stores a replay of the deliveries that exist now. Resolves with undefined, and stores nothing, if another replay of
   * the merchant is running.
   */
  startReplay(replay: NewReplay, actor: Actor): Promise<Replay | undefined>;
  /** Stops a replay for good. Resolves with false if the merchant has no such replay or it is not running. */
  stopReplay(merchantId: string, id: string, actor: Actor): Promise<boolean>;
  findReplay(merchantId: string, id: string): Promise<Replay | undefined>;
  /** Lists the newest first. */
  listReplays(merchantId: string, limit: number): Promise<Replay[]>;
  /**
   * Makes the next few deliveries of a replay ready whose next step is due, as `requestReplay` does, also those that wait
   * for a retry, except for those that are ready already or being attempted. They and the progress of the replay are one transaction. Each delivery is
   * visited once, whichever processes call this.
   * @returns the number of deliveries made ready; undefined if no step is due
   */
  advanceReplay(): Promise<number | undefined>;
}

export interface DeliveryCount {
  count: number;
  /** False if there may be more. */
  isExact: boolean;
  /** The receivers of those counted, the one with the most first. */
  hosts: { host: string; count: number }[];
}

// ---- audit trail --------------------------------------------------------------------------------------------------

export interface AuditQuery {
  /** If set, only the entries of this merchant are listed. */
  merchantId?: string;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
}

export interface AuditLog {
  /** Lists the newest first. @throws InvalidCursorError if the list with this `merchantId` never returned the cursor */
  listAudit(query: AuditQuery): Promise<Page<AuditEntry>>;
  /** Records an action that changes nothing in the storage, such as an export. */
  recordAction(entry: NewEntry): Promise<void>;
}

// ---- sign-in to the dashboard -------------------------------------------------------------------------------------

/** Links and sessions are found by the SHA-256 of their tokens, which are stored nowhere. All times are real time. */
export interface DashboardStore {
  /**
   * Stores a link. Also deletes the links and sessions that have expired.
   * @throws ServiceError `unauthorized` if the actor's session has ended; `invalid_value` if the actor has a session and
   *   somebody else already has access under the link's name
   */
  insertLink(link: DashboardLink, actor: Actor): Promise<void>;
  /**
   * Uses up a link and begins a session with the link's merchant and name. Resolves with undefined, and writes nothing,
   * if the link is unknown, was used or has expired.
   */
  signIn(linkHash: Uint8Array, session: NewSession): Promise<DashboardSession | undefined>;
  /**
   * The session with this hash, unless it has expired or was not used for `idleMs`. Records the use, at most once a
   * minute.
   */
  useSession(hash: Uint8Array, idleMs: number): Promise<DashboardSession | undefined>;
  /** Finds a session as `useSession` does, without recording a use. */
  findSession(hash: Uint8Array, idleMs: number): Promise<DashboardSession | undefined>;
  /** Lists who can see the dashboard, by merchant; operators come first. */
  listTeam(query: TeamQuery): Promise<Team>;
  /** Ends one session, or all sessions and unused links of a person. Resolves with the number of those that it ended. */
  endSessions(which: EndedSessions, actor: Actor): Promise<number>;
}

export interface TeamQuery {
  /** If set, only the people of this merchant are listed; otherwise those of all merchants, and operators. */
  merchantId?: string;
  /** Sessions that were not used for so long have ended. */
  idleMs: number;
  /** The most sessions, and the most links. */
  limit: number;
}

// ---- log of requests ----------------------------------------------------------------------------------------------

/** What the log has of each merchant: the newest requests that succeeded, as many others, and only those of the last day. */
export const REQUESTS_KEPT = { newest: 1_000, forMs: 86_400_000 } as const;
/** The statuses from here on, and none, are those of requests that did not succeed. */
export const FIRST_FAILED_STATUS = 400;

export interface RequestQuery {
  merchantId: string;
  /** The first digit of the status; 0 for requests without a response. */
  statusClass?: number;
  operation?: string;
  /** The service's reference or the merchant's. */
  reference?: string;
  requestId?: string;
  limit: number;
  /** A cursor from an earlier page. */
  cursor?: string;
}

/** The requests of each merchant, for its people. A reset keeps them. */
export interface RequestLog {
  /**
   * Adds requests, in a transaction that no payment shares, and deletes older ones beyond those that are kept. A power
   * failure can undo it.
   */
  insertRequests(requests: readonly LoggedRequest[]): Promise<void>;
  /** Lists the newest first. @throws InvalidCursorError if this list never returned the cursor to this merchant */
  listRequests(query: RequestQuery): Promise<Page<LoggedRequest>>;
}
