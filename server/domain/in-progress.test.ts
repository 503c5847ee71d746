import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createFakeClock } from "../testing/clock.ts";
import { InProgress, withLimitedLists, type RoomLimits } from "./in-progress.ts";
import type { Lane } from "./deliveries.ts";
import type { Storage } from "./storage.ts";

const clock = createFakeClock();

/** Work that lasts until it is told to end. */
function held(limits: RoomLimits) {
  const inProgress = new InProgress(limits, clock);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  /** The name begins with the name of the merchant. */
  const run = (name: string) =>
    inProgress.run(name[0]!, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  async function end(name: string) {
    ends.get(name)!();
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
  }
  return { run, end, begun };
}

const lane = (merchantId: string, host: string): Lane => ({ merchantId, host });
const lanesOf = (merchantId: string, count: number) =>
  Array.from({ length: count }, (_, index) => lane(merchantId, `${merchantId}-${index}`));
const limits = { total: 1_024, perHost: 128 };

/** Begins as many of these lanes as have room. Returns what has begun. */
function fill(inProgress: InProgress, lanes: readonly Lane[]): Lane[] {
  const begun: Lane[] = [];
  for (let planned: Lane[] = [...lanes]; planned.length > 0;) {
    planned = inProgress.plan(lanes, 64).flatMap(({ count, ...of }) => Array.from({ length: count }, () => of));
    for (const each of planned) inProgress.begin(each);
    begun.push(...planned);
  }
  return begun;
}

describe("what has no room waits", () => {
  test("one merchant leaves room for others, and merchants that wait take turns", async () => {
    const { run, end, begun } = held({ total: 4 });
    const all = ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1"].map(run);
    await nextTurn();
    expect(begun).toEqual(["a1", "a2", "b1", "c1"]);
    await end("a1");
    expect(begun.slice(4)).toEqual([]);
    await end("a2");
    expect(begun.slice(4)).toEqual(["a3"]);
    await end("b1");
    expect(begun.slice(5)).toEqual(["b2"]);
    for (let index = 0; index < all.length; index += 1) await end(begun[index]!);
    await Promise.all(all);
    expect(begun.toSorted()).toEqual(["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1"]);
  });

  test("a merchant who has too much waiting is refused at once", async () => {
    const { run, begun } = held({ total: 2 });
    const results = Array.from({ length: 1_030 }, (_, index) => run(`a${index}`));
    const refused = await Promise.allSettled(results.slice(1_025));
    expect(refused.every((each) => each.status === "rejected" && each.reason.code === "rate_limited")).toBe(true);
    void run("b1");
    await nextTurn();
    expect(begun).toEqual(["a0", "b1"]);
  });

  test("work that fails makes room", async () => {
    const inProgress = new InProgress({ total: 1 }, clock);
    await expect(inProgress.run("a", () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await inProgress.run("a", async () => "done")).toBe("done");
  });
});

describe("nobody has more in progress than there is room left", () => {
  test("receivers that never respond leave room to the merchant's other receivers, and to other merchants at their host", () => {
    const [one, many] = [new InProgress(limits, clock), new InProgress(limits, clock)];
    expect(fill(one, [lane("ada", "dead")])).toHaveLength(56);
    expect(fill(one, [lane("ada", "healthy")])).toHaveLength(56);
    expect(fill(one, [lane("kofi", "dead")])).toHaveLength(28);
    expect(fill(many, lanesOf("ada", 100)).length).toBeGreaterThan(400);
    expect(fill(many, [lane("ada", "healthy")])).toHaveLength(1);
  });

  test("when 20 merchants have many dead receivers, a new merchant finds room at once, and soon a fair share", () => {
    const inProgress = new InProgress(limits, clock);
    const dead = Array.from({ length: 20 }, (_, index) => lanesOf(`merchant-${index}`, 10)).flat();
    const begun = fill(inProgress, dead);
    expect(inProgress.hasRoom(lane("ada", "healthy"))).toBe(true);
    // The attempts end after a while, and the same merchants have more.
    for (const [index, each] of begun.entries()) {
      inProgress.end(each);
      fill(inProgress, [...dead.slice(index % 200), ...dead.slice(0, index % 200)]);
    }
    expect(fill(inProgress, [lane("ada", "healthy")]).length).toBeGreaterThan(16);
  });

  test("a plan serves the lanes in turn, and begins nothing; what has ended leaves its room to others", () => {
    const lanes = ["a", "b", "c"].map((host) => lane("ada", host));
    const room = new InProgress(limits, clock);
    for (let plans = 0; plans < 2; plans += 1) expect(room.plan(lanes, 8).map(({ count }) => count)).toEqual([3, 3, 2]);
    const full = new InProgress({ total: 2, perHost: 2 }, clock);
    expect(full.plan(lanes, 8)).toEqual([{ ...lanes[0], count: 1 }]);
    for (const merchantId of ["ada", "kofi"]) full.begin(lane(merchantId, "a"));
    expect([full.hasRoom(), full.plan([lane("efua", "c")], 8)]).toEqual([false, []]);
    full.end(lane("ada", "a"));
    expect([full.hasRoom(), full.plan([lane("efua", "c")], 8).length]).toEqual([true, 1]);
  });
});

test("a list waits until the list before has ended and requests have run, and longer while payments are in progress", async () => {
  const payments = new InProgress({ total: 8 }, clock);
  const lists = new InProgress({ total: 1, first: payments }, clock);
  let begun = 0;
  const storage = { listDisbursements: async () => (begun += 1), ping: async () => undefined };
  const limited = withLimitedLists(storage as unknown as Storage, lists);
  const list = () => limited.listDisbursements({ merchantId: "ada" } as never);
  /** Returns how many turns of the event loop pass between two lists. */
  async function turnsBetween() {
    const before = begun;
    const both = Promise.all([list(), list()]);
    let turns = 0;
    for (; begun < before + 2; turns += 1) await nextTurn();
    await both;
    while (!lists.isIdle) await nextTurn();
    return turns;
  }
  const idle = await turnsBetween();
  payments.begin({ merchantId: "kofi" });
  expect(await turnsBetween()).toBeGreaterThanOrEqual(idle + 4);
});
