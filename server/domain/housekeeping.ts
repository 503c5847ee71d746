export interface Housekeeping {
  /**
   * Deletes up to about `limit` rows that are too old for the log of requests, and finishes resets whose process has
   * ended. Resolves with the number of deleted rows.
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

export interface PruneQuery {
  merchantId: string;
  /** Real time. */
  before: number;
  /** Where the previous step ended; 0 at first. */
  after: number;
  limit: number;
  dryRun: boolean;
}

/** What a step has deleted, or would delete. */
export interface Pruned {
  events: number;
  attempts: number;
  bytes: number;
  /** Where the next step begins; absent after the last step. */
  next?: number;
}
