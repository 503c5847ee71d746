// Watches servers while several callers use them, and judges what was seen.
import { noting } from "../broken/met.ts";
import { joined, type How } from "../broken/fault.ts";
import { startBroken, type Running } from "../broken/server.ts";
import { catalogue } from "../contract/requirements.ts";
import type { Requirement } from "../results.ts";
import { createJudge, type JudgeOptions } from "../watch/judge.ts";
import type { WatchResult } from "../watch/result.ts";
import type { Seen } from "../watch/traffic.ts";
import { makeTraffic, startStage, type Size } from "./traffic.ts";

/** Times that fit a model whose payouts settle after 200 ms, and in which a record is old after 300 ms. */
export const short: Size = { payouts: 24, finalMs: 500, oldMs: 600, retriedMs: 1000 };
export const startQuick = (how: How = () => ({})) =>
  startBroken(
    joined(how, () => ({ settings: { settleMs: 200 } })),
    300,
  );
/** What is declared of such a model, all of whose traffic is seen. */
export const declared = { visibleAfterMs: 300, notifiedWithinMs: 600_000, webhookClockMs: 0 };

/** Makes traffic with a server and returns what a watch sees of it. */
export async function watched(start: () => Promise<Running>, seed: number, size = short) {
  const stage = await startStage(start, seed);
  try {
    await makeTraffic(stage, seed, size);
  } finally {
    await stage.stop();
  }
  return stage;
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

const requirements = new Map<string, Requirement>(catalogue.map((each) => [each.id, each]));
/** Returns true for what a service must or should do. What the others observe cannot be contradicted. */
export const isDemanded = (id: string) => requirements.get(id)!.level !== "observe";

/** Returns the contradicted requirements, each with what was expected and what was seen. */
export const alarmsOf = (result: WatchResult) =>
  result.requirements
    .filter(({ contradictions }) => contradictions.count > 0)
    .map(({ id, contradictions: { shown } }) => ({
      id,
      level: requirements.get(id)?.level,
      expected: shown[0]?.expected,
      actual: shown[0]?.actual,
    }));

/** Watches a broken server. Returns how the traffic met the fault, and the requirements that were contradicted. */
export async function watchBroken(how: How, size?: Size) {
  const noted = noting(how);
  const { seen } = await watched(() => startQuick(noted.how), 1, size);
  const alarms = (["core", "extended"] as const).flatMap((profile) =>
    alarmsOf(judged(afterAnHour(seen), { profile, ...declared })),
  );
  return { met: noted.metBy(seen), ids: new Set(alarms.map(({ id }) => id)) };
}
