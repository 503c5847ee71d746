// The payouts that a client is asked to make, and what the service does with each.
import type { components } from "../../../generated/openapi.ts";
import type { Answer, Step } from "./answers.ts";

/** One line of the program's input. Amounts are whole numbers of the lowest denomination. */
export type Entry = Pick<
  components["schemas"]["DisbursementRequest"],
  "reference" | "amount" | "phoneNumber" | "country" | "currency"
>;

/**
 * What the service does with an entry: it records the payout with a final status, keeps it pending, or refuses it. A
 * payout that `settles` is pending until a response has shown it, then a success. A payout with the fate `added` has a
 * status that a later version of the contract may add.
 */
export type Fate = "success" | "failed" | "pending" | "settles" | "added" | "refused";

/** What happens to requests. */
export type Conditions = {
  /** What happens to the first creates of each entry. */
  creates?: readonly Step[];
  /** What happens to later creates. By default they are processed and get the honest response. */
  afterwards?: Step;
  /** The responses to the first reads of each payout. */
  reads?: readonly Answer[];
  /** The responses to the first requests for the list of payouts. */
  lists?: readonly Answer[];
  /** The `Location` of a 409; null for no header. The default is as in the contract. */
  location?: string | null;
};

/** What happens to the requests for one entry, instead of what the scenario says. */
export type Story = Conditions & {
  /** For reports. */
  about: string;
  /** True if the entry may be reported as unknown, in addition to the entries that the scenario allows. */
  mayBeUnknown?: boolean;
  /** True if a sound client may leave the entry unpaid. */
  mayGiveUp?: boolean;
};

export type PlannedEntry = Entry & {
  fate: Fate;
  /**
   * The fields in which a payout that exists before the client starts differs from the entry. Without such a field, it
   * is the entry's own payout.
   */
  exists?: Partial<Omit<Entry, "reference">>;
  story?: Story;
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

/** Returns entries with these fields, which succeed and fail by turns. */
export const byTurns = (...fields: Partial<PlannedEntry>[]) =>
  fields.map((each, index) => entry(index, index % 2 === 0 ? "success" : "failed", each));

/** Returns an entry as the client gets it, or the fields of a request that an entry has. */
export const asInput = ({ reference, amount, phoneNumber, country, currency }: Entry): Entry => ({
  reference,
  amount,
  phoneNumber,
  country,
  currency,
});
