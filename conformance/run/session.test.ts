import { expect, test } from "vitest";
import { given, Prerequisite, type Check, type Context } from "../check.ts";
import type { HttpClient } from "../target/http.ts";
import { BudgetExceeded, RunStopped } from "../target/ledger.ts";
import type { RunOptions } from "../run-options.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import { createSession } from "./session.ts";
import type { CheckReport } from "./verdicts.ts";

const must = "create.accepted";
const should = "create.phone-422";
const open = "create.initial-status";

/** The responses of a target that refuses the reference "too-much". */
const respond: HttpClient["send"] = async ({ body = "" }) => {
  const refused = String(body).includes("too-much");
  return {
    status: refused ? 422 : 200,
    headers: { "content-type": "application/json" },
    body: Buffer.from(refused ? '{"statusCode":422,"error":"Too much"}' : '{"statusCode":200,"data":{}}'),
  };
};

function session(over: Partial<RunOptions> = {}, maxPayouts = 2, maxTotal = 1000, send = respond) {
  const more = { profile: "core", settleTimeoutMs: 1000, recipient: "2257038102473", controls: [], assumed: [] };
  const { target, now, sleep } = scriptedTarget(send, { maxPayouts, maxTotal });
  return createSession({ ...target.options, ...more, ...over } as unknown as RunOptions, { target, now, sleep });
}

const check = (run: (context: Context) => unknown, over: Partial<Check> = {}): Check => ({
  name: "a check",
  ids: [must, should, open],
  effect: "moves-money",
  run: async (context) => void (await run(context)),
  ...over,
});
const good = (context: Context, id: typeof must | typeof should = must) => context.judge(id, true, "e", "a", []);
const throws = (error: unknown) => () => {
  throw error;
};

const unjudged = ["could-not-run", "could-not-run", "could-not-run"];

test.each<[string, (context: Context) => unknown, string[], error?: RegExp]>([
  [
    "passes a requirement without failed findings, and reports what it observed",
    (context) => [good(context), good(context, should), context.observe(open, "status", "pending")],
    ["pass", "pass", "observed"],
  ],
  [
    "fails a must and warns for a should with a failed finding",
    (context) => {
      good(context);
      context.judge(must, false, "200", "500", []);
      context.judge(should, false, "422", "400", []);
      context.observe(open, "status", "pending");
    },
    ["fail", "warn", "observed"],
  ],
  ["never passes what it did not judge", (context) => good(context), ["pass", "could-not-run", "could-not-run"], /422/],
  ["without a prerequisite fails", throws(new Prerequisite("a payout", "500")), ["fail", "warn", "could-not-run"]],
  ["could not run if the run was stopped", throws(new RunStopped("gone")), unjudged],
  ["could not run without budget", throws(new BudgetExceeded("much")), unjudged],
  ["that throws is an error in the suite", throws(new TypeError("no function")), unjudged, /no function/],
])("a check %s", async (_, run, verdicts, error) => {
  const report = await session().runCheck(check(run));
  expect([must, should, open].map((id) => report.results[id]?.verdict)).toEqual(verdicts);
  if (error) expect(report.error).toMatch(error);
  else expect(report.error).toBeUndefined();
});

test.each([
  ["safe-numbers", "target", { environment: "live" }],
  ["second-key", "caller", {}],
] as const)("a check that needs %s does not run without it, and the reason names the %s", async (need, code, over) => {
  const report = await session(over).runCheck(check(() => undefined, { needs: [need] }));
  expect([report.notApplicable[must]?.code, report.results]).toEqual([code, {}]);
});

test("a refusal for an unknown limit fails nothing, but other evidence does", async () => {
  const json = { reference: "too-much", amount: 20_000 };
  const ids = [must, "create.amount-echoed", "create.status-known"];
  const run = async (context: Context) => {
    const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json } as const;
    const refused = await context.target.send(create);
    context.judge(must, false, "200", "422", refused);
    context.judge("create.amount-echoed", false, "435", "4.35", []);
    context.judge("create.amount-echoed", false, "200", "422", refused);
    given(false, "200", refused);
  };
  const { results, notApplicable } = await session({}, 9, 1e6).runCheck(check(run, { ids }));
  const limit = expect.stringContaining('add a line such as "largestAmount: 1000000" to certify.yaml') as string;
  expect([...ids.map((id) => results[id]), notApplicable]).toMatchObject([
    { verdict: "could-not-run", actual: limit },
    { verdict: "fail", actual: "4.35" },
    { verdict: "could-not-run" },
    {},
  ]);
});

