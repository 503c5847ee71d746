// Tests that checks which wait for payouts to settle wait together.
import { expect, test } from "vitest";
import type { Check, Context } from "../check.ts";
import type { RunOptions } from "../run-options.ts";
import { createBudget } from "../target/budget.ts";
import { createRedactor } from "../target/redact.ts";
import { createTarget } from "../target/target.ts";
import { createSession } from "./session.ts";

const id = "create.accepted";
const now = () => new Date(0);
const sleep = async () => {};
const body = Buffer.from('{"statusCode":200,"data":{"reference":"S1"}}');
const http = { send: async () => ({ status: 200, headers: {}, body }), close() {} };

function session(controls: RunOptions["controls"], maxPayouts = 10) {
  const options = {
    baseUrl: "http://127.0.0.1:1",
    profile: "core",
    effects: "money",
    key: "key-of-the-tests",
    headers: {},
    timeoutMs: 1000,
    recipient: "2257038102473",
    controls,
    assumed: [],
  } as unknown as RunOptions;
  const budget = createBudget(maxPayouts, 1000);
  const target = createTarget(options, { http, budget, redact: createRedactor([], []), now, sleep });
  return createSession(options, { target, now, sleep });
}

const pay = (context: Context) =>
  context.target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { amount: 10 } });

const shared = { ids: [id], effect: "moves-money", payouts: 1, amount: 10 } as const;

/** A check that creates a payout, waits, and finds something before and after. */
const waiting = (name: string, log: string[]): Check => ({
  ...shared,
  name,
  async *run(context) {
    await pay(context);
    log.push(`${name} pays`);
    context.judge(id, true, "e", "a", context.responses);
    yield;
    log.push(`${name} waits`);
    context.judge(id, false, "late", "a", context.responses);
  },
});

const other = (name: string, log: string[], over: Partial<Check> = {}): Check => ({
  ...shared,
  name,
  ...over,
  async run(context) {
    if (over.effect === undefined) await pay(context);
    context.judge(id, true, "e", "a", context.responses);
    log.push(name);
  },
});

async function runAll(checks: Check[], one = session([])) {
  const reports = [];
  for await (const { report } of one.runAll(checks)) reports.push(report);
  return reports;
}

test("checks that wait create their payouts first, after the opening checks, and wait in their turn", async () => {
  const log: string[] = [];
  const checks = [
    other("reading", log, { effect: "none" }),
    other("opening", log, { phase: "opening" }),
    waiting("first", log),
    other("middle", log),
    waiting("second", log),
  ];
  const reports = await runAll(checks);
  const early = ["first pays", "second pays"];
  expect(log).toEqual(["reading", "opening", ...early, "first waits", "middle", "second waits"]);
  const [, , , , last] = reports;
  expect(last?.results[id]).toMatchObject({ verdict: "fail", expected: "late" });
  expect(last?.results[id]?.exchanges).toHaveLength(1);
  expect(reports.map(({ created }) => created.length)).toEqual([0, 1, 1, 1, 1]);
});

test("checks that wait run in one go if the target's clock can be moved", async () => {
  const log: string[] = [];
  await runAll([other("before", log), waiting("first", log), other("after", log)], session(["clock"]));
  expect(log).toEqual(["before", "first pays", "first waits", "after"]);
});

test("what a check has paid before it waits is not charged to the budget again", async () => {
  const log: string[] = [];
  const reports = await runAll([waiting("first", log), waiting("second", log)], session([], 2));
  expect(reports.map(({ results }) => results[id]?.verdict)).toEqual(["fail", "fail"]);
  expect(reports.at(-1)).toMatchObject({ payouts: 2, total: 20 });
});

test("a check that fails before it waits does not continue", async () => {
  const log: string[] = [];
  const broken: Check = {
    ...shared,
    name: "broken",
    async *run() {
      log.push("broken");
      yield* [];
      throw new TypeError("a fault");
    },
  };
  const [report] = await runAll([broken]);
  expect(log).toEqual(["broken"]);
  expect(report?.error).toContain("a fault");
});

test("a check that pays more than it declares is an error, also after it waited", async () => {
  const greedy: Check = {
    ...shared,
    name: "greedy",
    async *run(context) {
      await pay(context);
      yield;
      await pay(context);
      context.judge(id, true, "e", "a", context.responses);
    },
  };
  const [report] = await runAll([greedy]);
  expect(report?.error).toContain("made 2 payouts with a total of 20, but declares 1 with a total of 10");
});
