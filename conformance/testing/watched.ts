// Watches servers while several callers use them, and judges what was seen.
import { catalogue } from "../contract/requirements.ts";
import { handles } from "../broken/changes.ts";
import { joined, type Fault, type How } from "../broken/fault.ts";
import { noting } from "../broken/met.ts";
import { startBroken, type Running } from "../broken/server.ts";
import { createRandom } from "../generate/random.ts";
import type { Profile } from "../results.ts";
import { createJudge, type JudgeOptions } from "../watch/judge.ts";
import type { WatchResult } from "../watch/result.ts";
import type { Seen } from "../watch/traffic.ts";
import { makeTraffic, startStage, type Size } from "./traffic.ts";

/** Times that fit a model whose payouts settle after 200 ms, and in which a record is old after 300 ms. */
export const short: Size = { payouts: 24, finalMs: 500, oldMs: 600, retriedMs: 1000 };
const settles: How = () => ({ settings: { settleMs: 200 } });
/** What is declared of such a model, all of whose traffic is seen (`afterAnHour`). */
export const declared = { visibleAfterMs: 300, notifiedWithinMs: 600_000, webhookClockMs: 0 };

/** The connection to the service breaks after some requests, so that nobody sees the response. */
const losesResponses = (seed: number): How => {
  const random = createRandom(seed, "lost responses");
  return handles(async (call, ask) => {
    const reply = await ask(call);
    return random(1, 100) <= 3 ? undefined : reply;
  });
};

export const startLossy = (how: How, seed: number) => startBroken(joined(losesResponses(seed), how, settles), 300);

export async function seenOf(start: () => Promise<Running>, seed: number, size = short) {
  const stage = await startStage(start, seed);
  try {
    await makeTraffic(stage, seed, size);
  } finally {
    await stage.stop();
  }
  const { seen, missed, key, secondKey } = stage;
  return { seen, missed, key, secondKey };
}

export function judged(seen: readonly Seen[], options: JudgeOptions): WatchResult {
  const judge = createJudge(options);
  try {
    for (const each of seen) judge.see(each);
    return judge.result();
  } finally {
    judge.close();
  }
}

/** Adds an exchange that shows that time has passed, so that every webhook which is due is missing. */
export function afterAnHour(seen: readonly Seen[]): Seen[] {
  const at = Date.now() + 3_600_000;
  return [
    ...seen,
    { kind: "exchange", sentAt: at, endedAt: at, method: "GET", path: "/healthz", headers: {}, body: "" },
  ];
}

const levels = new Map(catalogue.map(({ id, level }) => [id as string, level]));

/** Returns true if a service must or should meet the requirement. What only is observed contradicts nothing. */
export const isDemanded = (id: string) => levels.get(id) !== "observe";

/** Returns the contradictions, each with what was expected and what was seen. */
export const alarmsOf = ({ requirements }: WatchResult, tolerated: readonly string[] = []) =>
  requirements
    .filter(({ id, contradictions }) => contradictions.count > 0 && !tolerated.includes(levels.get(id)!))
    .map(({ id, contradictions: { shown } }) => ({
      id,
      text: `${id}: expected ${shown[0]?.expected}, got ${shown[0]?.actual}`,
    }));

/** Watches a broken server. Returns whether the traffic met the fault, and the requirements that were contradicted. */
export async function watchBroken({ how }: Pick<Fault, "how">, seed: number, size = short) {
  const noted = noting(how);
  const { seen } = await seenOf(() => startLossy(noted.how, seed), seed, size);
  const ids = (["core", "extended"] as const satisfies Profile[]).flatMap((profile) =>
    alarmsOf(judged(afterAnHour(seen), { profile, ...declared })).map(({ id }) => id),
  );
  return { isMet: noted.isMet(), ids: [...new Set(ids)] };
}
