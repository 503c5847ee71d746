import { beforeEach, describe, expect, test } from "vitest";
import { createMerchant } from "../generate/merchant.ts";
import { newAccount } from "./exchange.ts";
import type { HttpClient, HttpFailure, HttpResponse } from "./http.ts";
import { BudgetExceeded, EffectNotAllowed } from "./ledger.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";

type Sent = Parameters<HttpClient["send"]>[0];

const reply = (status: number, body = "{}", headers: HttpResponse["headers"] = {}): HttpResponse => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: Buffer.from(body),
});
const usual = reply(200, '{"statusCode":200,"data":{"reference":"S1","merchantsReference":"M1"}}');
const lost: HttpFailure = { failure: "the connection was closed without a response", unreachable: false };

let sent: Sent[] = [];
/** The responses, in order. The last one is repeated. If there are none, every response is `usual`. */
let replies: (HttpResponse | HttpFailure)[] = [];
let waits: number[] = [];
beforeEach(() => void ([sent, replies] = [[], []]));

const options = {
  baseUrl: "http://pay.example/pay",
  effects: "money",
  key: "the-key-1",
  secondKey: "the-key-2",
  headers: {},
  timeoutMs: 5000,
  seed: 1,
  runId: "r1",
  people: { RECIPIENT: "2257038102473" },
} as const;

function target(over: Parameters<typeof scriptedTarget>[1] = {}) {
  const scripted = scriptedTarget(
    async (request) => {
      sent.push(request);
      return replies[Math.min(sent.length, replies.length) - 1] ?? usual;
    },
    {
      ...options,
      maxPayouts: 3,
      maxTotal: 1000,
      hidden: [["the-key-1", "s3cret"], ["2257038102473"]],
      ...over,
      deps: { lookup: async () => ["93.184.216.34"], ...over.deps },
    },
  );
  waits = scripted.waits;
  return scripted.target;
}

const get = { method: "GET", path: "/v1/x" } as const;
const payout = { method: "POST", path: "/v1/disbursements", effect: "moves-money" } as const;
const rejected = { ...payout, effect: "must-be-rejected" } as const;
const body = (amount: number) => ({ reference: "M1", amount, currency: "XOF", phoneNumber: "2257038102473" });
const pathsOf = () => sent.map(({ method, path }) => `${method} ${path}`);
const headersOf = ({ headers }: Sent) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

describe("the rate", () => {
  const limitedWords = "429 \\(too many requests\\)";
  test.each([
    ["requests more than two minutes", "3600", `${limitedWords} and Retry-After: 3600: .*--rate`, 0],
    ["is the only response for two minutes", "10", `${limitedWords} for two minutes`, 12],
  ])("stops the run if a 429 %s, and says once that it waits", async (_, seconds, why, times) => {
    replies = [reply(429, "", { "retry-after": seconds })];
    const notices: string[] = [];
    const limited = target({ deps: { notice: (text) => notices.push(text) } });
    const where = { ...get, path: "/v1/x?key=the-key-1" };
    const shown = String.raw`GET /v1/x\?key=\[redacted\] with `;
    await expect(limited.send(where)).rejects.toThrow(new RegExp(shown + why));
    const count = sent.length;
    await expect(limited.send(get)).rejects.toThrow("429");
    expect([waits, sent.length]).toEqual([Array.from({ length: times }, () => Number(seconds) * 1000), count]);
    expect(notices.map((text) => text.slice(0, 30))).toEqual(times > 0 ? ["the target answers GET /v1/x?k"] : []);
  });

  test("does not exceed the rate", async () => {
    const slow = target({ rate: 4 });
    for (let count = 0; count < 3; count += 1) await slow.send(get);
    expect(waits).toEqual([250, 250]);
  });
});

describe("money", () => {
  test.each([
    ["none", rejected, EffectNotAllowed],
    ["none", payout, EffectNotAllowed],
    ["none", { method: "OPTIONS", path: "/v1/disbursements", effect: "must-be-rejected" }, EffectNotAllowed],
    ["reject", payout, EffectNotAllowed],
    ["money", { method: "POST", path: "/v1/checkouts" }, "declare its effect"],
  ] as const)("--effects %s does not send %j", async (effects, request, error) => {
    await expect(target({ effects }).send({ ...request, json: body(1) })).rejects.toThrow(error as string);
    expect(sent).toEqual([]);
  });

  test("payouts never exceed the maximum number or total, also concurrently", async () => {
    const one = target({ maxPayouts: 2 });
    await one.send({ ...payout, json: body(600) });
    await expect(one.send({ ...payout, json: body(500) })).rejects.toThrow(BudgetExceeded);
    const both = await Promise.allSettled([1, 2].map((amount) => one.send({ ...payout, json: body(amount) })));
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(one.send({ ...rejected, json: body(1) })).rejects.toThrow(BudgetExceeded);
    expect(sent).toHaveLength(2);
  });

  test.each([
    [0, [400, 401, 403, 404, 405, 409, 413, 415, 422]],
    [1, [302, 408, 410, 500, 501]],
  ])("%i payouts stay charged after a response with one of the statuses %j", async (charged, statuses) => {
    for (const status of statuses) {
      const one = target();
      [sent, replies] = [[], [reply(status)]];
      await one.send({ ...payout, json: body(100) });
      expect([status, one.budget.payouts, one.budget.total]).toEqual([status, charged, 100 * charged]);
    }
  });

  test.each(["/v1/disbursements", "/V1/./x/../%64isbursements/;v=1?x=1", "/v1/payouts", "//V1/checkouts"])(
    "a wrongly accepted create at %s is listed, charged and stops a run with --effects reject",
    async (path) => {
      const one = target({ effects: "reject" });
      const isCheckout = path.includes("checkouts");
      await one.send({ ...rejected, path, json: isCheckout ? { amount: 1 } : body(70) });
      const record = { at: expect.any(String) as string, reference: "S1", merchantsReference: "M1", unintended: true };
      const created = isCheckout
        ? { kind: "checkout", amount: 1, ...record }
        : { kind: "disbursement", amount: 70, currency: "XOF", ...record };
      expect(one.ledger.created).toEqual([created]);
      expect(one.budget.total).toBe(isCheckout ? 0 : 70);
      await expect(one.send(get)).rejects.toThrow("must be refused");
    },
  );
});

