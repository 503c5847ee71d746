import { describe, expect, test } from "vitest";
import type { Check } from "../check.ts";
import { checks as allChecks } from "../topics/index.ts";
import { readOptions } from "../cli/options.ts";
import { allControls, type RunOptions } from "../run-options.ts";
import { checksBeyondBudget, missingLines, needsConsent, planLines, worstCase } from "./plan.ts";
import { plannedChecks } from "./run.ts";
import { inOrder, selectedChecks } from "./selection.ts";
import type { Effect } from "../results.ts";

const check = (id: string, effect: Effect, more: Partial<Check> = {}): Check => ({
  name: id,
  ids: [id],
  effect,
  run: async () => undefined,
  ...more,
});

const named = (name: string, effect: Effect, phase?: Check["phase"]) => check(name, effect, { phase });

const looking = check("auth.verify-needs-key", "none");
const refused = check("auth.create-needs-key", "must-be-rejected");
const paying = check("create.accepted", "moves-money", { payouts: 2, amount: 300 });
const ours = check("forced.001-success", "moves-money", { payouts: 1, amount: 100 });
const all = [ours, paying, refused, looking];

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

test("the plan announces that a secret is rotated", () => {
  const over = {
    ...options,
    profile: "extended",
    environment: "sandbox",
    controls: allControls,
    secondKey: "k",
  } as const;
  const text = planLines(plannedChecks(over), { ...over, webhookListen: { host: "::1", port: 0 } }).join("\n");
  expect(text).toContain("The webhook secret of API_KEY_2's merchant is rotated");
  expect(planLines(plannedChecks(over), { ...over, secondKey: undefined }).join("\n")).not.toContain("rotated");
});

test("the plan says that the merchant of a sandbox has payments already", () => {
  const over = { ...options, environment: "sandbox", controls: allControls } as const;
  const linesWith = (hadPayments: boolean) => planLines([paying], { ...over, hadPayments }).join("\n");
  expect(linesWith(true)).toContain("This merchant has payments already, which this run did not make.");
  expect(linesWith(false)).not.toContain("already");
});

test.each([
  [50_000_000, "Amounts above 167,772.17 are not tried"],
  [Infinity, undefined],
])("the plan names the amounts that a budget of %i leaves out", (maxTotal, expected) => {
  const over = { ...options, maxTotal };
  const line = planLines(plannedChecks(over), over).find((each) => each.includes("not tried"));
  expect(line?.trim().slice(0, 38)).toBe(expected);
});

describe("which checks run", () => {
  test.each([
    [{}, [looking, refused, paying]],
    [{ profile: "extended" }, [looking, refused, ours, paying]],
    [{ effects: "none" }, [looking]],
    [{ effects: "reject" }, [looking, refused]],
    [{ only: ["create.accepted"] }, [paying]],
    [{ only: ["create.accepted"], effects: "reject" }, []],
    // Every response is judged for this requirement, so every check must run.
    [{ only: ["errors.shape"] }, [looking, refused, paying]],
  ] as const)("%j", (over, expected) => {
    const selected = selectedChecks(all, ["errors.shape"], { ...options, ...over } as RunOptions);
    expect(new Set(selected)).toEqual(new Set(expected));
  });

  test("all of them for a requirement that is judged only at the end", () => {
    const closing = check("events.once", "moves-money", { phase: "closing", ids: ["create.accepted", "errors.shape"] });
    const names = (only: string) =>
      selectedChecks([...all, closing], [], { ...options, only: [only] }).map(({ name }) => name);
    expect(names("errors.shape")).toHaveLength(4);
    expect(names("create.accepted")).toEqual(["create.accepted", "events.once"]);
  });
});

describe("the order of the checks", () => {
  const many = "abcdefghij".split("");
  const some = [
    named("last", "none", "closing"),
    ...many.map((name) => named(`money ${name}`, "moves-money")),
    named("first payout", "moves-money", "opening"),
    ...many.map((name) => named(`look ${name}`, "none")),
    named("very last", "none", "closing"),
  ];
  const order = (seed: number, checks = some) => inOrder(checks, seed).map(({ name }) => name);

  test("is by effect, with the opening and closing checks in their places", () => {
    const names = order(1);
    expect(names.slice(0, 10).every((name) => name.startsWith("look"))).toBe(true);
    expect(names[10]).toBe("first payout");
    expect(names.slice(-2)).toEqual(["last", "very last"]);
  });

  test("depends on the seed, and not on which other checks run", () => {
    expect(order(1)).toEqual(order(1));
    expect(order(1)).not.toEqual(order(2));
    const half = some.filter((_, index) => index % 2 === 0);
    expect(order(1, half)).toEqual(order(1).filter((name) => half.some((each) => each.name === name)));
  });
});

