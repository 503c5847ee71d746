export interface Housekeeping {
  /**
   * Deletes up to about `limit` rows that resets left behind or that are too old for the log of requests. Resolves with
   * the number of deleted rows.
   */
  prune(limit: number): Promise<number>;
  /**
   * Looks at the next `limit` events of a merchant, and deletes the events that are no longer needed, with their
   * attempts. These are events that were created before `before`, and that either were delivered, with no attempt since
   * then, or have no address. Keeps records, and events whose delivery is pending, has failed or is being attempted.
   */
  pruneEvents(query: PruneQuery): Promise<Pruned>;
  /**
   * Erases the phone numbers of about `limit` records of a merchant that became final before `before`, in the records, in
   * their webhooks and in what rails said; forgets what receivers answered. References, amounts, books and the ids of
   * customers stay. Resolves with the number of these records, and whether no more are old enough.
   */
  erasePhones(query: ErasureQuery): Promise<Erased>;
}

export interface ErasureQuery {
  merchantId: string;
  /** Real time. */
  before: number;
  limit: number;
}

export interface Erased {
  erased: number;
  isDone: boolean;
}

/** Returns a phone number with zeros after the first three digits, which are the calling code of most countries (D102). */
export const erasedPhone = (phoneNumber: string): string => phoneNumber.slice(0, 3).padEnd(phoneNumber.length, "0");

/**
 * Returns what a rail said without the phone number. Also removes the number in the form that people of its country
 * dial, which lacks the calling code and may begin with zeros.
 */
export const textWithoutPhone = (text: string, phoneNumber: string): string =>
  text.replaceAll(/\d{7,}/g, (digits) => {
    if (digits.endsWith(phoneNumber)) return digits.slice(0, -phoneNumber.length) + erasedPhone(phoneNumber);
    return phoneNumber.endsWith(digits.replace(/^0+/, "")) ? "0".repeat(digits.length) : digits;
  });

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
  /** Where the next step begins; absent after the last step. */
  next?: number;
}
