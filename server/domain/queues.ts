/** The waiting work of one merchant in one place: the deliveries to a receiver, or the hand-overs to a rail. */
export interface Lane {
  merchantId: string;
  /** Host and port of the receiver, or the name of the rail; never empty. */
  host: string;
}

export interface LaneClaim extends Lane {
  count: number;
}

/**
 * An entry of a queue that only its claimant may attempt until the lease ends. Each claim of an entry has a different
 * fencing token, by which the storage recognises a claimant that has lost its claim.
 */
export interface Claimed {
  lane: Lane;
  id: string;
  token: number;
}

/**
 * A queue. An entry waits until it is due, then becomes ready, and is then claimed for an attempt. The cost of finding due
 * entries does not depend on how many are waiting. The caller decides which ready entries to claim.
 */
export interface Queue<C extends Claimed> {
  /** Makes at most `limit` entries ready that are due or whose lease has lapsed. Resolves with their number. */
  promoteDue(limit: number, merchantId?: string): Promise<number>;
  /**
   * Lists at most `limit` lanes with ready entries, ordered by merchant and host, starting after the lane `after`.
   */
  readyLanes(query: { after?: Lane; limit: number; merchantId?: string }): Promise<Lane[]>;
  /** Claims ready entries. Within a lane, entries that fell due first are claimed first. */
  claim(lanes: readonly LaneClaim[], leaseMs: number): Promise<C[]>;
  /**
   * Extends the leases of claims whose attempts are in progress; a lease of 0 ends the claims, and the entries are due
   * immediately. Ignores claims that are no longer valid.
   */
  renew(claims: readonly Claimed[], leaseMs: number): Promise<void>;
}
