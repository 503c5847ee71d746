import { beforeEach, expect, test } from "vitest";
import type { Lane } from "../domain/queues.ts";
import { createReturns, type Returns } from "./returns.ts";

const lane = (host: string): Lane => ({ merchantId: "m", host });
let waiting: Map<string, number>;
let returns: Returns;
let woken: number;

beforeEach(() => {
  waiting = new Map();
  woken = 0;
  returns = createReturns({
    storage: {
      async advanceRetries({ host }, { least, limit }) {
        const left = waiting.get(host) ?? 0;
        const count = left < least ? 0 : Math.min(left, limit);
        waiting.set(host, left - count);
        return count;
      },
    },
    stopping: new AbortController().signal,
    onReady: () => (woken += 1),
  });
});

test("the first success of a retry makes what waits due, at most 25 a step, and 50 for all receivers", async () => {
  for (const host of ["a", "b", "c"]) {
    waiting.set(host, 60);
    returns.note(lane(host), 1, true);
  }
  await returns.advance();
  expect([...waiting.values()]).toEqual([35, 35, 60]);
  await returns.advance();
  expect([...waiting.values()]).toEqual([10, 35, 35]);
  for (let steps = 0; steps < 4; steps += 1) await returns.advance();
  expect([...waiting.values()]).toEqual([0, 0, 0]);
  const before = woken;
  await returns.advance();
  expect(woken).toBe(before);
});

test("a first attempt that succeeds, and a success with few waiting, change nothing", async () => {
  waiting.set("a", 60).set("b", 9);
  returns.note(lane("a"), 0, true);
  returns.note(lane("b"), 3, true);
  await returns.advance();
  expect([...waiting.values()]).toEqual([60, 9]);
});

test("a receiver that fails again gets no more until its next success", async () => {
  waiting.set("a", 100);
  returns.note(lane("a"), 1, true);
  await returns.advance();
  returns.note(lane("a"), 0, false);
  await returns.advance();
  expect(waiting.get("a")).toBe(75);
  returns.note(lane("a"), 1, true);
  await returns.advance();
  expect(waiting.get("a")).toBe(50);
});
