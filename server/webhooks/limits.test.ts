import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLanes, receiverOf } from "./limits.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Due {
  host: string;
  takesMs: number;
}

const times = (count: number, due: Due): Due[] => Array.from({ length: count }, () => ({ ...due }));

/** Delivers what is due, in its order, as the worker does; gives the times at which those of `host` had ended. */
async function deliver(due: Due[], host: string, lanes = createLanes({ perHost: 32, total: 512 })): Promise<number[]> {
  const ended: number[] = [];
  const queue = [...due];
  const claim = () => {
    let left = lanes.room();
    const shares = new Map<string, number>();
    const claimed: Due[] = [];
    for (const row of queue) {
      const share = shares.get(row.host) ?? lanes.room(row.host);
      if (left === 0) break;
      if (share === 0) continue;
      shares.set(row.host, share - 1);
      left -= 1;
      claimed.push(row);
    }
    for (const row of claimed) queue.splice(queue.indexOf(row), 1);
    return claimed;
  };
  const attempt = async (row: Due) => {
    await lanes.run(row.host, () => delay(row.takesMs));
    if (row.host === host) ended.push(Date.now());
    work();
  };
  const work = () => {
    for (let claimed = claim(); claimed.length > 0; claimed = claim()) {
      for (const row of claimed) void attempt(row);
    }
  };
  work();
  await vi.runAllTimersAsync();
  expect(queue).toEqual([]);
  return ended;
}

describe("one receiver does not hold up another", () => {
  test("1,000 deliveries to a receiver that never answers, then 1,000 to a healthy one: its p99 is under a second", async () => {
    const due = [...times(1000, { host: "dead", takesMs: 15_000 }), ...times(1000, { host: "healthy", takesMs: 20 })];
    const ended = await deliver(due, "healthy");
    expect(ended).toHaveLength(1000);
    expect(ended[989]).toBeLessThan(1000);
  });

  test("100 dead receivers together leave room for a healthy one", async () => {
    const dead = Array.from({ length: 100 }, (_, index) =>
      times(40, { host: `dead-${index}`, takesMs: 15_000 }),
    ).flat();
    const ended = await deliver([...dead, ...times(40, { host: "healthy", takesMs: 20 })], "healthy");
    expect(ended).toHaveLength(40);
    expect(ended.at(-1)).toBeLessThan(1000);
  });
});

describe("limits", () => {
  test("no receiver has more than its share under way, nothing that was claimed waits, and the total holds", async () => {
    const lanes = createLanes({ perHost: 3, total: 12 });
    const running = new Map<string, number>();
    let most = 0;
    let longestWait = 0;
    const counted = {
      ...lanes,
      run: <T>(host: string, attempt: () => Promise<T>) => {
        const claimedAt = Date.now();
        return lanes.run(host, async () => {
          longestWait = Math.max(longestWait, Date.now() - claimedAt);
          running.set(host, (running.get(host) ?? 0) + 1);
          expect(running.get(host)).toBeLessThanOrEqual(3);
          most = Math.max(
            most,
            [...running.values()].reduce((sum, count) => sum + count, 0),
          );
          const result = await attempt();
          running.set(host, running.get(host)! - 1);
          return result;
        });
      },
    };
    const hosts = Array.from({ length: 20 }, (_, index) => `host-${index}`);
    const due = hosts.flatMap((host, index) => times(10, { host, takesMs: 100 - index }));
    expect(await deliver(due, "host-0", counted)).toHaveLength(10);
    expect(most).toBe(12);
    expect(longestWait).toBe(0);
  });

  test("a lane stays within its share while those that wait take over from those that end", async () => {
    const lanes = createLanes({ perHost: 2, total: 100 });
    let running = 0;
    const counts: number[] = [];
    const add = (takesMs: number) =>
      lanes.run("a", async () => {
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

  test("those beyond a full lane run in the order in which they came", async () => {
    const lanes = createLanes({ perHost: 1, total: 10 });
    const order: number[] = [];
    for (const number of [1, 2, 3]) {
      void lanes.run("a", async () => {
        await delay(10);
        order.push(number);
      });
    }
    expect([lanes.room(), lanes.room("a"), lanes.room("b")]).toEqual([2, 0, 1]);
    await vi.runAllTimersAsync();
    expect(order).toEqual([1, 2, 3]);
    expect([lanes.room(), lanes.room("a")]).toEqual([5, 1]);
  });

  test("when half is taken, only receivers with nothing under way get more, one at a time", () => {
    const lanes = createLanes({ perHost: 2, total: 4 });
    const rooms = () => [lanes.room(), lanes.room("a"), lanes.room("b"), lanes.room("new")];
    expect(rooms()).toEqual([2, 2, 2, 2]);
    void lanes.run("a", () => delay(10));
    expect(rooms()).toEqual([1, 1, 1, 1]);
    void lanes.run("b", () => delay(10));
    expect(rooms()).toEqual([2, 0, 0, 1]);
    void lanes.run("c", () => delay(10));
    expect(rooms()).toEqual([1, 0, 0, 1]);
    void lanes.run("d", () => delay(10));
    expect(rooms()).toEqual([0, 0, 0, 0]);
    // A replay is run all the same.
    void lanes.run("a", () => delay(10));
    expect(rooms()).toEqual([0, 0, 0, 0]);
  });
});

test("a merchant with many hosts leaves a quarter of the room to others", async () => {
  const lanes = createLanes({ perHost: 1, total: 4 });
  for (const host of ["a", "b", "c"]) void lanes.run(host, () => delay(10), "ada");
  expect([lanes.roomOf("ada"), lanes.roomOf("kofi"), lanes.room("d")]).toEqual([0, 3, 1]);
  await vi.runAllTimersAsync();
  expect(lanes.roomOf("ada")).toBe(3);
});

test("an attempt that fails gives its place back, and its error to the caller", async () => {
  const lanes = createLanes({ perHost: 1, total: 1 });
  await expect(lanes.run("a", () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect([lanes.room(), lanes.room("a")]).toEqual([1, 1]);
  expect(await lanes.run("a", () => Promise.resolve("done"))).toBe("done");
});

test("idle waits for what is under way", async () => {
  const lanes = createLanes({ perHost: 1, total: 2 });
  let idle = false;
  await lanes.idle();
  void lanes.run("a", () => delay(10));
  void lanes.run("a", () => delay(10));
  void lanes.idle().then(() => {
    idle = true;
    return undefined;
  });
  await vi.advanceTimersByTimeAsync(19);
  expect(idle).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(idle).toBe(true);
});

test.each([
  ["https://merchant.example/webhooks?a=b", "merchant.example"],
  ["https://Merchant.Example:443/", "merchant.example"],
  ["http://127.0.0.1:4000/a", "127.0.0.1:4000"],
  ["http://127.0.0.1:4001/a", "127.0.0.1:4001"],
  ["http://2130706433/", "127.0.0.1"],
  ["nonsense", ""],
])("%s belongs to the receiver %j", (url, receiver) => {
  expect(receiverOf(url)).toBe(receiver);
});
