import type { ClaimedDelivery } from "./deliveries.ts";

/** A program that makes a merchant's webhook attempts itself, because the service cannot reach the receiver (D69). */
export interface Listener {
  /** Identifies the listener until another listener takes over. */
  session: string;
  /** For people. */
  name: string;
  /** Where the listener sends webhooks. */
  url: string;
  /** The API key with which the listener connects. Revoking the key ends the listener. */
  keyId?: string;
}

/** Without a request for this long, a listener is no longer connected (D69). */
export const LISTENER_CONNECTED_MS = 3_600_000;

/** A listener counts as active if it has searched for deliveries within this time. */
export const LISTENER_ATTENDS_MS = 15_000;

/** A search of a listener for deliveries. A later search or session ends it. */
export interface ListenerSearch {
  session: string;
  poll: number;
}

/** The merchants' listeners (D69), at most one for each. */
export interface ListenerStore {
  /**
   * Makes this the merchant's listener. Ends the claims of the previous listener; the deliveries that waited for it go
   * to the new listener. Resolves with the previous listener's name if it searched for deliveries a moment ago.
   */
  connectListener(merchantId: string, listener: Listener): Promise<string | undefined>;
  /**
   * Begins a search for deliveries. Renews the claims that the listener says it holds, and ends its other claims.
   * @param keyId the API key of the search, whose revocation ends the listener from now on
   * @throws ServiceError `unauthorized` if the key is revoked, as `connectListener` does
   * @returns the number of the search, or undefined if the session has ended
   */
  beginSearch(
    merchantId: string,
    session: string,
    holding: readonly { id: string; token: number }[],
    leaseMs: number,
    keyId?: string,
  ): Promise<number | undefined>;
  /**
   * Claims ready deliveries for the listener, in the order in which they fell due. Resolves with "replaced" if the
   * session has ended, and with "superseded" if there is a later search.
   */
  claimForListener(
    merchantId: string,
    search: ListenerSearch,
    count: number,
    leaseMs: number,
  ): Promise<ClaimedDelivery[] | "replaced" | "superseded">;
  /** Ends a session and its claims. Resolves with false if it had ended before. */
  disconnectListener(merchantId: string, session: string): Promise<boolean>;
}
