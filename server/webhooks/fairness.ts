import type { Lane, LaneClaim } from "../domain/queues.ts";
import { createPromptness } from "./promptness.ts";

export interface FairnessLimits {
  /** The maximum number of attempts in progress to one receiver. */
  perHost: number;
  /** The maximum number of attempts in progress to all receivers together. */
  total: number;
  /** Returns real time in milliseconds. */
  now(): number;
}

/**
 * Decides which ready deliveries to attempt, so that a slow or dead receiver does not hold up the others. These limits
 * count attempts in progress in this process:
 *
 * - Each receiver gets at most `perHost`, and each merchant at most seven eighths of `perHost`, because other merchants
 *   may share the receiver. A lane whose attempts are slow gets half of `perHost`.
 * - A merchant can invent any number of hosts, so each merchant gets at most three quarters of `total`, half of `total`
 *   for lanes that are not known to be prompt, and an eighth for slow lanes.
 * - Slow lanes together get half of `total`. Beyond that half, each merchant without a slow attempt in progress gets
 *   one slow attempt.
 * - Half of `total` is open to every new receiver. In the other half, each new receiver gets one attempt.
 * - The last eighth of `total` is for prompt lanes, and for one attempt of each merchant that has no attempt in
 *   progress.
 *
 * A delivery that waits for room stays ready in the storage.
 */
export interface Fairness {
  /** Returns how many more attempts may be started now. */
  room(): number;
  /** Returns how many more attempts a merchant may start now. */
  roomOfMerchant(merchantId: string): number;
  /** Returns how many deliveries of each lane to claim. Serves the lanes in order and leaves out lanes without room. */
  plan(lanes: readonly Lane[]): LaneClaim[];
  /**
   * Makes an attempt that was planned, and counts it from now until it ends. The time until `turn` does not count as
   * slowness.
   */
  run<T>(lane: Lane, attempt: () => Promise<T>, turn?: Promise<void>): Promise<T>;
}

interface Attempt {
  lane: Lane;
  /** The limits to which the attempt counts. The keys are built once, because a plan reads the keys of all attempts. */
  keys: Keys;
  begunAt: number;
}

export function createFairness({ perHost, total, now }: FairnessLimits): Fairness {
  const attempts = new Set<Attempt>();
  const promptness = createPromptness();
  const half = Math.ceil(total / 2);
  const perMerchant = Math.ceil((total * 3) / 4);
  const slowPerMerchant = Math.ceil(total / 8);
  const reserve = Math.floor(total / 8);
  const perLane = Math.ceil((perHost * 7) / 8);
  const perSlowLane = Math.ceil(perHost / 2);

  const room = () => Math.max(0, (attempts.size >= half ? total : half) - attempts.size);
  const roomOfMerchant = (id: string) =>
    Math.max(0, perMerchant - [...attempts].filter(({ lane }) => lane.merchantId === id).length);

  /** Counts the attempts in progress and the attempts planned so far. */
  function count() {
    const counts = new Map<string, number>();
    const get = (key: string) => counts.get(key) ?? 0;
    const slow = promptness.slowLanes(attempts, now());
    const paceOf = ({ lane }: Keys) => (slow.has(lane) ? "slow" : promptness.of(lane));
    function add(keys: Keys, number: number) {
      const pace = paceOf(keys);
      for (const key of ["all", keys.host, keys.lane, keys.merchant, pace, keys[pace]])
        counts.set(key, get(key) + number);
    }
    for (const { keys } of attempts) add(keys, 1);
    return { get, add, paceOf };
  }

  return {
    room,
    roomOfMerchant,
    plan(lanes) {
      const { get, add, paceOf } = count();
      const isCrowded = attempts.size >= half;

      /** How many more attempts of a lane fit into the part of `total` for lanes that are equally prompt or slow. */
      function share(keys: Keys): number {
        const pace = paceOf(keys);
        const free = total - get("all");
        if (pace === "prompt") return free;
        const isIdle = get(keys.merchant) === 0;
        const open = Math.max(free - reserve, isIdle ? Math.min(1, free) : 0);
        const unproven = half - get(keys.new) - get(keys.slow);
        if (pace === "slow") {
          const ofAll = Math.max(half - get("slow"), get(keys.slow) === 0 ? 1 : 0);
          return Math.min(open, unproven, slowPerMerchant - get(keys.slow), ofAll);
        }
        const openToAll = isCrowded ? (get(keys.host) === 0 ? 1 : 0) : Math.max(half - get("all"), 0);
        return Math.min(open, unproven, openToAll);
      }

      return lanes.flatMap((lane) => {
        const keys = keysOf(lane);
        const number = Math.min(
          share(keys),
          perHost - get(keys.host),
          (paceOf(keys) === "slow" ? perSlowLane : perLane) - get(keys.lane),
          perMerchant - get(keys.merchant),
        );
        if (number <= 0) return [];
        add(keys, number);
        return [{ ...lane, count: number }];
      });
    },
    async run(lane, attempt, turn) {
      const current = { lane, keys: keysOf(lane), begunAt: turn ? Infinity : now() };
      attempts.add(current);
      try {
        if (turn) {
          await turn;
          current.begunAt = now();
        }
        return await attempt();
      } finally {
        attempts.delete(current);
        promptness.note(current, now());
      }
    },
  };
}

/** The names under which an attempt is counted. Merchants' ids contain no space. */
const keysOf = ({ merchantId, host }: Lane) => ({
  host: `host ${host}`,
  lane: `lane ${merchantId} ${host}`,
  merchant: `merchant ${merchantId}`,
  new: `new ${merchantId}`,
  prompt: `prompt ${merchantId}`,
  slow: `slow ${merchantId}`,
});
type Keys = ReturnType<typeof keysOf>;
