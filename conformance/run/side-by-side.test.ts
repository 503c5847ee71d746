import { expect, test } from "vitest";
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
const namesOf = (next: readonly Check[], over: Partial<RunOptions> = {}, maxPayouts = 1000) =>
  sideBySide(next, { ...money, ...over }, createBudget(maxPayouts, 1000)).map(({ name }) => name);
const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each([
  [[2, 3, 900], false],
  [[2, 80, 900], true],
  [[], false],
])("a target with response times of %j ms is slow: %s", (times, slow) => {
  expect(isSlow(times.map((durationMs) => ({ durationMs }) as Exchange))).toBe(slow);
});

const [a, b] = [check("a"), check("b")];
const costly = (payouts: number) => check(`pays ${payouts}`, { payouts, amount: payouts * 100 });
const own = [check("clock", { needs: ["clock"] }), check("race", { alone: true })];
const byPerson = check("pay", { needs: ["finish-or-person"] });

test.each<[string, Check[], Partial<RunOptions>, number, string[]]>([
  [
    "without needs of their own",
    [a, ...own, check("receiver", { needs: ["receiver"] }), b],
    {},
    9,
    ["a", "receiver", "b"],
  ],
  ["up to the next phase", [a, b, check("closing", { phase: "closing" }), check("c")], {}, 9, ["a", "b"]],
  ["up to the next effect", [a, b, check("harmless", { effect: "none" })], {}, 9, ["a", "b"]],
  ["none in a phase", [check("first", { phase: "opening" }), a, b], {}, 9, []],
  ["none with other effects than money", [a, b], { effects: "reject" }, 9, []],
  ["none in the extended profile", [a, b], { profile: "extended" }, 9, []],
  ["that the budget covers together", [costly(6), costly(4)], {}, 10, ["pays 6", "pays 4"]],
  ["none if the budget does not cover all", [costly(6), costly(4)], {}, 9, []],
  ["also those that finish checkouts", [byPerson, a, b], {}, 9, ["pay", "a", "b"]],
  ["but not those that a person finishes", [byPerson, a, b], { interactive: true }, 9, ["a", "b"]],
])("side by side run checks %s", (_, next, over, maxPayouts, expected) => {
  expect(namesOf(next, over, maxPayouts)).toEqual(expected);
});

test("no check of the core that lets requests race, or moves the clock far, shares its time", () => {
  const alone = ["create.duplicate-race", "create.duplicate-race-any-field", "records.concurrent", "webhook.retries"];
  const shared = new Set(checks.flatMap((each) => (namesOf([each, a]).length > 0 ? each.ids : [])));
  expect(alone.filter((id) => shared.has(id))).toEqual([]);
  expect(shared).toContain("create.accepted");
});

const all = Array.from({ length: 30 }, (_, index) => check(String(index)));

test("lanes run several checks at a time, and yield results in the order of the checks", async () => {
  let [running, most] = [0, 0];
  const run = async ({ name }: Check) => {
    most = Math.max(most, (running += 1));
    for (let turns = Number(name) % 3; turns >= 0; turns -= 1) await turn();
    running -= 1;
    return name;
  };
  const seen: string[] = [];
  for await (const { report } of inLanes(all, run)) seen.push(report);
  expect(seen).toEqual(all.map(({ name }) => name));
  expect(most).toBe(16);
});

test("lanes start no further check when the caller ends the run, and leave no unhandled rejection", async () => {
  let started = 0;
  const run = async ({ name }: Check) => {
    started += 1;
    await turn();
    if (name !== "0") throw new Error("broken");
  };
  for await (const _ of inLanes(all, run)) break;
  await turn();
  expect(started).toBeLessThan(all.length);
});

test("lanes throw what a check throws", async () => {
  const results = inLanes(all, async ({ name }) => {
    if (name === "3") throw new Error("broken");
  });
  const readAll = async () => {
    for await (const _ of results);
  };
  await expect(readAll()).rejects.toThrow("broken");
});
