import { describe, expect, test } from "vitest";
import { BudgetExceeded, createBudget } from "../target/budget.ts";
import { given, Prerequisite, type Check, type Context } from "../check.ts";
import type { HttpClient } from "../target/http.ts";
import { RunStopped } from "../target/ledger.ts";
import type { RunOptions } from "../run-options.ts";
import { createRedactor } from "../target/redact.ts";
import { createSession } from "./session.ts";
import { createTarget } from "../target/target.ts";
import type { CheckReport } from "./verdicts.ts";

const must = "create.accepted";
const should = "create.phone-422";
const open = "create.initial-status";

const http: HttpClient = {
  send: async ({ path, body = "" }) => {
    const refused = String(body).includes("too-much");
    return {
      status: path.includes("broken") ? 500 : refused ? 422 : 200,
      headers: { "content-type": "application/json" },
      body: Buffer.from(refused ? '{"statusCode":422,"error":"Too much"}' : '{"statusCode":200,"data":{}}'),
    };
  },
  close() {},
};

const now = () => new Date(0);
const sleep = async () => {};

function session(over: Partial<RunOptions> = {}, maxPayouts = 2, maxTotal = 1000, client = http, clock = now) {
  const options = {
    baseUrl: "http://127.0.0.1:1",
    profile: "core",
    effects: "money",
    key: "key-of-the-tests",
    headers: {},
    timeoutMs: 1000,
    settleTimeoutMs: 1000,
    runId: "r1",
    recipient: "2257038102473",
    controls: [],
    assumed: [],
    ...over,
  } as unknown as RunOptions;
  const budget = createBudget(maxPayouts, maxTotal);
  const redact = createRedactor([options.key], []);
  const target = createTarget(options, { http: client, budget, redact, now: clock, sleep });
  return createSession(options, { target, now: clock, sleep });
}

const check = (run: (context: Context) => unknown, over: Partial<Check> = {}): Check => ({
  name: "a check",
  ids: [must, should, open],
  effect: "moves-money",
  run: async (context) => void (await run(context)),
  ...over,
});

const verdicts = async (run: (context: Context) => unknown, over: Partial<Check> = {}) => {
  const report = await session().runCheck(check(run, over));
  return Object.fromEntries(Object.entries(report.results).map(([id, { verdict }]) => [id, verdict]));
};

describe("a check", () => {
  test("passes a requirement without failed findings, and reports what it observed", async () => {
    const found = await verdicts((context) => {
      context.judge(must, true, "e", "a", []);
      context.judge(should, true, "e", "a", []);
      context.observe(open, "status", "pending");
    });
    expect(found).toEqual({ [must]: "pass", [should]: "pass", [open]: "observed" });
  });

  test("fails a must, warns for a should, and shows the failed findings", async () => {
    const report = await session().runCheck(
      check((context) => {
        context.judge(must, true, "sound", "sound", []);
        context.judge(must, false, "200", "500", []);
        context.judge(should, false, "422", "400", []);
        context.observe(open, "status", "pending");
      }),
    );
    expect(report.results[must]).toMatchObject({ verdict: "fail", expected: "200", actual: "500" });
    expect(report.results[should]?.verdict).toBe("warn");
  });

  test("never passes a requirement about which it has no finding", async () => {
    const report = await session().runCheck(check((context) => context.judge(must, true, "e", "a", [])));
    expect(report.results[should]?.verdict).toBe("could-not-run");
    expect(report.error).toContain(should);
  });

  test("fails its requirements if a prerequisite is missing", async () => {
    const found = await verdicts(() => {
      throw new Prerequisite("a payout", "500");
    });
    expect(found).toEqual({ [must]: "fail", [should]: "warn", [open]: "could-not-run" });
  });

  test.each([
    ["the run was stopped", new RunStopped("gone")],
    ["the budget is used up", new BudgetExceeded("too much")],
  ])("could not run when %s", async (_, error) => {
    const found = await verdicts(() => {
      throw error;
    });
    expect(found).toEqual({ [must]: "could-not-run", [should]: "could-not-run", [open]: "could-not-run" });
  });

  test("that throws is an error in the suite, not a failure of the target", async () => {
    const report = await session().runCheck(
      check(() => {
        throw new TypeError("undefined is not a function");
      }),
    );
    expect(report.results[must]).toMatchObject({ verdict: "could-not-run" });
    expect(report.error).toContain("undefined is not a function");
  });

  test("does not start if its worst case exceeds the budget", async () => {
    let started = false;
    const found = await verdicts(() => (started = true), { payouts: 3, amount: 3 });
    expect([started, found[must]]).toEqual([false, "could-not-run"]);
  });

  test.each([
    ["finish", "target", {}],
    ["safe-numbers", "target", { environment: "live" }],
    ["second-key", "caller", {}],
    ["receiver", "caller", {}],
    ["failing-recipient", "caller", {}],
    ["webhook-secret", "caller", {}],
  ] as const)("that needs %s does not run without it, for lack of the %s's support", async (need, code, over) => {
    const report = await session(over).runCheck(check(() => undefined, { needs: [need] }));
    expect(report.notApplicable[must]?.code).toBe(code);
    expect(report.results).toEqual({});
  });

  test("whose request is refused for an unknown limit could not run, and one that other evidence fails fails", async () => {
    const large = { reference: "too-much", amount: 20_000 };
    const create = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: large } as const;
    const found = await session({}, 9, 1e6).runCheck(
      check(
        async (context) => {
          const refused = await context.target.send(create);
          context.judge(must, false, "200", "422", refused);
          context.judge("create.amount-echoed", false, "435", "4.35", []);
          context.judge("create.amount-echoed", false, "200", "422", refused);
          given(false, "200", refused);
        },
        { ids: [must, "create.amount-echoed", "create.status-known"] },
      ),
    );
    expect(found.results[must]).toMatchObject({ verdict: "could-not-run" });
    expect(found.results[must]?.actual).toContain('add a line such as "largestAmount: 19999" to certify.yaml');
    expect(found.results["create.amount-echoed"]).toMatchObject({ verdict: "fail", actual: "4.35" });
    expect(found.results["create.status-known"]?.verdict).toBe("could-not-run");
    expect(found.notApplicable).toEqual({});
  });

  test("observes numbers as they are, also if the key has the same digits", async () => {
    const report = await session({ key: "1234567890123456" }).runCheck(
      check((context) => {
        context.judge(must, true, "e", "a", []);
        context.judge(should, true, "e", "a", []);
        context.observe(open, "limits", { largest: 12_345_678_901_234_560, "1234567890123456": [0.5, null] });
      }),
    );
    expect(report.error).toBeUndefined();
    expect(report.observed).toMatchObject([{ value: { largest: 12_345_678_901_234_560, "[redacted]": [0.5, null] } }]);
  });

  test("redacts keys in findings and observations", async () => {
    const report = await session().runCheck(
      check((context) => {
        context.judge(must, false, "e", "the key key-of-the-tests was shown", []);
        context.judge(should, true, "e", "a", []);
        context.observe(open, "echo", "key-of-the-tests");
      }),
    );
    expect(JSON.stringify(report)).not.toContain("key-of-the-tests");
  });
});

