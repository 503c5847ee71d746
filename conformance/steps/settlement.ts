// Waits for payouts to settle, for at most `--settle-timeout`.
import { CouldNotJudge, type Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { Target } from "../target/target.ts";
import { verified } from "./records.ts";
import { advance } from "./sandbox-controls.ts";

/**
 * How long to wait on a target on which an earlier payout did not settle in time. A run waits for the whole
 * `--settle-timeout` only once.
 */
const shortPatienceMs = 500;
const longestPauseMs = 2000;
/** The runs in which a payout did not settle in time. */
const slow = new WeakSet<Target["ledger"]>();

/** Returns the time of a payout's creation in milliseconds; undefined if the run did not create it. */
const startOf = ({ target }: Context, reference: string) => {
  const at = target.ledger.created.find((record) => record.reference === reference)?.at;
  return at === undefined ? undefined : Date.parse(at);
};

/**
 * Polls a disbursement until its status is final or the time is up. In a sandbox, it advances the clock once. The time
 * counts from the creation, so that payouts created together have one wait.
 * @returns the last record, and the distinct statuses in the order in which they were seen
 */
async function poll(context: Context, reference: string) {
  const seen: string[] = [];
  const { target, options } = context;
  const start = context.now().getTime();
  const least = start + Math.min(shortPatienceMs, options.settleTimeoutMs);
  // A replica may still show an old payout as pending for a moment after the clock has moved.
  const end = slow.has(target.ledger)
    ? least
    : Math.max(least, (startOf(context, reference) ?? start) + options.settleTimeoutMs);
  for (let pause = 100, round = 0; ; round += 1) {
    const { data } = await verified(context, reference);
    if (data.status !== seen.at(-1)) seen.push(data.status);
    if (data.status !== "pending") return { data, seen };
    const left = end - context.now().getTime();
    if (round > 0 && left <= 0) {
      slow.add(target.ledger);
      return { data, seen };
    }
    if (round === 0 && hasControl(options, "clock")) await advance(context, 60);
    else await context.sleep(Math.min(pause, Math.max(left, 1)));
    pause = Math.min(pause * 1.2, longestPauseMs);
  }
}

/** Waits until a disbursement has settled. Throws `CouldNotJudge` if it is still pending in the end. */
export async function settled(context: Context, reference: string) {
  const outcome = await poll(context, reference);
  if (outcome.data.status !== "pending") return outcome;
  const pending = `a payout was still pending after ${context.options.settleTimeoutMs / 1000} s`;
  throw new CouldNotJudge(`${pending}: if the target needs longer, raise --settle-timeout SECONDS`);
}

/**
 * Like `settled`, but if the target's clock can be moved, returns a pending record instead of throwing. The payout
 * should have settled by then, so the check can judge the record.
 */
export async function settledByClock(context: Context, reference: string) {
  return hasControl(context.options, "clock") ? poll(context, reference) : settled(context, reference);
}
