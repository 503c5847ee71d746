// Lets time pass before the closing checks, and reads the kept records while it does.
import type { Context } from "../../check.ts";
import type { Facts } from "../../history/facts.ts";
import { keptSince, lookAtKept, moveTime } from "./kept.ts";
import { lookAt, retrievable } from "../../steps/looks.ts";

/** The least time between the creation of the kept payouts and the closing checks. */
const leastAgeMs = 3500;
const pollMs = 500;
const lingerPollMs = 5000;
const agedRuns = new WeakSet<Facts>();
/** How far the sandbox time moves: longer than caches and sessions usually live. */
const movedSeconds = 2 * 3600;

/** Waits until this time, and retrieves the kept records at this interval. */
async function waitUntil(context: Context, end: number, interval: number) {
  for (;;) {
    const left = end - context.now().getTime();
    if (left <= 0) return;
    await context.sleep(Math.min(interval, left));
    await lookAtKept(context);
  }
}

/**
 * Once in a run, waits until the first payouts have the age of `--linger`, and then lets hours of sandbox time pass.
 */
export async function aged(context: Context) {
  const since = (keptSince(context) ?? context.facts.records.at(-1)?.at)?.getTime() ?? -Infinity;
  await waitUntil(context, since + leastAgeMs, pollMs);
  if (agedRuns.has(context.facts)) return;
  agedRuns.add(context.facts);
  const end = since + context.options.linger * 1000;
  if (end > context.now().getTime()) {
    await lookAt(context, retrievable(context));
    await waitUntil(context, end, lingerPollMs);
  }
  await moveTime(context, movedSeconds);
}