describe("a link", () => {
  test("of the target is requested without the key", async () => {
    await target({ headers: { "x-team": "a" } }).openLink("http://pay.example/checkouts/1?x=2");
    expect(pathsOf()).toEqual(["GET /checkouts/1?x=2"]);
    expect(headersOf(sent[0]!)).toMatchObject({ "x-team": "a" });
    expect(headersOf(sent[0]!)["x-api-key"]).toBeUndefined();
  });

  test("to another origin gets no extra header, and is shown without its path, headers or body", async () => {
    replies = [reply(200, "somebody's page", { "x-secret": "their-header", location: "/their-place" })];
    const one = target({ headers: { "x-team": "a" } });
    const account = newAccount();
    const response = await one.openLink("http://other.example/their-path?token=1", { account });
    expect([response.status, response.text]).toEqual([200, "somebody's page"]);
    expect(headersOf(sent[0]!)["x-team"]).toBeUndefined();
    const [exchange] = account.exchanges;
    const shown = { url: "http://other.example", status: 200, responseHeaders: {}, requestHeaders: {} };
    expect(exchange).toMatchObject(shown);
    expect(JSON.stringify(exchange)).not.toMatch(/somebody|their-/);
  });

  test("that foreign.ts refuses gets no request, and the exchange says why", async () => {
    const { status, exchange } = await target().openLink("http://169.254.169.254/latest");
    expect([status, sent]).toEqual([undefined, []]);
    expect(exchange.failure).toMatch(/^not opened: /);
  });
});

test("an exchange shows no key, secret, value of --header or person's number, but shows made-up numbers", async () => {
  const customers = ["2250707070707", "233201234567", "233209999999"].map((phoneNumber) => ({ phoneNumber }));
  replies = [reply(200, JSON.stringify({ key: "the-key-1", customers }), { "x-echo": "the-key-1" })];
  const one = target({ headers: { "x-token": "very-private" } });
  const account = newAccount();
  await one.send({ ...payout, json: { ...body(1), note: "s3cret" }, account });
  await one.send({ ...payout, json: { ...body(1), phoneNumber: "233201234567" }, account });
  const [own, madeUp] = account.exchanges;
  for (const hidden of ["the-key-1", "s3cret", "very-private", "2257038102473", "2250707070707", "233209999999"])
    expect(JSON.stringify(account.exchanges)).not.toContain(hidden);
  expect(own?.requestBody).toContain('"phoneNumber":"**********473"');
  for (const part of ['"x-token: ${X_TOKEN:?}"', '"x-api-key: ${API_KEY}"', `"phoneNumber":"'"\${RECIPIENT:?}"'"`])
    expect(own?.curl).toContain(part);
  for (const shown of [madeUp?.curl, madeUp?.responseBody]) expect(shown).toContain('"phoneNumber":"233201234567"');
});

describe("a target", () => {
  const probe = `GET /pay/v1/disbursements/${createMerchant(options).unknown}`;

  test("that closes every connection stops the run at the first lost request", async () => {
    const one = target();
    const heard: (number | undefined)[] = [];
    one.onResponse(({ status }) => heard.push(status));
    replies = [reply(200), lost];
    await one.send(get);
    const message = `the target stopped responding at request 2: GET /v1/x: ${lost.failure}`;
    await expect(one.send(get)).rejects.toThrow(message);
    const count = sent.length;
    await expect(one.send(get)).rejects.toThrow(message);
    expect([sent.length, heard]).toEqual([count, [200]]);
    expect(new Set(pathsOf().slice(2))).toEqual(new Set([probe]));
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThanOrEqual(3500);
  });

  test.each([
    ["fails one request", [lost, reply(404), reply(200)], 2],
    ["restarts within the patience", [lost, lost, reply(502), reply(404), reply(200)], 4],
    ["responds 500", [reply(500), reply(200)], 1],
  ])("that %s does not stop the run, and its failure is returned", async (_, given, requests) => {
    replies = given;
    const one = target();
    const first = given[0]!;
    expect((await one.send(get)).status).toBe("failure" in first ? undefined : first.status);
    expect(sent).toHaveLength(requests);
    expect((await one.send(get)).status).toBe(200);
  });

  test("that dies during a payout leaves the payout in the list of records, as uncertain", async () => {
    replies = [lost];
    const one = target();
    await expect(one.send({ ...payout, json: body(5) })).rejects.toThrow("stopped responding at request 1");
    expect(one.ledger.created).toMatchObject([{ kind: "disbursement", amount: 5, uncertain: true }]);
  });

  test("that no longer responds is noticed by a check that only waits", async () => {
    replies = [reply(200), lost];
    const one = target();
    await one.requireAlive();
    await expect(one.requireAlive()).rejects.toThrow("stopped responding while a check waited");
  });
});
