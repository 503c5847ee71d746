import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lane } from "../domain/storage.ts";
import { createFairness, type Fairness } from "./fairness.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const lane = (host: string, merchantId = "ada"): Lane => ({ merchantId, host });
/** How many deliveries of this lane alone could be claimed. */
const roomFor = (fairness: Fairness, host: string, merchantId?: string) =>
  fairness.plan([lane(host, merchantId)])[0]?.count ?? 0;

interface Due extends Lane {
  takesMs: number;
}

const times = (count: number, host: string, takesMs: number, merchantId = host): Due[] =>
  Array.from({ length: count }, () => ({ merchantId, host, takesMs }));

/** Delivers what is due, as the worker does; returns the times at which the deliveries to `host` ended. */
async function deliver(due: Due[], host: string, fairness = createFairness({ perHost: 32, total: 512 })) {
  const ended: number[] = [];
  const queues = new Map<string, Due[]>();
  for (const each of due) queues.set(each.host, [...(queues.get(each.host) ?? []), each]);
  const attempt = async (each: Due) => {
    await fairness.run(each, () => delay(each.takesMs));
    if (each.host === host) ended.push(Date.now());
    while (work() > 0);
  };
  function work(): number {
    const claims = fairness.plan([...queues.values()].flatMap(([first]) => first ?? []));
    for (const { host: from, count } of claims) {
      for (const each of queues.get(from)!.splice(0, count)) void attempt(each);
    }
    return claims.length;
  }
  while (work() > 0);
  await vi.runAllTimersAsync();
  expect([...queues.values()].flat()).toEqual([]);
  return ended;
}

describe("one receiver does not hold up another", () => {
  test("1,000 deliveries to a silent receiver, then 1,000 to a healthy one: its p99 is under a second", async () => {
    const ended = await deliver([...times(1000, "dead", 15_000), ...times(1000, "healthy", 20)], "healthy");
    expect(ended).toHaveLength(1000);
    expect(ended[989]).toBeLessThan(1000);
  });

  test("100 silent receivers together leave room for a healthy one", async () => {
    const dead = Array.from({ length: 100 }, (_, index) => times(40, `dead-${index}`, 15_000)).flat();
    const ended = await deliver([...dead, ...times(40, "healthy", 20)], "healthy");
    expect(ended).toHaveLength(40);
    expect(ended.at(-1)).toBeLessThan(1000);
  });
});

describe("limits", () => {
  test("no receiver exceeds its share, nothing that was claimed waits, and the total holds", async () => {
    const fairness = createFairness({ perHost: 3, total: 12 });
    const running = new Map<string, number>();
    let most = 0;
    let longestWait = 0;
    const counted: Fairness = {
      ...fairness,
      run(of, attempt) {
        const claimedAt = Date.now();
        return fairness.run(of, async () => {
          longestWait = Math.max(longestWait, Date.now() - claimedAt);
          running.set(of.host, (running.get(of.host) ?? 0) + 1);
          expect(running.get(of.host)).toBeLessThanOrEqual(3);
          most = Math.max(
            most,
            [...running.values()].reduce((sum, count) => sum + count, 0),
          );
          const result = await attempt();
          running.set(of.host, running.get(of.host)! - 1);
          return result;
        });
      },
    };
    const due = Array.from({ length: 20 }, (_, index) => times(10, `host-${index}`, 100 - index)).flat();
    expect(await deliver(due, "host-0", counted)).toHaveLength(10);
    expect(most).toBe(12);
    expect(longestWait).toBe(0);
  });

  test("a plan gives no lane more than there is room for: in all, at a host, for a merchant", () => {
    const fairness = createFairness({ perHost: 3, total: 16 });
    const lanes = [lane("a", "ada"), lane("a", "kofi"), lane("b", "ada"), lane("c", "ada"), lane("d", "kofi")];
    expect(fairness.plan(lanes)).toEqual([
      { ...lane("a", "ada"), count: 3 },
      { ...lane("b", "ada"), count: 3 },
      { ...lane("c", "ada"), count: 2 },
    ]);
  });

  test("a receiver stays within its share while waiting attempts replace those that end", async () => {
    const fairness = createFairness({ perHost: 2, total: 100 });
    let running = 0;
    const counts: number[] = [];
    const add = (takesMs: number) =>
      fairness.run(lane("a"), async () => {
        counts.push((running += 1));
        await delay(takesMs);
        running -= 1;
      });
    for (const takesMs of [10, 25, 5, 40]) void add(takesMs);
    await vi.advanceTimersByTimeAsync(12);
    for (const takesMs of [15, 20, 5]) void add(takesMs);
    await vi.runAllTimersAsync();
    expect(counts).toEqual([1, 2, 2, 2, 2, 2, 2]);
  });

  test("waiting attempts run in the order in which they were started", async () => {
    const fairness = createFairness({ perHost: 1, total: 10 });
    const order: number[] = [];
    for (const number of [1, 2, 3]) {
      void fairness.run(lane("a"), async () => {
        await delay(10);
        order.push(number);
      });
    }
    expect([fairness.room(), roomFor(fairness, "a"), roomFor(fairness, "b")]).toEqual([2, 0, 1]);
    await vi.runAllTimersAsync();
    expect(order).toEqual([1, 2, 3]);
    expect([fairness.room(), roomFor(fairness, "a")]).toEqual([5, 1]);
  });

  test("when half is taken, only receivers without an attempt in progress get more, one each", () => {
    const fairness = createFairness({ perHost: 2, total: 4 });
    const start = (host: string) => void fairness.run(lane(host, `merchant of ${host}`), () => delay(10));
    const rooms = () => [fairness.room(), ...["a", "b", "new"].map((host) => roomFor(fairness, host, "kofi"))];
    expect(rooms()).toEqual([2, 2, 2, 2]);
    start("a");
    expect(rooms()).toEqual([1, 1, 1, 1]);
    start("b");
    expect(rooms()).toEqual([2, 0, 0, 1]);
    start("c");
    expect(rooms()).toEqual([1, 0, 0, 1]);
    start("d");
    expect(rooms()).toEqual([0, 0, 0, 0]);
    // A replay counts as an attempt in progress even if there is no room.
    start("a");
    expect(rooms()).toEqual([0, 0, 0, 0]);
  });
});

test("a merchant with many hosts leaves a quarter of the room to others", async () => {
  const fairness = createFairness({ perHost: 1, total: 4 });
  for (const host of ["a", "b", "c"]) void fairness.run(lane(host, "ada"), () => delay(10));
  expect([fairness.roomOfMerchant("ada"), fairness.roomOfMerchant("kofi")]).toEqual([0, 3]);
  expect(fairness.plan([lane("d", "ada"), lane("d", "kofi")])).toEqual([{ ...lane("d", "kofi"), count: 1 }]);
  await vi.runAllTimersAsync();
  expect(fairness.roomOfMerchant("ada")).toBe(3);
});

test("an attempt that fails releases its place and rejects with its error", async () => {
  const fairness = createFairness({ perHost: 1, total: 2 });
  await expect(fairness.run(lane("a"), () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect([fairness.room(), roomFor(fairness, "a")]).toEqual([1, 1]);
  expect(await fairness.run(lane("a"), () => Promise.resolve("done"))).toBe("done");
});
