// The payouts that a client is asked to make, and what the service does with each.
import type { components } from "../../../generated/openapi.ts";

/** One line of the program's input. Amounts are whole numbers of the lowest denomination. */
export type Entry = Pick<
  components["schemas"]["DisbursementRequest"],
  "reference" | "amount" | "phoneNumber" | "country" | "currency"
>;

/**
 * What the service does with an entry: it records the payout with a final status, keeps it pending, or refuses it. A
 * payout that `settles` is pending until a response has shown it, then a success.
 */
export type Fate = "success" | "failed" | "pending" | "settles" | "refused";

export type PlannedEntry = Entry & {
  fate: Fate;
  /**
   * A payout that exists before the client starts: of this entry, another payout with its reference, or one with another
   * amount to the same recipient, as of last month.
   */
  exists?: "same" | "other" | "raised";
};

const places = [
  { country: "CI", currency: "XOF" },
  { country: "NG", currency: "NGN" },
  { country: "GH", currency: "GHS" },
  { country: "KE", currency: "KES" },
];

/** Returns an entry whose recipient no other index has. `over` replaces fields. */
export function entry(index: number, fate: Fate, over: Partial<PlannedEntry> = {}): PlannedEntry {
  const phoneNumber = `2257${String(38_102_400 + index * 7919).padStart(9, "0")}`;
  return {
    reference: `salary-${index + 1}`,
    amount: 150_000 + index * 100,
    phoneNumber,
    ...places[index % places.length]!,
    fate,
    ...over,
  };
}

/** Returns entries with these fates. */
export const entries = (...fates: Fate[]) => fates.map((fate, index) => entry(index, fate));

/** Returns an entry as the client gets it. */
export const asInput = ({ reference, amount, phoneNumber, country, currency }: PlannedEntry): Entry => ({
  reference,
  amount,
  phoneNumber,
  country,
  currency,
});
