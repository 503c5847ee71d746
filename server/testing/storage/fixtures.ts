import type { Storage } from "../../domain/storage.ts";
import type { ApiKey } from "../../domain/keys.ts";
import type { Attempt, DeliveryStatus } from "../../domain/deliveries.ts";
import type { Checkout, Customer, Disbursement, Draft } from "../../domain/records.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Page } from "../../domain/pages.ts";
import type { LoggedRequest } from "../../domain/request-log.ts";
import { customerOf } from "../../storage/rows.ts";
import type { FakeClock } from "../clock.ts";
import { LATEST, MINUTE, SECOND, START } from "../times.ts";

/** The merchants that every test begins with. */
export const [ADA, KOFI]: readonly [string, string] = ["ada", "kofi"];
/** Who acts in the tests. */
export const ACTOR = "command ada@host";
/** An attempt to deliver a webhook, without a response. */
export const ATTEMPT = { at: START, sentAt: START, latencyMs: 1 };

type Payout = Partial<Draft<Disbursement>>;
const PENDING = { country: "CI", currency: "XOF", status: "pending" } as const;

let made = 0;
/** A UUID that is unique in this run and sorts after all earlier UUIDs. */
export function nextId(): string {
  made += 1;
  return `019aa0c5-0000-7000-8000-${String(made).padStart(12, "0")}`;
}

/** Lets the next fixtures have the ids of the first. */
export const repeatIds = (): void => void (made = 0);

const CUSTOMERS = "secret of the customers";

/** The customer with this number of a merchant that was made at the start, and whose sandbox was never reset. */
export const aCustomer = (merchantId: string, phoneNumber: string): Customer =>
  customerOf({ id: merchantId, createdAt: START, customerSecret: CUSTOMERS }, phoneNumber);

export async function addMerchant(storage: Storage, changes: Partial<Merchant> = {}): Promise<Merchant> {
  const merchant = { id: nextId(), name: "Ada Stores", createdAt: START, ...changes };
  await storage.insertMerchant(merchant, { webhook: `whsec_${"A".repeat(43)}=`, customers: CUSTOMERS }, ACTOR);
  return { ...merchant, clockOffset: 0 };
}

export function aKey(merchantId: string, changes: Partial<ApiKey> = {}): ApiKey {
  const id = nextId();
  const hash = made.toString(16).padStart(64, "0");
  return { id, merchantId, hash, hint: "wxyz", createdAt: START, ...changes };
}

/** Stores a key that ACTOR makes. */
export async function addKey(storage: Storage, merchantId: string, changes: Partial<ApiKey> = {}): Promise<ApiKey> {
  const key = aKey(merchantId, changes);
  await storage.insertKey(key, ACTOR);
  return key;
}

/** A pending disbursement that settles as success after two seconds. */
export function aDisbursement(merchantId: string, changes: Payout = {}): Draft<Disbursement> {
  const id = nextId();
  return {
    id,
    merchantId,
    reference: `DSB${made}`,
    merchantsReference: `payout-${made}`,
    customer: { phoneNumber: "2257038102473" },
    amount: 10_000,
    fee: 100,
    ...PENDING,
    due: { afterMs: 2 * SECOND, status: "success" },
    ...changes,
  };
}

/** A disbursement that is final from the start. */
export function aFinalDisbursement(merchantId: string, changes: Payout = {}) {
  const { due: _, ...draft } = aDisbursement(merchantId, { status: "success", ...changes });
  return draft;
}

/** A payout that waits for a rail, which decides how it ends. */
export function pendingOn(rail: string, merchantId: string, changes: Payout = {}) {
  const { due: _, ...draft } = aDisbursement(merchantId, { webhookURL: "https://merchant.example/hook", ...changes });
  return { ...draft, rail };
}

/** A pending checkout that expires after half an hour. */
export function aCheckout(merchantId: string, changes: Partial<Draft<Checkout>> = {}): Draft<Checkout> {
  const id = nextId();
  return {
    id,
    merchantId,
    reference: `CHK${made}`,
    merchantsReference: `order-${made}`,
    amount: 2_500_000,
    fee: 120_000,
    locale: "en",
    ...PENDING,
    due: { afterMs: 30 * MINUTE, status: "cancelled" },
    ...changes,
  };
}

/** An entry of the log of requests. */
export function aRequest(merchantId: string, changes: Partial<LoggedRequest> = {}): LoggedRequest {
  made += 1;
  const request = { operation: "verifyDisbursement", method: "GET", path: "/v1/disbursements/DSB1", status: 200 };
  return { requestId: `req_${made}`, merchantId, at: START, number: made, ...request, durationMs: 1.5, ...changes };
}

