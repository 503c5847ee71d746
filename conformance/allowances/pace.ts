// Delays payouts so that they stay within the declared velocity rules.
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { fieldsOf } from "../target/ledger.ts";
import type { Velocity } from "./declaration.ts";
import { textOf } from "../target/values.ts";

export type Clock = { now: () => Date; sleep: (ms: number) => Promise<void> };
type Slot = { end: number };

export function createPacer(rules: () => readonly Velocity[], { now, sleep }: Clock) {
  const slots = new Map<string, Slot[]>();

  /** Takes a slot of a rule, if need be after a wait. Returns a function that starts its period, for the response. */
  async function take(
    { payouts, seconds }: Velocity,
    name: string,
    { exceeds, pays }: { exceeds: boolean; pays: boolean },
  ): Promise<() => void> {
    for (;;) {
      const time = now().getTime();
      const taken = (slots.get(name) ?? []).filter(({ end }) => end > time);
      slots.set(name, taken);
      if (exceeds || taken.length < payouts) {
        const slot: Slot = { end: Infinity };
        taken.push(slot);
        // The target counted the payout before it responded, so the period ends no later than this.
        return () => void (slot.end = now().getTime() + (pays ? seconds * 1000 : 0));
      }
      const next = Math.min(...taken.map(({ end }) => end));
      await sleep(Number.isFinite(next) ? Math.max(1, next - time) : 10);
    }
  }

  return async (
    request: TargetRequest,
    send: (request: TargetRequest) => Promise<TargetResponse>,
  ): Promise<TargetResponse> => {
    const { method, path, effect, exceedsVelocity = false } = request;
    const pays = effect === "moves-money";
    // A target may count a payout before it looks for a reason to refuse it.
    if (method !== "POST" || path !== "/v1/disbursements" || !(pays || effect === "must-be-rejected"))
      return send(request);
    const releases: (() => void)[] = [];
    for (const [index, rule] of rules().entries()) {
      const whom = rule.per === "recipient" ? textOf(fieldsOf(request)["phoneNumber"]) : "merchant";
      releases.push(await take(rule, `${index} ${whom}`, { exceeds: exceedsVelocity, pays }));
    }
    try {
      return await send(request);
    } finally {
      for (const release of releases) release();
    }
  };
}
