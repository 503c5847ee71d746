import { isIPv4 } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Response } from "express";
import ipaddr from "ipaddr.js";
import { ServiceError } from "../domain/errors.ts";
import { withTimeLeft, type InProgress } from "../domain/in-progress.ts";

const WINDOW_MS = 60_000;
/** How many callers are counted separately, so that memory is bounded. All others are counted together. */
const MOST_CALLERS = 10_000;
const OTHERS = "others";

export type RequestLimit = ReturnType<typeof createRequestLimit>;

/**
 * Limits the requests of each caller, such as an address or a session, in a minute, in the memory of this process.
 * @param message for a caller over the limit
 */
export function createRequestLimit({ perMinute, message }: { perMinute: number; message: string }) {
  const counts = new Map<string, number>();
  let endsAt = 0;
  /** Adds `more` to a caller's count. @throws ServiceError `rate_limited` if the caller is then over the limit */
  function add(caller: string, more: number) {
    const now = performance.now();
    if (now >= endsAt) {
      counts.clear();
      endsAt = now + WINDOW_MS;
    }
    const counted = counts.has(caller) || counts.size < MOST_CALLERS ? caller : OTHERS;
    const count = (counts.get(counted) ?? 0) + more;
    if (more > 0) counts.set(counted, count);
    if (count <= perMinute) return;
    throw new ServiceError("rate_limited", message, { retryAfterSeconds: Math.ceil((endsAt - now) / 1_000) });
  }
  return {
    /** Counts nothing. @throws ServiceError `rate_limited` if the caller is over the limit */
    check: (caller: string) => add(caller, 0),
    /** Counts a request. @throws ServiceError `rate_limited` if the caller is over the limit */
    count: (caller: string) => add(caller, 1),
  };
}

/** The network that an IP address belongs to, by its first bytes. IPv4 addresses may be mapped to IPv6. */
function networkOf(address: string | undefined, bytes: { ipv4: number; ipv6: number }): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.process(address);
  const kept = bytes[parsed.kind()];
  return `${ipaddr.fromByteArray(parsed.toByteArray().fill(0, kept)).toString()}/${kept * 8}`;
}

/**
 * Shortens an IP address for the log to its network, so that the log identifies no person. Every request is logged, and the
 * library would take 2 % of a verify's CPU for an IPv4 address.
 */
export const shortenedAddress = (address: string | undefined): string | undefined =>
  isIPv4(address ?? "") ? address!.replace(/\d+$/, "0/24") : networkOf(address, { ipv4: 3, ipv6: 6 });

/** Returns how a caller is counted: by an IPv4 address, or by the network of an IPv6 address. */
export const callerAt = (address: string | undefined): string => networkOf(address, { ipv4: 4, ipv6: 7 }) ?? "unknown";

/** What limits the requests in progress (D56). */
export interface RequestRoom {
  /** Creates and verifies, until their connection or response ends. */
  payments: InProgress;
  /** The start of all other requests: only a few begin in a turn of the event loop. They may then take long. */
  others: InProgress;
}

/**
 * Waits until a create or verify has room. Resolves with true if it had to wait.
 * @throws ServiceError `rate_limited` or `unavailable` if there is no room soon
 */
export async function beginPayment({ payments }: RequestRoom, merchantId: string, res: Response): Promise<boolean> {
  // All requests that arrived together are read before the first is handled. This saves a fifth of a verify's CPU.
  await nextTurn();
  const waits = !payments.hasRoom({ merchantId });
  await payments.wait(merchantId);
  const leave = () => payments.end({ merchantId });
  if (res.closed) leave();
  else res.once("close", leave);
  return waits;
}

/** Waits until a request of another kind may begin. @throws ServiceError as `beginPayment` does */
export async function beginOther({ others }: RequestRoom, merchantId: string): Promise<true> {
  await others.run(merchantId, async () => undefined);
  return true;
}

/** The contract tells callers to wait 15 seconds. The other 5 are for the network, the body and other work. */
const STORAGE_MS = 10_000;

/** Runs the work of a request, which waits for the storage only so long, over all its operations (D56). */
export const inTime = <T>(work: () => T): T => withTimeLeft({ leftMs: STORAGE_MS }, work);
