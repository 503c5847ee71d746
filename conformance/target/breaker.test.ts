import { beforeEach, describe, expect, test } from "vitest";
import { looksDead } from "./breaker.ts";
import { createBudget } from "./budget.ts";
import { createMerchant } from "../generate/merchant.ts";
import { createRedactor } from "./redact.ts";
import type { HttpClient, HttpFailure, HttpResponse } from "./http.ts";
import { createTarget } from "./target.ts";

let time = 0;
const now = () => new Date(time);
const sleep = async (ms: number) => void (time += ms);
beforeEach(() => {
  time = 0;
});

const get = { method: "GET", path: "/v1/disbursements/a" } as const;
const payout = { method: "POST", path: "/v1/disbursements", effect: "moves-money", json: { amount: 5 } } as const;

describe("looksDead", () => {
  test.each([
    [undefined, false, true],
    [502, false, true],
    [503, false, true],
    [504, false, true],
    [500, false, false],
    [404, false, false],
    [undefined, true, false],
    [503, true, false],
  ])("of status %s, forced %s, is %s", (status, forced, expected) => {
    expect(looksDead({ request: { ...get, forced }, ...(status === undefined ? {} : { status }) })).toBe(expected);
  });
});

const lost: HttpFailure = { failure: "the connection was closed without a response", unreachable: false };
const reply = (status: number): HttpResponse => ({ status, headers: {}, body: Buffer.from("{}") });

/** Creates a target that gives these responses in turn, and then repeats the last response. */
function target(...replies: [HttpResponse | HttpFailure, ...(HttpResponse | HttpFailure)[]]) {
  const sent: string[] = [];
  const http: HttpClient = {
    send: async ({ method, path }) => {
      sent.push(`${method} ${path}`);
      return replies[Math.min(sent.length, replies.length) - 1]!;
    },
    close() {},
  };
  const options = {
    baseUrl: "http://pay.example/api",
    effects: "money",
    key: "k",
    headers: {},
    timeoutMs: 1000,
    seed: 1,
    runId: "r1",
  } as const;
  const deps = { http, budget: createBudget(5, 100), redact: createRedactor([], []), now, sleep };
  const created = createTarget(options, deps);
  const heard: (number | undefined)[] = [];
  created.onResponse(({ status }) => heard.push(status));
  return { sent, heard, target: created };
}

const probe = `GET /api/v1/disbursements/${createMerchant({ seed: 1, runId: "r1" }).unknown}`;

describe("a target", () => {
  test.each([
    ["closes every connection", lost, "the connection was closed without a response"],
    ["refuses every connection", { failure: "connect ECONNREFUSED", unreachable: true }, "connect ECONNREFUSED"],
    ["responds 502 to everything", reply(502), "status 502"],
    ["responds 503 to everything", reply(503), "status 503"],
  ])("that %s stops the run at the first such request", async (_, failure, why) => {
    const { target: one, sent, heard } = target(reply(200), failure);
    await one.send(get);
    const message = `the target stopped responding at request 2: GET /v1/disbursements/a: ${why}`;
    await expect(one.send(get)).rejects.toThrow(message);
    const count = sent.length;
    await expect(one.send(get)).rejects.toThrow(message);
    expect([sent.length, heard]).toEqual([count, [200]]);
    expect(new Set(sent.slice(2))).toEqual(new Set([probe]));
    expect(time).toBeLessThanOrEqual(3500);
  });

  test.each([lost, reply(502), reply(503)])(
    "that fails one request (%j) continues, and the failure counts",
    async (failure) => {
      const { target: one, sent, heard } = target(failure, reply(404), reply(200));
      const { status } = await one.send(get);
      await one.send(get);
      expect(heard).toEqual([status, 200]);
      expect(sent).toEqual(["GET /api/v1/disbursements/a", probe, "GET /api/v1/disbursements/a"]);
    },
  );

  test("that restarts within the patience continues", async () => {
    const { target: one, sent } = target(lost, lost, reply(502), reply(404), reply(200));
    expect((await one.send(get)).status).toBeUndefined();
    expect(sent).toHaveLength(4);
  });

  test("is not suspected because of a 500, or of a forced outcome", async () => {
    const { target: one, sent } = target(reply(500), reply(503), reply(504));
    await one.send(get);
    await one.send({ ...payout, forced: true });
    await one.send({ ...payout, forced: true });
    expect(sent).not.toContain(probe);
  });

  test("that dies during a payout leaves it in the list of records, as uncertain", async () => {
    const { target: one } = target(lost);
    await expect(one.send(payout)).rejects.toThrow("stopped responding at request 1");
    expect(one.ledger.created).toMatchObject([{ kind: "disbursement", amount: 5, uncertain: true }]);
  });

  test("that dies during concurrent requests is probed once for all of them", async () => {
    const { target: one, sent } = target(lost);
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => one.send(get)));
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
    expect(sent.filter((each) => each === probe).length).toBeLessThanOrEqual(8);
  });

  test("that no longer responds is noticed by a check that only waits", async () => {
    const { target: one } = target(reply(200), lost);
    await one.requireAlive();
    await expect(one.requireAlive()).rejects.toThrow("stopped responding while a check waited");
  });
});