const get = (path: string) => check((context) => context.target.send({ method: "GET", path }), { ids: [] });

describe("a watch", () => {
  const watch = {
    id: "errors.no-5xx" as const,
    name: "w",
    expected: "no 5xx",
    applies: () => true,
    faults: ({ status = 0 }: { status?: number }) => (status >= 500 ? ["5xx"] : []),
  };

  test("judges every response, whichever check caused it", async () => {
    const one = session();
    const watched = one.watchAll([watch]);
    await one.runCheck(get("/v1/a"));
    await one.runCheck(get("/v1/broken"));
    const report = await one.runCheck(watched);
    expect(report.results[watch.id]).toMatchObject({ verdict: "fail", actual: "GET /v1/broken → 500: 5xx" });
    expect(report.results[watch.id]?.exchanges).toHaveLength(1);
  });

  test("does not pass without a response to judge", async () => {
    const one = session();
    const report = await one.runCheck(one.watchAll([watch]));
    expect(report.results[watch.id]?.verdict).toBe("could-not-run");
  });
});

/** Makes this number of payouts. */
const pays = (name: string, count: number, over: Partial<Check> = {}) =>
  check(
    async ({ target, judge }) => {
      for (let paid = 0; paid < count; paid += 1) {
        const json = { amount: 10, reference: `${name}-${paid}` };
        const response = await target.send({
          method: "POST",
          path: "/v1/disbursements",
          effect: "moves-money",
          json,
        });
        judge(must, true, "e", "a", response);
      }
    },
    { name, ids: [must], payouts: count, amount: 10 * count, ...over },
  );

test("checks that run side by side on a slow target have exchanges, records and payouts of their own", async () => {
  let time = 0;
  let inTransit = 0;
  let most = 0;
  const slowHttp: HttpClient = {
    async send(request) {
      most = Math.max(most, (inTransit += 1));
      await new Promise((resolve) => setImmediate(resolve));
      time += 100;
      inTransit -= 1;
      return http.send(request);
    },
    close() {},
  };
  const slow = session({}, 50, 5000, slowHttp, () => new Date(time));
  const all = [pays("limits", 3, { phase: "limits" }), pays("a", 1), pays("b", 3), pays("c", 2)];
  const reports: { check: Check; report: CheckReport }[] = [];
  for await (const each of slow.runAll(all)) reports.push(each);
  expect(most).toBe(3);
  const owned = reports.map(({ check: { name }, report }) => [
    name,
    report.created.map(({ merchantsReference }) => merchantsReference),
    report.results[must]?.exchanges.length,
  ]);
  expect(owned).toEqual([
    ["limits", ["limits-0", "limits-1", "limits-2"], 3],
    ["a", ["a-0"], 1],
    ["b", ["b-0", "b-1", "b-2"], 3],
    ["c", ["c-0", "c-1"], 2],
  ]);
  expect(reports.at(-1)?.report).toMatchObject({ payouts: 9, total: 90 });
});
