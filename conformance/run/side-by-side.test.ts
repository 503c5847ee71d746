import { describe, expect, test } from "vitest";
import type { Check } from "../check.ts";
import { checks } from "../topics/index.ts";
import type { Exchange } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import { createBudget } from "../target/budget.ts";
import { inLanes, isSlow, sideBySide } from "./side-by-side.ts";

const check = (name: string, over: Partial<Check> = {}): Check => ({
  name,
  ids: [],
  effect: "moves-money",
  run: async () => {},
  ...over,
});
const money = { profile: "core", effects: "money" } as RunOptions;
const namesOf = (next: readonly Check[], options = money, budget = createBudget(1000, Infinity)) =>
  sideBySide(next, options, budget).map(({ name }) => name);
const turn = () => new Promise((resolve) => setImmediate(resolve));

const took = (...times: number[]) => isSlow(times.map((durationMs) => ({ durationMs }) as Exchange));

test("a target is slow if half of its responses take 80 ms", () => {
  expect([took(2, 3, 900), took(2, 80, 900), took()]).toEqual([false, true, false]);
});

describe("the checks that run side by side", () => {
  const [a, b] = [check("a"), check("b")];

  test("are those up to the next phase or effect that need nothing of their own", () => {
    const next = [
      a,
      check("clock", { needs: ["clock"] }),
      check("receiver", { needs: ["receiver"] }),
      check("race", { alone: true }),
      b,
    ];
    expect(namesOf([...next, check("closing", { phase: "closing" }), check("c")])).toEqual(["a", "receiver", "b"]);
    expect(namesOf([...next, check("harmless", { effect: "none" })])).toEqual(["a", "receiver", "b"]);
    expect(namesOf([check("first", { phase: "opening" }), a, b])).toEqual([]);
  });

  test("are none with other effects than money, or in the extended profile", () => {
    expect(namesOf([a, b], { ...money, effects: "reject" })).toEqual([]);
    expect(namesOf([a, b], { ...money, profile: "extended" })).toEqual([]);
  });

  test("are no more than the budget covers together", () => {
    const [six, five, four] = [6, 5, 4].map((payouts) => check(`pays ${payouts}`, { payouts, amount: payouts * 100 }));
    expect(namesOf([six!, four!, five!], money, createBudget(10, 1000))).toEqual(["pays 6", "pays 4"]);
    expect(namesOf([six!, four!, five!], money, createBudget(20, 1000))).toEqual(["pays 6", "pays 4"]);
    expect(namesOf([six!, five!, four!], money, createBudget(10, 1000))).toEqual([]);
  });

  test("do not include what a person has to do", () => {
    const next = [check("pay", { needs: ["finish-or-person"] }), a, b];
    expect(namesOf(next)).toEqual(["pay", "a", "b"]);
    expect(namesOf(next, { ...money, interactive: true })).toEqual(["a", "b"]);
  });

  test("do not include a check of the core that lets requests race, or moves the clock far", () => {
    const far = ["create.duplicate-race", "create.duplicate-race-any-field", "records.concurrent", "webhook.retries"];
    const shared = new Set(checks.flatMap((each) => (namesOf([each, a]).length > 0 ? each.ids : [])));
    expect(far.filter((id) => shared.has(id))).toEqual([]);
    expect(shared).toContain("create.accepted");
  });
});

describe("lanes", () => {
  const all = Array.from({ length: 30 }, (_, index) => check(String(index)));

  test("run several checks at a time, and yield results in the order of the checks", async () => {
    let now = 0;
    let most = 0;
    const run = async ({ name }: Check) => {
      most = Math.max(most, (now += 1));
      for (let turns = Number(name) % 3; turns >= 0; turns -= 1) await turn();
      now -= 1;
      return name;
    };
    const seen: string[] = [];
    for await (const { report } of inLanes(all, run)) seen.push(report);
    expect(seen).toEqual(all.map(({ name }) => name));
    expect(most).toBe(16);
  });

  test("start no further check when the caller ends the run", async () => {
    let started = 0;
    const run = async () => {
      started += 1;
      await turn();
    };
    for await (const _ of inLanes(all, run)) break;
    await turn();
    expect(started).toBeLessThan(all.length);
  });

  test("leave no unhandled rejection when the caller ends the run before a check throws", async () => {
    const run = async ({ name }: Check) => {
      await turn();
      if (name !== all[0]?.name) throw new Error("broken");
    };
    const seen: string[] = [];
    for await (const { check: first } of inLanes(all, run)) {
      seen.push(first.name);
      break;
    }
    await turn();
    expect(seen).toEqual([all[0]?.name]);
  });

  test("throw what a check throws", async () => {
    const results = inLanes(all, async ({ name }) => {
      if (name === "3") throw new Error("broken");
    });
    const readAll = async () => {
      for await (const _ of results);
    };
    await expect(readAll()).rejects.toThrow("broken");
  });
});
