// Tells a target that has died from a target that fails one request. After a suspicious response, the run sends a
// harmless request until one gets a response or the patience ends.
import type { TargetRequest, TargetResponse } from "./exchange.ts";

/** How long a target may fail every probe before the run stops, in milliseconds. */
export const defaultPatienceMs = 3000;

const pauseMs = 500;
const leastLimitMs = 1500;
const mostProbes = 8;

/**
 * A gateway sends these statuses if it cannot reach the service behind it. A service that is shutting down sends 503.
 */
const gatewayStatuses = new Set([502, 503, 504]);

/**
 * Returns true if the response could come from a target that has died. A response to a forced outcome (D17) could not
 * come from a dead target.
 */
export const looksDead = ({ request, status }: Pick<TargetResponse, "request" | "status">) =>
  !request.forced && (status === undefined || gatewayStatuses.has(status));

/** The request that shows whether the target is alive. It creates nothing. An unknown reference follows the path. */
export const probeRequest: TargetRequest = { method: "GET", path: "/v1/disbursements/" };

export type BreakerDeps = {
  /** Sends `probeRequest` once, with this time limit in milliseconds. Returns the status; undefined for no response. */
  probe: (limitMs: number) => Promise<number | undefined>;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
};

export function createBreaker(patienceMs: number, timeoutMs: number, { probe, now, sleep }: BreakerDeps) {
  let responses = 0;
  let responseMs = 0;
  let confirming: Promise<boolean> | undefined;

  /** A target that is always slow gets more time for a probe: four times its mean response time. */
  const limit = () => Math.min(timeoutMs, Math.max(leastLimitMs, responses === 0 ? 0 : (4 * responseMs) / responses));

  async function confirm(): Promise<boolean> {
    const end = now().getTime() + patienceMs;
    for (let count = 0; count < mostProbes; count += 1) {
      if (!looksDead({ request: probeRequest, status: await probe(limit()) })) return true;
      await sleep(pauseMs);
      if (now().getTime() >= end) return false;
    }
    return false;
  }

  return {
    /** Records how long the target took for a response. */
    responded(durationMs: number) {
      responses += 1;
      responseMs += durationMs;
    },
    /** Returns true as soon as the target responds to a probe. Concurrent callers share the probes. */
    isAlive(): Promise<boolean> {
      confirming ??= confirm().finally(() => (confirming = undefined));
      return confirming;
    },
    /** Resolves when no probes are under way, so that no further request is sent to a target that may be dead. */
    async settled(): Promise<void> {
      await confirming;
    },
  };
}
