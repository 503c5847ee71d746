import type { ChaosSwitch } from "../domain/chaos.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Ids } from "../domain/ids.ts";
import { visible } from "../domain/names.ts";
import type { ClaimedDelivery, NextStep, EventLog } from "../domain/deliveries.ts";
import type { ListenerStore, Listener } from "../domain/listeners.ts";
import type { Merchant } from "../domain/merchants.ts";
import { reasonOfStatus } from "./reasons.ts";
import { verdictOf } from "./schedule.ts";
import { webhookHeaders, type AttemptResult } from "./send.ts";
import { attemptTime, lostAttempt, prepareAttempt, recordResult, type AttemptContext } from "./attempts.ts";

/** Longer than an attempt takes. A running listener renews its claims with each search. */
const LEASE_MS = 30_000;
/** How often a search polls for deliveries, in milliseconds: as often as the server does for its own deliveries. */
const LOOK_EVERY_MS = 100;

/** A webhook that a listener is to send. */
export interface ListenerDelivery {
  claim: ClaimedDelivery;
  /** Signed for this attempt. */
  headers: Record<string, string>;
}

export interface ClaimRequest {
  session: string;
  limit: number;
  waitSeconds: number;
  /** The API key of the request. */
  keyId?: string;
  /** The claims whose attempts are in progress. */
  holding: readonly { id: string; token: number }[];
}

/** The result of a listener's attempt. Times are relative, because its clock may differ from the server's. */
export interface AttemptReport extends Pick<
  AttemptResult,
  "latencyMs" | "httpStatus" | "responseBody" | "retryAfter" | "error"
> {
  id: string;
  token: number;
  sentMsAgo: number;
}

/** The operations of merchants' listeners, which make webhook attempts in place of the server (D69). */
export interface Listeners {
  /** Connects a listener. `replaced` is the name of the listener that it replaced. */
  connect(merchant: Merchant, listener: Omit<Listener, "session">): Promise<{ session: string; replaced?: string }>;
  /**
   * Claims deliveries that are due, and waits if there are none.
   * @throws ServiceError `listener_replaced` if the session has ended
   */
  claim(merchant: Merchant, search: ClaimRequest): Promise<ListenerDelivery[]>;
  /** @throws ServiceError `not_found` if the merchant has no such delivery to a listener */
  report(merchant: Merchant, report: AttemptReport): Promise<NextStep & { counted: boolean }>;
  /** Resolves with false if the session had ended before. */
  disconnect(merchant: Merchant, session: string): Promise<boolean>;
}

interface Options extends AttemptContext {
  storage: AttemptContext["storage"] & ListenerStore & Pick<EventLog, "findDelivery">;
  ids: Pick<Ids, "record">;
  chaos: ChaosSwitch;
  stopping: AbortSignal;
}

export function createListeners(options: Options): Listeners {
  const { storage, clock, ids, chaos, stopping } = options;

  /** Polls until there is something to claim, the time is up, or a later search continues. */
  async function look({ id }: Merchant, { session, limit, waitSeconds }: ClaimRequest, poll: number) {
    const until = clock.monotonic() + waitSeconds * 1_000;
    for (;;) {
      const claimed = await storage.claimForListener(id, { session, poll }, limit, LEASE_MS);
      if (claimed === "replaced") throw replaced();
      if (claimed === "superseded") return [];
      if (claimed.length > 0 || clock.monotonic() >= until || stopping.aborted) return claimed;
      await clock.sleep(LOOK_EVERY_MS, stopping);
    }
  }

  /** Prepares the attempt of a claimed delivery, unless the chaos switch loses it. */
  async function toSend(claim: ClaimedDelivery): Promise<ListenerDelivery[]> {
    const now = clock.now();
    const { attempted, message } = prepareAttempt(claim, options, now);
    if (!chaos.strikes(claim.merchant, "lostWebhooksPercent"))
      return [{ claim, headers: webhookHeaders(message, now) }];
    await recordResult(options, attempted, lostAttempt(now));
    return [];
  }

  return {
    async connect(merchant, { name, url, keyId }) {
      const session = ids.record(clock.now());
      const previous = await storage.connectListener(merchant.id, { session, name: visible(name), url, keyId });
      return { session, ...(previous !== undefined && { replaced: previous }) };
    },
    async claim(merchant, search) {
      const poll = await storage.beginSearch(merchant.id, search.session, search.holding, LEASE_MS, search.keyId);
      if (poll === undefined) throw replaced();
      const claimed = await look(merchant, search, poll);
      return (await Promise.all(claimed.map(toSend))).flat();
    },
    async report(merchant, { id, token, sentMsAgo, latencyMs, httpStatus, responseBody, retryAfter, error }) {
      const delivery = await storage.findDelivery(merchant.id, id);
      if (!delivery?.toListener) throw new ServiceError("not_found", "Your listener has no delivery with this id.");
      const sentAt = clock.now() - sentMsAgo;
      const { step, nextAttemptAt: dueAt } = delivery;
      const at = attemptTime(merchant, dueAt, sentAt);
      const attempted = { event: delivery, token, step, at, ...(dueAt !== undefined && { dueAt }) };
      return recordResult(
        options,
        attempted,
        explained({ sentAt, latencyMs, httpStatus, responseBody, retryAfter, error }),
      );
    },
    disconnect: (merchant, session) => storage.disconnectListener(merchant.id, session),
  };
}

const replaced = () =>
  new ServiceError(
    "listener_replaced",
    "Another listener of this merchant has taken over, or this listener was disconnected or its API key revoked.",
  );

/** Returns the result with the reason of a failure, and without a character that PostgreSQL does not accept. */
function explained(result: AttemptResult): AttemptResult {
  const { sentAt, latencyMs, httpStatus, responseBody, retryAfter, error = "The receiver did not respond." } = result;
  const reason = httpStatus === undefined ? error : reasonOfStatus(httpStatus);
  return {
    sentAt,
    latencyMs,
    httpStatus,
    retryAfter,
    ...(responseBody && { responseBody: responseBody.replaceAll("\0", "\uFFFD") }),
    ...(verdictOf(httpStatus) !== "delivered" && { error: reason }),
  };
}
