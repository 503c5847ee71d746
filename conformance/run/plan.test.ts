import { expect, test } from "vitest";
import type { Check } from "../check.ts";
import { checks as allChecks } from "../topics/index.ts";
import { allControls, type RunOptions } from "../run-options.ts";
import { obstacleTo, planLines } from "./plan.ts";
import { inOrder, selectedChecks } from "./selection.ts";
import type { Effect } from "../results.ts";

const check = (id: string, effect: Effect, more: Partial<Check> = {}): Check => ({
  name: id,
  ids: [id],
  effect,
  run: async () => undefined,
  ...more,
});
const looking = check("auth.verify-needs-key", "none");
const refused = check("auth.create-needs-key", "must-be-rejected");
const paying = check("create.accepted", "moves-money", { payouts: 2, amount: 300 });
const extended = check("forced.001-success", "moves-money", { payouts: 1, amount: 100 });
const rotating = check("uniqueness.per-merchant", "moves-money", {
  payouts: 50,
  amount: 5000,
  needs: ["second-key"],
  leaves: "A secret is rotated.",
});
const closing = check("events.once", "moves-money", { phase: "closing", ids: ["create.accepted", "numbers.exact"] });

const options = {
  baseUrl: "https://pay.example",
  profile: "core",
  effects: "money",
  recipient: "2257038102473",
  maxPayouts: 5,
  maxTotal: 1000,
  seed: 3,
  controls: [],
  assumed: [],
  loopback: false,
} as unknown as RunOptions;
const sandbox = { environment: "sandbox", controls: allControls } as const;

test.each([
  [{}, [looking, refused, paying, closing]],
  [{ profile: "extended" }, [looking, refused, extended, paying, closing]],
  [{ effects: "none" }, [looking]],
  [{ effects: "reject" }, [looking, refused]],
  [{ only: ["create.accepted"] }, [paying, closing]],
  [{ only: ["create.accepted"], effects: "reject" }, []],
  // Every response is judged for the first requirement, and only the closing check judges the second: all checks run.
  [{ only: ["errors.shape"] }, [looking, refused, paying, closing]],
  [{ only: ["numbers.exact"] }, [looking, refused, paying, closing]],
] as const)("%j selects checks", (over, expected) => {
  const all = [extended, paying, refused, looking, closing];
  const selected = selectedChecks(all, ["errors.shape"], { ...options, ...over } as RunOptions);
  expect(new Set(selected)).toEqual(new Set(expected));
});

test("the order depends on the seed, and not on which other checks run", () => {
  const some = [..."abcdefghij"].map((name) => check(name, "moves-money"));
  const order = (seed: number, checks = some) => inOrder(checks, seed).map(({ name }) => name);
  expect(order(1)).not.toEqual(order(2));
  const half = some.slice(5);
  expect(order(1, half)).toEqual(order(1).filter((name) => half.some((other) => other.name === name)));
});

test.each<[string, readonly Check[], Partial<RunOptions>, expected: RegExp, not: RegExp]>([
  ["the worst case, but not the recipient", [paying, extended], {}, /at most 3 payouts .* 400 to \*{10}473/, /2257038/],
  ["nothing about money if none is moved", [looking, refused], sandbox, /Target/, /Money|forward/],
  ["what a check leaves", [rotating], { ...sandbox, secondKey: "k" }, /forward.*\n +A secret is rotated\./, /by weeks/],
  ["no change to a target that is no sandbox", [paying, rotating], { secondKey: "k" }, /Money/, /forward|rotated/],
  ["the amounts beyond a budget", allChecks, { maxTotal: 5e7 }, /Amounts above 167,772\.17 are not tried/, /^$/],
])("the plan names %s", (_, checks, over, expected, not) => {
  const text = planLines(checks, { ...options, ...over }).join("\n");
  expect(text).toMatch(expected);
  expect(text).not.toMatch(not);
});

test.each([
  ["for payouts off loopback", [paying], false, true],
  ["not for payouts on loopback", [paying], true, false],
  ["not without payouts", [looking, refused], false, false],
])("consent is required %s", (_, checks, loopback, asked) => {
  expect(obstacleTo(checks, { ...options, loopback }, false)?.includes("--yes") ?? false).toBe(asked);
  expect(obstacleTo(checks, { ...options, loopback }, true)).toBeUndefined();
});
