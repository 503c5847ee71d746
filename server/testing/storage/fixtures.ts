import type { ApiKey, Checkout, Disbursement, Merchant, Storage } from "../../domain/storage.ts";

/** What an adapter hands to the shared suite. */
export interface Opened {
  storage: Storage;
  /** Closes the storage and lets go of what lay behind it. */
  close(): Promise<void>;
}

/** Where the tests' time begins; the adapters take every time from their caller. */
export const START = Date.UTC(2026, 10, 20, 9, 30);
export const MINUTE = 60_000;

let made = 0;
/** A UUID that no other record of this run has; later ones sort after earlier ones. */
export function nextId(): string {
  made += 1;
  return `019aa0c5-0000-7000-8000-${String(made).padStart(12, "0")}`;
}

export async function addMerchant(storage: Storage, changes: Partial<Merchant> = {}): Promise<Merchant> {
  const merchant = { id: nextId(), name: "Ada Stores", createdAt: START, clockOffset: 0, ...changes };
  await storage.insertMerchant(merchant, `whsec_${"A".repeat(43)}=`);
  return merchant;
}

export function aKey(merchantId: string, changes: Partial<ApiKey> = {}): ApiKey {
  const id = nextId();
  const hash = new Uint8Array(32).fill(made % 251);
  new DataView(hash.buffer).setUint32(0, made);
  return { id, merchantId, hash, hint: "wxyz", createdAt: START, ...changes };
}

/** A pending payout that settles as success after two seconds. */
export function aDisbursement(merchantId: string, changes: Partial<Disbursement> = {}): Disbursement {
  const id = nextId();
  return {
    id,
    merchantId,
    reference: `DSB${made}`,
    merchantsReference: `payout-${made}`,
    customer: { id: nextId(), phoneNumber: "2257038102473" },
    amount: 10_000,
    fee: 100,
    country: "CI",
    currency: "XOF",
    status: "pending",
    createdAt: START,
    updatedAt: START,
    due: { at: START + 2_000, status: "success" },
    ...changes,
  };
}

/** A pending checkout that expires after half an hour. */
export function aCheckout(merchantId: string, changes: Partial<Checkout> = {}): Checkout {
  const id = nextId();
  return {
    id,
    merchantId,
    reference: `CHK${made}`,
    merchantsReference: `order-${made}`,
    amount: 2_500_000,
    fee: 120_000,
    country: "CI",
    currency: "XOF",
    locale: "en",
    status: "pending",
    createdAt: START,
    updatedAt: START,
    due: { at: START + 30 * MINUTE, status: "cancelled" },
    ...changes,
  };
}

/** A payout that has succeeded from the start, with a webhook that is due at once. */
export async function addDelivery(storage: Storage, merchantId: string, changes: Partial<Disbursement> = {}) {
  const { due: _, ...record } = aDisbursement(merchantId, { status: "success", ...changes });
  const webhookURL = record.webhookURL ?? "https://merchant.example/hook";
  await storage.insertDisbursement({ ...record, webhookURL });
  return { id: `msg_${record.id.replaceAll("-", "")}`, record: { ...record, webhookURL } };
}

/** So many promises of the same thing, begun at once. */
export const atOnce = <T>(count: number, begin: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => begin(index)));