test("a watch does not pass without a response to judge", async () => {
  const one = session();
  const id = "errors.no-5xx";
  const { results } = await one.runCheck(one.watchAll([{ id, applies: () => true, faults: () => [] }]));
  expect(results[id]?.verdict).toBe("could-not-run");
});

async function runAll(checks: Check[], one = session({}, 10)) {
  const reports: { check: Check; report: CheckReport }[] = [];
  for await (const each of one.runAll(checks)) reports.push(each);
  return reports;
}

const pay = async ({ target }: Context, reference: string) =>
  target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { amount: 10, reference } });

/** Makes this number of payouts. */
const pays = (name: string, count: number, over: Partial<Check> = {}) =>
  check(
    async (context) => {
      for (let paid = 0; paid < count; paid += 1)
        context.judge(must, true, "e", "a", await pay(context, `${name}-${paid}`));
    },
    { name, ids: [must], payouts: count, amount: 10 * count, ...over },
  );

test.each<[string, Check[], Partial<RunOptions>, maxPayouts: number, most: number]>([
  ["if harmless", [pays("a", 2), pays("b", 3), pays("c", 1, { needs: ["failing-recipient"] })], {}, 9, 3],
  ["but not one that measures a race", [pays("a", 1, { alone: true }), pays("b", 1)], {}, 9, 1],
  ["but not one of a phase", [pays("a", 1, { phase: "opening" }), pays("b", 1), pays("c", 1)], {}, 9, 2],
  ["but not if the budget does not cover them together", [pays("a", 2), pays("b", 2, { needs: ["clock"] })], {}, 3, 1],
  [
    "but not one that waits for a person",
    [pays("a", 1, { needs: ["finish-or-person"] }), pays("b", 1)],
    { interactive: true },
    9,
    1,
  ],
])("checks run side by side, %s", async (_, checks, over, maxPayouts, expected) => {
  let [inTransit, most] = [0, 0];
  const counting: HttpClient["send"] = async (request) => {
    most = Math.max(most, (inTransit += 1));
    await new Promise((resolve) => setImmediate(resolve));
    inTransit -= 1;
    return respond(request);
  };
  const failingRecipient = "2250000000089";
  const reports = await runAll(checks, session({ failingRecipient, ...over }, maxPayouts, 5000, counting));
  expect(most).toBe(expected);
  expect(new Set(reports.map((each) => each.check))).toEqual(new Set(checks));
  for (const { check: ran, report } of reports.filter((each) => each.report.results[must]?.verdict === "pass")) {
    const paid = report.created.map(({ merchantsReference }) => merchantsReference?.slice(0, -2));
    expect(paid).toEqual(Array(ran.payouts ?? 0).fill(ran.name));
    expect(report.results[must]?.exchanges).toHaveLength(ran.payouts ?? 0);
  }
});

test("checks that wait create their payouts first, are charged once, and must not pay more than declared", async () => {
  const log: string[] = [];
  const waiting = (name: string, more?: (context: Context) => Promise<unknown>): Check => ({
    ...pays(name, 1),
    async *run(context) {
      await pay(context, name);
      log.push(`${name} pays`);
      good(context);
      yield;
      log.push(`${name} waits`);
      await more?.(context);
      context.judge(must, false, "late", "a", context.responses);
    },
  });
  const greedy = waiting("greedy", (context) => pay(context, "more"));
  const [first, , last] = await runAll([waiting("first"), pays("other", 1), greedy]);
  expect(log).toEqual(["first pays", "greedy pays", "first waits", "greedy waits"]);
  const found = { verdict: "fail", expected: "late", exchanges: [{}] };
  expect(first?.report).toMatchObject({ results: { [must]: found }, created: [{}] });
  const error = expect.stringContaining(
    "made 2 payouts with a total of 20, but declares 1 with a total of 10",
  ) as string;
  expect(last?.report).toMatchObject({ payouts: 4, total: 40, error });
});