/** The record that results from a draft when it is stored at this sandbox time. */
export function storedAt<T extends Disbursement | Checkout>(draft: Draft<T>, at = START): T {
  const { due, ...rest } = draft;
  const { customer } = draft as Partial<Draft<Disbursement>>;
  const whole = customer && { customer: aCustomer(draft.merchantId, customer.phoneNumber) };
  const record = { ...rest, ...whole, createdAt: at, updatedAt: at };
  return (due ? { ...record, due: { at: at + due.afterMs, status: due.status } } : record) as unknown as T;
}

/** A disbursement that has succeeded from the start, with a webhook that is due immediately. */
export async function addDelivery(storage: Storage, merchantId: string, changes: Payout = {}) {
  const draft = aFinalDisbursement(merchantId, { webhookURL: "https://merchant.example/hook", ...changes });
  await storage.insertDisbursement(draft);
  return { id: `msg_${draft.id.replaceAll("-", "")}`, reference: draft.reference };
}

/** A delivery with this status after one attempt. If pending, its next attempt is long after the test. */
export async function attempted(storage: Storage, merchantId: string, status: DeliveryStatus, changes: Payout = {}) {
  const delivery = await addDelivery(storage, merchantId, changes);
  const claimed = (await claimAll(storage, { merchantId })).find(({ id }) => id === delivery.id);
  const next = { status, step: 1, ...(status === "pending" && { nextAttemptAt: LATEST }) };
  await storage.recordAttempt(claimed!, ATTEMPT, next);
  return delivery;
}

/** Starts `count` promises concurrently. */
export const concurrently = <T>(count: number, begin: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => begin(index)));

/** Claims every ready delivery. */
export async function claimAll(
  storage: Storage,
  { merchantId, leaseMs = MINUTE, count = 100 }: { merchantId?: string; leaseMs?: number; count?: number } = {},
) {
  await storage.promoteDue(1_000);
  const ready = await storage.readyLanes({ limit: 100 });
  const lanes = ready.filter((lane) => merchantId === undefined || lane.merchantId === merchantId);
  const counted = lanes.map((lane) => ({ ...lane, count }));
  return storage.claimDeliveries(counted, leaseMs);
}

/** Reads a list to its end, and returns its pages. @param meanwhile runs after the first page */
export async function pagesOf<T>(
  list: (of: { cursor?: string }) => Promise<Page<T>>,
  meanwhile?: () => Promise<unknown>,
): Promise<T[][]> {
  const pages: T[][] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page: Page<T> = await list(cursor === "" ? {} : { cursor });
    if (pages.push(page.items) === 1) await meanwhile?.();
    ({ cursor } = page);
  }
  return pages;
}

/** What the storage has reported: a `TelemetryEvent` and its name. */
export type Report = { name: string } & object;

interface Opened {
  storage: Storage;
  clock: FakeClock;
  reported: Report[];
}
/** The storage and the clock of the current test, and what tests do with them. */
export type Current = ReturnType<typeof createCurrent>;

/** @param opened returns what belongs to the current test */
export function createCurrent(opened: () => Opened) {
  const storage = new Proxy({} as Storage, { get: (_, name) => Reflect.get(opened().storage, name) as unknown });
  const within =
    <Given extends unknown[], T>(act: (storage: Storage, ...given: Given) => T) =>
    (...given: Given) =>
      act(storage, ...given);
  return {
    storage,
    clock: () => opened().clock,
    now: () => opened().clock.now(),
    /** Lets time pass. */
    pass: (milliseconds: number) => opened().clock.advance(milliseconds),
    /** What the storage has reported so far, of one kind. */
    reported: (name: string) => opened().reported.filter((each) => each.name === name),

    merchant: within(addMerchant),
    key: within(addKey),
    payout: async (...how: Parameters<typeof aDisbursement>) =>
      (await storage.insertDisbursement(aDisbursement(...how))).record,
    finalPayout: async (...how: Parameters<typeof aFinalDisbursement>) =>
      (await storage.insertDisbursement(aFinalDisbursement(...how))).record,
    checkout: async (...how: Parameters<typeof aCheckout>) => (await storage.insertCheckout(aCheckout(...how))).record,
    delivery: within(addDelivery),
    attempted: within(attempted),
    claims: within(claimAll),
    /** Reports an attempt. */
    report: async (
      claim: Parameters<Storage["recordAttempt"]>[0],
      next: Parameters<Storage["recordAttempt"]>[2],
      attempt: Partial<Omit<Attempt, "number">> = {},
    ) => (await storage.recordAttempt(claim, { ...ATTEMPT, ...attempt }, next)).isValid,
    /** Gives every record that is due its final status. */
    async settleAll() {
      while ((await storage.settleDue(100)) > 0);
    },
    /** The merchant's newest events. */
    events: async (merchantId: string, reference?: string) =>
      (await storage.listEvents({ merchantId, limit: 100, ...(reference !== undefined && { reference }) })).items,
    /** The merchant's newest entries of the audit trail. */
    audit: async (merchantId: string, limit = 100) => (await storage.listAudit({ merchantId, limit })).items,
  };
}