describe("the plan", () => {
  test("finds that the default budget covers a run against a sandbox on this machine", () => {
    const { maxPayouts } = readOptions(["--base-url", "http://127.0.0.1:3000"], { API_KEY: "key" }, () => 1);
    const over = { ...options, environment: "sandbox", controls: allControls, loopback: true } as const;
    expect(worstCase(plannedChecks(over), over).payouts).toBeLessThanOrEqual(maxPayouts);
  });

  test("names the worst case in money and the recipient's last digits", () => {
    const text = planLines([looking, paying, ours], options).join("\n");
    expect(text).toContain("at most 3 payouts with a total of 400 to **********473");
    expect(text).toContain("limit 5 payouts with a total of 1000");
    expect(text).not.toContain("2257038102473");
  });

  test("names the worst case in units if no limit in the lowest denomination stands beside it", () => {
    const text = planLines([looking, paying, ours], { ...options, maxTotal: Infinity }).join("\n");
    expect(text).toContain("at most 3 payouts with a total of 4.00 to **********473; limit 5 payouts of any total");
  });

  test("names the check with the largest payout", () => {
    const text = planLines([looking, paying, ours], options).join("\n");
    expect(text).toContain('The largest payout, at most 3.00, is made by the check "');
    const whole = planLines(plannedChecks(options), options).join("\n");
    expect(whole).toMatch(/^ +The largest payout, at most [\d,.]+, is made by the check "/m);
  });

  test.each([
    ["every check and their sum", { maxPayouts: 3, maxTotal: 400 }, []],
    [
      "every check but not their sum",
      { maxPayouts: 2, maxTotal: 350 },
      ["may not suffice", "--max-payouts 3 --max-total 400"],
    ],
    [
      "not every check in payouts",
      { maxPayouts: 1, maxTotal: 1000 },
      ["too small for 1 check", "create.accepted: 2 payouts, total 300", "--max-payouts 3 --max-total 1000"],
    ],
    [
      "not every check in money",
      { maxPayouts: 5, maxTotal: 50 },
      ["too small for 2 checks", "forced.001-success", "exit code 2"],
    ],
  ] as const)("describes a budget that covers %s", (_, over, texts) => {
    const text = planLines([looking, paying, ours], { ...options, ...over }).join("\n");
    if (texts.length === 0) expect(text).not.toContain("Budget");
    for (const part of texts) expect(text).toContain(part);
  });

  test("does not count checks that are not applicable to the target", () => {
    const other = check("uniqueness.per-merchant", "moves-money", { payouts: 50, amount: 5000, needs: ["second-key"] });
    expect(worstCase([paying, other], options)).toEqual({ payouts: 2, amount: 300 });
    expect(worstCase([paying, other], { ...options, secondKey: "k" })).toEqual({ payouts: 52, amount: 5300 });
    expect(checksBeyondBudget([paying, other], options)).toEqual([]);
    expect(checksBeyondBudget([paying, other], { ...options, secondKey: "k" })).toEqual([other]);
  });

  const rotating = check("signature.rotation", "moves-money", {
    needs: ["second-key"],
    leaves: "A secret is rotated.",
  });

  test.each([
    [
      "minutes in profile core",
      { environment: "sandbox", controls: allControls },
      /Sandbox .*forward by minutes/,
      /rotated/,
    ],
    [
      "weeks in profile extended",
      { environment: "sandbox", controls: allControls, profile: "extended" },
      /forward by weeks/,
      /rotated/,
    ],
    [
      "what a check leaves",
      { environment: "sandbox", controls: allControls, secondKey: "k" },
      /forward.*\n +A secret is rotated\./,
      /Budget/,
    ],
    ["nothing if the target is not a sandbox", { secondKey: "k" }, /Money/, /forward|rotated/],
  ] as const)("says what changes on a sandbox: %s", (_, over, expected, not) => {
    const text = planLines([paying, rotating], { ...options, ...over }).join("\n");
    expect(text).toMatch(expected);
    expect(text).not.toMatch(not);
  });

  test("announces no change to a sandbox if the run makes no payouts", () => {
    expect(
      planLines([looking, refused], { ...options, environment: "sandbox", controls: allControls }).join("\n"),
    ).not.toContain("forward");
  });

  test("does not mention money if none is moved", () => {
    expect(planLines([looking, refused], options).join("\n")).not.toContain("Money");
  });

  test.each([
    ["is required for payouts off loopback", [paying], false, true],
    ["is not required for payouts on loopback", [paying], true, false],
    ["is not required without payouts", [looking, refused], false, false],
  ])("consent %s", (_, checks, loopback, asked) => {
    expect(needsConsent(checks, { ...options, loopback })).toBe(asked);
  });
});

const lackingAll = { effects: "money", controls: [] } as unknown as RunOptions;
const needing = (need: string) => allChecks.filter(({ needs }) => needs?.[0] === need).slice(0, 2);

describe("the lines about what is missing", () => {
  test("names what the caller did not provide, once, with the option to add", () => {
    const lines = missingLines([...needing("receiver"), ...needing("second-key")], lackingAll);
    expect(lines).toEqual([
      expect.stringMatching(
        /^Missing {2}a webhook receiver \(.*\), for \d+ requirements?\. To judge this, add --webhook-listen HOST:PORT --webhook-url URL$/,
      ),
      expect.stringMatching(
        /^ {9}a second merchant's key \(API_KEY_2\), for \d+ requirements?\. To judge this, add API_KEY_2=KEY$/,
      ),
    ]);
  });

  test("is silent about what the target lacks, and about what is provided", () => {
    const provided = {
      ...lackingAll,
      secondKey: "k",
      failingRecipient: "2250000000089",
      webhookListen: { host: "::1", port: 0 },
    };
    expect(missingLines([...needing("clock"), ...needing("receiver"), ...needing("second-key")], provided)).toEqual([]);
  });
});
