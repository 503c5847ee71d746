// A target whose HTTP client is a function, and whose clock moves only when the target waits.
import type { HttpClient } from "../target/http.ts";
import { createBudget } from "../target/ledger.ts";
import { createRedactor } from "../target/redact.ts";
import { createTarget, type TargetDeps, type TargetOptions } from "../target/target.ts";

type Settings = Partial<TargetOptions> & {
  maxPayouts?: number;
  maxTotal?: number;
  /** Texts to redact, and phone numbers to mask. */
  hidden?: [secrets: readonly string[], phones: readonly string[]];
  deps?: Partial<TargetDeps>;
};

export function scriptedTarget(
  send: HttpClient["send"],
  { maxPayouts = 500, maxTotal = 2 ** 60, hidden = [[], []], deps, ...options }: Settings = {},
) {
  /** The waits so far, in milliseconds. Their sum is the time that has passed. */
  const waits: number[] = [];
  const clock = {
    now: () => new Date(waits.reduce((sum, wait) => sum + wait, 0)),
    sleep: async (ms: number) => void waits.push(ms),
  };
  const target = createTarget(
    {
      baseUrl: "http://127.0.0.1:1",
      effects: "money",
      key: "k",
      headers: {},
      timeoutMs: 1000,
      seed: 1,
      runId: "r1",
      ...options,
    },
    {
      http: { send, close() {} },
      budget: createBudget(maxPayouts, maxTotal),
      redact: createRedactor(...hidden),
      ...clock,
      ...deps,
    },
  );
  return { target, waits, ...clock };
}
