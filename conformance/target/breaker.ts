// Tells a target that has died from a target that fails one request. After a suspicious response, the run sends a
// harmless request until one gets a response or the patience ends.
import type { Clock } from "../allowances/pace.ts";
import type { TargetRequest, TargetResponse } from "./exchange.ts";

/** How long a target may fail every probe before the run stops. */
const patienceMs = 3000;
const pauseMs = 500;
const probeMs = 5000;

/** A gateway sends these statuses if it cannot reach its service. A service that is shutting down sends 503. */
const gatewayStatuses = new Set([502, 503, 504]);

/**
 * Returns true if the response could come from a target that has died. A response to a forced outcome (D17) could not
 * come from a dead target.
 */
export const looksDead = ({ request, status }: Pick<TargetResponse, "request" | "status">) =>
  !request.forced && (status === undefined || gatewayStatuses.has(status));

/** The request that shows whether the target is alive. The caller appends an unknown reference to the path. */
export const probeRequest: TargetRequest = { method: "GET", path: "/v1/disbursements/" };

/**
 * @param probe sends `probeRequest` once, with this time limit in milliseconds; returns the status; undefined for no
 * response
 */
export function createBreaker(
  timeoutMs: number,
  probe: (limitMs: number) => Promise<number | undefined>,
  { now, sleep }: Clock,
) {
  let confirming: Promise<boolean> | undefined;

  async function confirm(): Promise<boolean> {
    const end = now().getTime() + patienceMs;
    do {
      const status = await probe(Math.min(timeoutMs, probeMs));
      if (!looksDead({ request: probeRequest, status })) return true;
      await sleep(pauseMs);
    } while (now().getTime() < end);
    return false;
  }

  return {
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
