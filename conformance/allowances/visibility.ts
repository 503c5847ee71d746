// Waits until a new disbursement can be read. A service that reads from a replica may not find a record immediately
// after its create. The interface does not say how soon a record must be found.
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Limits } from "./limits.ts";

/** How long an undeclared delay may be. A record that is still missing then counts as lost. */
const longestMs = 2000;
const stepMs = 100;
/** Delays are recorded as multiples of this, so that equal targets give equal reports. */
const granularityMs = 500;

export type Visibility = ReturnType<typeof createVisibility>;

const referenceOf = ({ method, path, key = "own" }: TargetRequest) =>
  method === "GET" && key === "own" ? /^\/v1\/disbursements\/([^/?]+)$/.exec(path)?.[1] : undefined;

/** Returns functions that the target calls around each request. */
export function createVisibility(limits: Limits, now: () => Date) {
  /** The times of the creates whose records were not read yet, by encoded reference. */
  const unread = new Map<string, number>();
  /** Set if a record never appeared. The gate then stops waiting, because the target loses records. */
  let lost = false;

  const ageOf = (request: TargetRequest) => {
    const created = unread.get(referenceOf(request) ?? "");
    return created === undefined ? undefined : now().getTime() - created;
  };
  return {
    /** Returns how long to wait before a request, in milliseconds. */
    before(request: TargetRequest): number {
      const age = ageOf(request);
      return age === undefined ? 0 : Math.max(0, (limits.all.readAfterWriteMs ?? 0) - age);
    },
    /** Returns how long to wait before the request is repeated; undefined to accept the response. */
    again({ request, status }: TargetResponse, repeats: number): number | undefined {
      const age = ageOf(request);
      if (age === undefined) return undefined;
      const missing = status === 404 && !lost;
      if (missing && age < longestMs) return stepMs;
      if (missing) lost = true;
      else if (status === 200 && repeats > 0)
        limits.add({ readAfterWriteMs: Math.ceil(age / granularityMs) * granularityMs });
      // A record that was found once, or is lost, is never waited for again.
      unread.delete(referenceOf(request) ?? "");
      return undefined;
    },
    /** Remembers the record that a response created. */
    created({ request, status, json }: TargetResponse) {
      const { reference } = (json as { data?: { reference?: unknown } } | undefined)?.data ?? {};
      if (request.method === "POST" && request.path === "/v1/disbursements" && status === 200)
        unread.set(encodeURIComponent(String(reference)), now().getTime());
    },
  };
}
