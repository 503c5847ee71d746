import type { Checkout } from "../domain/checkouts.ts";
import type { Disbursement } from "../domain/disbursements.ts";
import type { StoredMerchant, Values } from "./rows.ts";

/** The changes of the four accounts that a merchant has in each currency. Their sum is zero (D87). */
type Amounts = Readonly<Record<"available" | "reserved" | "fees" | "outside", bigint>>;
type Kind = "reserve" | "capture" | "release" | "credit" | "top-up" | "withdrawal";

const NONE: Amounts = { available: 0n, reserved: 0n, fees: 0n, outside: 0n };

/** The row of an entry of the books. */
export function entry(
  { id }: StoredMerchant,
  { currency, reference, at }: { currency: string; reference: string; at: number },
  kind: Kind,
  amounts: Partial<Amounts>,
) {
  return { merchant_id: id, reference, kind, currency, at, ...NONE, ...amounts } satisfies Values;
}
export type Entry = ReturnType<typeof entry>;
/** Where an entry is booked: an account. */
export type Place = Pick<Entry, "merchant_id" | "currency">;

/** BigInt, because the sum of amount and fee can exceed 2^53. */
const sumsOf = ({ amount, fee }: Disbursement | Checkout) => ({
  amount: BigInt(amount),
  fee: BigInt(fee),
  total: BigInt(amount) + BigInt(fee),
});
const placeOf = ({ currency, reference, updatedAt: at }: Disbursement | Checkout) => ({ currency, reference, at });

/** Reserves the amount of a new payout and its fee. */
export function reserved(record: Disbursement, merchant: StoredMerchant): Entry {
  const { total } = sumsOf(record);
  return entry(merchant, placeOf(record), "reserve", { available: -total, reserved: total });
}

/**
 * What the final status of a record changes: a failed payout costs nothing, and a checkout that was not paid changes
 * nothing.
 */
export function ended(record: Disbursement | Checkout, merchant: StoredMerchant): Entry[] {
  const { amount, fee, total } = sumsOf(record);
  const place = placeOf(record);
  const isPaid = record.status === "success";
  if ("locale" in record)
    return isPaid ? [entry(merchant, place, "credit", { available: amount - fee, fees: fee, outside: -amount })] : [];
  return isPaid
    ? [entry(merchant, place, "capture", { reserved: -total, fees: fee, outside: amount })]
    : [entry(merchant, place, "release", { reserved: -total, available: total })];
}

/** Money that an operator adds to a balance or takes from it. */
export function adjusted(merchant: StoredMerchant, place: Parameters<typeof entry>[1], amount: bigint): Entry {
  const kind = amount < 0 ? "withdrawal" : "top-up";
  return entry(merchant, place, kind, { available: amount, outside: -amount });
}
