import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lane } from "../domain/queues.ts";
import { createFairness, type Fairness } from "./fairness.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const lane = (host: string, merchantId = "ada"): Lane => ({ merchantId, host });
/** How many deliveries of this lane could be claimed if there were no other lanes. */
const roomFor = (fairness: Fairness, host: string, merchantId?: string) =>
  fairness.plan([lane(host, merchantId)])[0]?.count ?? 0;

interface Due extends Lane {
  takesMs: number;
}

const times = (count: number, host: string, takesMs: number, merchantId = host): Due[] =>
  Array.from({ length: count }, () => ({ merchantId, host, takesMs }));

/** Delivers what is due, as the worker does; returns the times at which the deliveries to `host` ended. */
async function deliver(
  due: Due[],
  host: string,
  fairness = createFairness({ perHost: 32, total: 512, now: () => Date.now() }),
) {
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
    const fairness = createFairness({ perHost: 3, total: 12, now: () => Date.now() });
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
    const fairness = createFairness({ perHost: 3, total: 16, now: () => Date.now() });
    const lanes = [lane("a", "ada"), lane("a", "kofi"), lane("b", "ada"), lane("c", "ada"), lane("d", "kofi")];
    expect(fairness.plan(lanes)).toEqual([
      { ...lane("a", "ada"), count: 3 },
      { ...lane("b", "ada"), count: 3 },
      { ...lane("c", "ada"), count: 2 },
    ]);
  });

  test("when half is taken, only receivers without an attempt in progress get more, one each", () => {
    const fairness = createFairness({ perHost: 2, total: 4, now: () => Date.now() });
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
  });
});

test("a merchant with many hosts leaves a quarter of the room to others", async () => {
  const fairness = createFairness({ perHost: 1, total: 4, now: () => Date.now() });
  for (const host of ["a", "b", "c"]) void fairness.run(lane(host, "ada"), () => delay(10));
  expect([fairness.roomOfMerchant("ada"), fairness.roomOfMerchant("kofi")]).toEqual([0, 3]);
  expect(fairness.plan([lane("d", "ada"), lane("d", "kofi")])).toEqual([{ ...lane("d", "kofi"), count: 1 }]);
  await vi.runAllTimersAsync();
  expect(fairness.roomOfMerchant("ada")).toBe(3);
});

test("an attempt that fails releases its place and rejects with its error", async () => {
  const fairness = createFairness({ perHost: 1, total: 2, now: () => Date.now() });
  await expect(fairness.run(lane("a"), () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect([fairness.room(), roomFor(fairness, "a")]).toEqual([1, 1]);
  expect(await fairness.run(lane("a"), () => Promise.resolve("done"))).toBe("done");
});

/** Starts an attempt of each lane that the plan allows, and returns their number. */
function begin(fairness: Fairness, lanes: readonly Lane[], takesMs: number): number {
  const planned = fairness.plan(lanes).flatMap(({ count, ...of }) => Array.from({ length: count }, () => of));
  for (const each of planned) void fairness.run(each, () => delay(takesMs));
  return planned.length;
}
const merchants = (count: number) => Array.from({ length: count }, (_, index) => `merchant-${index}`);

describe("neighbours", () => {
  const limits = { perHost: 64, total: 1_024, now: () => Date.now() };
  test("900 dead hosts leave a prompt receiver its full share, also on a host that others share", async () => {
    const fairness = createFairness(limits);
    begin(fairness, [lane("hooks", "ada")], 20);
    await vi.advanceTimersByTimeAsync(20);
    const dead = merchants(3).flatMap((id) =>
      Array.from({ length: 300 }, (_, index) => lane(`dead-${index}-${id}`, id)),
    );
    for (let rounds = 0; rounds < 20; rounds += 1) begin(fairness, dead, 15_000);
    expect(roomFor(fairness, "hooks", "ada")).toBe(56);
    // Another merchant hangs on the same host.
    for (let rounds = 0; rounds < 20; rounds += 1) begin(fairness, [lane("hooks", "merchant-0")], 15_000);
    expect(roomFor(fairness, "hooks", "ada")).toBeGreaterThanOrEqual(8);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(roomFor(fairness, "hooks", "ada")).toBeGreaterThanOrEqual(8);
  });

  test("a merchant with a new receiver finds room however many receivers of others are dead", async () => {
    const fairness = createFairness(limits);
    const dead = merchants(20).flatMap((id) => Array.from({ length: 100 }, (_, index) => lane(`${id}-${index}`, id)));
    for (let seconds = 0; seconds < 60; seconds += 1) {
      for (let rounds = 0; rounds < 5; rounds += 1) begin(fairness, dead, 15_000);
      expect(roomFor(fairness, "new", "ada")).toBeGreaterThanOrEqual(1);
      await vi.advanceTimersByTimeAsync(1_000);
    }
  });

  test("a merchant whose receivers are slow gets an eighth of the room, and others still get theirs", async () => {
    const fairness = createFairness(limits);
    const slow = Array.from({ length: 8 }, (_, index) => lane(`slow-${index}`, "kofi"));
    begin(fairness, slow, 15_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(begin(fairness, slow, 15_000)).toBe(128);
    expect(roomFor(fairness, "new", "ada")).toBe(56);
  });

  test("a lane that is prompt again is treated as such after one attempt", async () => {
    const fairness = createFairness(limits);
    begin(fairness, [lane("a")], 15_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(roomFor(fairness, "a")).toBe(32);
    void fairness.run(lane("a"), () => delay(10));
    await vi.advanceTimersByTimeAsync(10);
    expect(roomFor(fairness, "a")).toBe(56);
  });
});
