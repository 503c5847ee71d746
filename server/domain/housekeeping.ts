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
