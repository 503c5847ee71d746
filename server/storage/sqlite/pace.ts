/** Limits the share of time that background work blocks the event loop. */
export interface Pace {
  /** Returns how many milliseconds the next commit must wait. */
  delayMs(): number;
  /** Runs one commit and counts how long it blocks the event loop. */
  count(commit: () => void): void;
}

/** The share of time for commits of background work alone. */
const SHARE = 0.2;
/** The time that commits of background work may take without a pause, in milliseconds. */
const BURST_MS = 50;
/** The longest pause. On a slow disk or a busy machine, webhooks must still be sent. */
const LONGEST_PAUSE_MS = 20;

/**
 * A commit blocks the event loop until the disk has flushed. The attempts of a thousand receivers end one by one; if each
 * had a commit, requests would wait for the disk most of the time. A short chain of steps, such as settling one payout
 * and sending its webhook, is not delayed.
 * @param now returns a monotonic time in milliseconds
 */
export function createPace(now: () => number): Pace {
  let credit = BURST_MS;
  let creditedAt = now();
  function update(spent: number) {
    const at = now();
    const earned = Math.min(BURST_MS, credit + (at - creditedAt) * SHARE);
    credit = Math.max(earned - spent, -LONGEST_PAUSE_MS * SHARE);
    creditedAt = at;
  }
  return {
    delayMs() {
      update(0);
      return Math.max(0, -credit / SHARE);
    },
    count(commit) {
      const begun = now();
      commit();
      update(now() - begun);
    },
  };
}
