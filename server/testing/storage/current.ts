import type { ApiKey } from "../../domain/keys.ts";
import type { Attempt, DeliveryStatus } from "../../domain/deliveries.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Merchant } from "../../domain/merchants.ts";
import type { Draft } from "../../domain/records.ts";
import type { Storage } from "../../domain/storage.ts";
import type { FakeClock } from "../clock.ts";
import {
  aCheckout,
  addDelivery,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  ATTEMPT,
  attempted,
  claimAll,
  type ClaimOptions,
} from "./fixtures.ts";

/** What the storage has reported: a `TelemetryEvent` and its name. */
export type Report = { name: string } & object;

interface Opened {
  storage: Storage;
  clock: FakeClock;
  reported: Report[];
}
type Payout = Partial<Draft<Disbursement>>;

/** The storage and the clock of the current test, and what tests do with them. */
export type Current = ReturnType<typeof createCurrent>;

/** @param opened returns what belongs to the current test */
export function createCurrent(opened: () => Opened) {
  const now = () => opened().clock.now();
  const storage = new Proxy({} as Storage, { get: (_, name) => Reflect.get(opened().storage, name) as unknown });
  return Object.assign(() => opened().storage, {
    /** The storage of the current test. */
    storage,
    clock: () => opened().clock,
    now,
    /** Lets time pass. */
    pass: (milliseconds: number) => opened().clock.advance(milliseconds),
    /** What the storage has reported so far, of one kind or of all. */
    reported: (name?: string) =>
      name === undefined ? opened().reported : opened().reported.filter((each) => each.name === name),

    merchant: (changes?: Partial<Merchant>) => addMerchant(storage, changes),
    /** Makes a key of ACTOR. */
    key: (merchantId: string, changes?: Partial<ApiKey>) => addKey(storage, merchantId, changes),
    /** Makes a payout that succeeds after two seconds. */
    payout: async (merchantId: string, changes?: Payout) =>
      (await storage.insertDisbursement(aDisbursement(merchantId, changes))).record,
    /** Makes a payout that is final from the start. */
    finalPayout: async (merchantId: string, changes?: Payout) =>
      (await storage.insertDisbursement(aFinalDisbursement(merchantId, changes))).record,
    /** Makes a checkout that expires after half an hour. */
    checkout: async (merchantId: string, changes?: Partial<Draft<Checkout>>) =>
      (await storage.insertCheckout(aCheckout(merchantId, changes))).record,
    /** Makes a payout that has succeeded, with a webhook that is due. */
    delivery: (merchantId: string, changes?: Payout) => addDelivery(storage, merchantId, changes),
    /** Makes a payout whose webhook has this status after one attempt. */
    attempted: (merchantId: string, status: DeliveryStatus, changes?: Payout) =>
      attempted(storage, merchantId, status, changes),
    /** Claims every webhook that is due. */
    claims: (options?: ClaimOptions) => claimAll(storage, options),
    /** Reports an attempt. */
    report: (
      claim: Parameters<Storage["recordAttempt"]>[0],
      next: Parameters<Storage["recordAttempt"]>[2],
      attempt: Partial<Omit<Attempt, "number">> = {},
    ) => storage.recordAttempt(claim, { ...ATTEMPT, ...attempt }, next),
    /** Gives every record that is due its final status. */
    settleAll: async () => {
      while ((await storage.settleDue(100)) > 0);
    },
    /** The merchant's newest events. */
    events: async (merchantId: string, reference?: string) =>
      (await storage.listEvents({ merchantId, limit: 100, ...(reference !== undefined && { reference }) })).items,
    /** The merchant's newest entries of the audit trail. */
    audit: async (merchantId: string, limit = 100) => (await storage.listAudit({ merchantId, limit })).items,
  });
}
