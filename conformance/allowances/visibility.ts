// Waits until a new or changed record can be read. A service that reads from a replica may not find a record immediately
// after its create. The interface does not say how soon a record must be found.
import { dataOf, isAccepted, type TargetRequest, type TargetResponse } from "../target/exchange.ts";
import type { Limits } from "./limits.ts";
import { textOf } from "../target/values.ts";

/** How long an undeclared delay may be. A record that is still missing then counts as lost. */
const longestMs = 2000;
const stepMs = 100;
/** Delays are recorded as multiples of this, so that equal targets give equal reports. */
const granularityMs = 500;

export type Visibility = ReturnType<typeof createVisibility>;

/** A created record. `status` is the last one that a response stated. */
type Seen = { changedAt: number; isRead: boolean; status?: unknown };

const collections = new Set(["/v1/disbursements", "/v1/checkouts"]);
const pathOf = ({ path }: TargetRequest) => path.split("?")[0] ?? "";
const isOwn = ({ key = "own" }: TargetRequest) => key === "own";
const isOwnRead = (request: TargetRequest) => request.method === "GET" && isOwn(request);

/** Returns functions that the target calls around each request. */
export function createVisibility(limits: Limits, now: () => Date) {
  const recordsByPath = new Map<string, Seen>();
  let lastCreate = -Infinity;
  /** Set if a record never appeared. The run then waits for no other record, because the target loses records. */
  let lost = false;

  const ageOf = ({ changedAt }: Seen) => now().getTime() - changedAt;

  /** Notes that a record appeared late. Returns the reason to stop the run, if the run should have known the delay. */
  function late(record: Seen): string | undefined {
    const readAfterWriteMs = Math.ceil(ageOf(record) / granularityMs) * granularityMs;
    if (!limits.isFrozen && limits.declared.readAfterWriteMs === undefined) {
      limits.add({ readAfterWriteMs: Math.max(readAfterWriteMs, limits.found.readAfterWriteMs ?? 0) });
      return undefined;
    }
    return (
      `a new record was found only after ${readAfterWriteMs} ms, which is later than declared or found before. If this ` +
      `deployment needs so long, add the line "readAfterWriteMs: ${readAfterWriteMs}" to certify.yaml (--declare)`
    );
  }

  return {
    /** Returns how long to wait before the request is sent, in milliseconds. */
    before(request: TargetRequest): number {
      if (!isOwnRead(request)) return 0;
      const { readAfterWriteMs = 0, replicas = false } = limits.all;
      const record = recordsByPath.get(request.path);
      const isList = collections.has(pathOf(request));
      const since = record && (replicas || !record.isRead) ? record.changedAt : isList ? lastCreate : -Infinity;
      return Math.max(0, readAfterWriteMs + since - now().getTime());
    },
    /** Returns how long to wait before the request is repeated, or why to stop; undefined to accept the response. */
    again(response: TargetResponse, repeats: number): number | string | undefined {
      const { request, status } = response;
      const record = isOwnRead(request) ? recordsByPath.get(request.path) : undefined;
      if (!record) return undefined;
      const { status: stated } = dataOf(response);
      const hasChanged = status === 200 && record.status !== undefined && record.status !== stated;
      if (!record.isRead) {
        const isMissing = status === 404 && !lost;
        if (isMissing && ageOf(record) < longestMs) return stepMs;
        // If a record was found once, or is lost, the run never waits for it again.
        record.isRead = true;
        if (isMissing) lost = true;
        else if (status === 200 && repeats > 0) return late(record);
      }
      if (hasChanged) record.changedAt = now().getTime();
      if (status === 200) record.status = stated;
      return undefined;
    },
    created(response: TargetResponse) {
      const { request } = response;
      // A record of another merchant is never visible, and its absence says nothing about the target's delay.
      const isCreate = request.method === "POST" && isOwn(request) && collections.has(request.path);
      if (!isCreate || !isAccepted(response)) return;
      lastCreate = now().getTime();
      const { reference, status: stated } = dataOf(response);
      const record = { changedAt: lastCreate, isRead: false, status: stated };
      recordsByPath.set(`${request.path}/${encodeURIComponent(textOf(reference))}`, record);
    },
  };
}
