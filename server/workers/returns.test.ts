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

test("the first success of a retry makes what waits due, each step twice as many, and 250 for all receivers", async () => {
  const advance = async () => (await returns.advance(), [...waiting.values()]);
  for (const host of ["a", "b", "c"]) {
    waiting.set(host, 600);
    returns.note(lane(host), 1, true);
  }
  expect(await advance()).toEqual([590, 590, 590]);
  expect(await advance()).toEqual([570, 570, 570]);
  expect(await advance()).toEqual([530, 530, 530]);
  expect(await advance()).toEqual([450, 450, 450]);
  // The first receiver gets 160, and the second receiver the rest of 250. The third receiver is next.
  expect(await advance()).toEqual([290, 360, 450]);
  expect(await advance()).toEqual([200, 360, 290]);
  for (let steps = 0; steps < 8; steps += 1) await advance();
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

test("after ten failures in a row the success of a new webhook makes one due, then twice as many each time", async () => {
  const waitingAfter = async (failures: number) => {
    waiting.set("a", 60);
    for (let failed = 0; failed < failures; failed += 1) returns.note(lane("a"), 0, false);
    returns.note(lane("a"), 0, true);
    for (let steps = 0; steps < 3; steps += 1) await returns.advance();
    return waiting.get("a");
  };
  expect(await waitingAfter(9)).toBe(60);
  expect(await waitingAfter(10)).toBe(53);
  // A receiver that refuses the waiting webhooks and accepts new webhooks loses one attempt of one webhook.
  returns.note(lane("a"), 3, false);
  await returns.advance();
  expect(await waitingAfter(8)).toBe(60);
});

test("a receiver that fails again gets no more until its next success", async () => {
  waiting.set("a", 100);
  returns.note(lane("a"), 1, true);
  await returns.advance();
  returns.note(lane("a"), 0, false);
  await returns.advance();
  expect(waiting.get("a")).toBe(90);
  returns.note(lane("a"), 1, true);
  await returns.advance();
  expect(waiting.get("a")).toBe(80);
});
