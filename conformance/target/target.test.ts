import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BudgetExceeded, createBudget } from "./budget.ts";
import { createHttpClient } from "./http.ts";
import { EffectNotAllowed, RunStopped } from "./ledger.ts";
import { createRedactor } from "./redact.ts";
import { createTarget, type TargetOptions } from "./target.ts";

type Reply = { status: number; body?: string; headers?: Record<string, string> };

const http = createHttpClient();
let seen: { method?: string; url?: string; headers: IncomingMessage["headers"]; body: string }[] = [];
let replies: Reply[] = [];
let server: ReturnType<typeof createServer>;
let waits: number[] = [];
let clock = 0;

const usual: Reply = { status: 200, body: '{"statusCode":200,"data":{"reference":"S1","merchantsReference":"M1"}}' };

async function respond(request: IncomingMessage, response: ServerResponse) {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  seen.push({ method: request.method, url: request.url, headers: request.headers, body });
  const { status, body: text = "", headers = {} } = replies.shift() ?? usual;
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

beforeEach(async () => {
  [seen, replies, waits, clock] = [[], [], [], 0];
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function target(over: Partial<TargetOptions> = {}, maxPayouts = 3, maxTotal = 1000, notice?: (text: string) => void) {
  const options = {
    baseUrl: `${origin()}/pay`,
    effects: "money",
    key: "the-key-1",
    headers: {},
    timeoutMs: 5000,
    seed: 1,
    runId: "r1",
    people: { RECIPIENT: "2257038102473" },
  } as const;
  return createTarget(
    { ...options, ...over },
    {
      http,
      budget: createBudget(maxPayouts, maxTotal),
      redact: createRedactor(["the-key-1", "s3cret"], ["2257038102473"]),
      now: () => new Date(clock),
      sleep: async (ms) => {
        waits.push(ms);
        clock += ms;
      },
      notice,
    },
  );
}

const payout = { method: "POST", path: "/v1/disbursements", effect: "moves-money" } as const;
const rejected = { ...payout, effect: "must-be-rejected" } as const;
const body = (amount: number) => ({ reference: "M1", amount, currency: "XOF", phoneNumber: "2257038102473" });
const refusal: Reply = { status: 422, body: '{"statusCode":422,"error":"no"}' };

describe("sending", () => {
  test("sends the path unchanged after the prefix, with the key and the extra headers", async () => {
    await target({ headers: { "x-team": "a" } }).send({ method: "GET", path: "/v1/disbursements/../a%2Fb?x=1" });
    expect(seen[0]).toMatchObject({ method: "GET", url: "/pay/v1/disbursements/../a%2Fb?x=1" });
    expect(seen[0]?.headers).toMatchObject({ "x-api-key": "the-key-1", "x-team": "a" });
  });

  test.each([
    ["none", undefined],
    ["second", "the-key-2"],
    [{ value: "other" }, "other"],
  ] as const)("sends the key it is told to: %j", async (key, expected) => {
    await target({ secondKey: "the-key-2" }).send({ method: "GET", path: "/v1/x", key });
    expect(seen[0]?.headers["x-api-key"]).toBe(expected);
  });

  test("does not follow redirects", async () => {
    replies = [{ status: 302, headers: { location: "/elsewhere" } }];
    const { status } = await target().send({ method: "GET", path: "/v1/x" });
    expect([status, seen.length]).toEqual([302, 1]);
  });

  test("waits as long as a 429 requests", async () => {
    replies = [{ status: 429, headers: { "retry-after": "7" } }, { status: 429 }, usual];
    const { status } = await target().send({ method: "GET", path: "/v1/x" });
    expect([status, waits]).toEqual([200, [7000, 1000]]);
  });

  test("stops the run if a 429 requests more than two minutes", async () => {
    replies = [{ status: 429, headers: { "retry-after": "3600" } }];
    const limited = target();
    const request = { method: "GET", path: "/v1/x" } as const;
    await expect(limited.send(request)).rejects.toThrow(/GET \/v1\/x with 429 .* Retry-After: 3600: .*--rate/);
    await expect(limited.send(request)).rejects.toThrow("429");
    expect([waits, seen.length]).toEqual([[], 1]);
  });

  test("says why a run stopped without the key, even if the request had it in its URL", async () => {
    replies = [{ status: 429, headers: { "retry-after": "3600" } }];
    const error: unknown = await target()
      .send({ method: "GET", path: "/v1/x?key=the-key-1" })
      .catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("GET /v1/x?key=");
    expect(String(error)).not.toContain("the-key-1");
  });

  test("stops the run if a request gets only 429 for two minutes, and says once that it waits", async () => {
    replies = Array.from({ length: 20 }, () => ({ status: 429, headers: { "retry-after": "10" } }));
    const notices: string[] = [];
    const limited = target({}, 3, 1000, (text) => notices.push(text));
    const stopped = limited.send({ method: "GET", path: "/v1/x" });
    await expect(stopped).rejects.toThrow(/GET \/v1\/x with 429 .* for two minutes/);
    expect(waits).toEqual(Array.from({ length: 12 }, () => 10_000));
    expect(notices).toEqual([expect.stringMatching(/^the target answers GET \/v1\/x with 429/)]);
  });

  test("does not exceed the rate", async () => {
    const slow = target({ rate: 4 });
    for (let count = 0; count < 3; count += 1) await slow.send({ method: "GET", path: "/v1/x" });
    expect(waits).toEqual([250, 250]);
  });

  test("returns a response without a status after a timeout", async () => {
    server.removeAllListeners("request");
    const { status, exchange } = await target({ timeoutMs: 50, patienceMs: 0 }).send({ method: "GET", path: "/v1/x" });
    expect([status, exchange.failure]).toEqual([undefined, "no complete response within 50 ms"]);
  });

  test("stops the run if the target is unreachable", async () => {
    const gone = target();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(gone.send({ method: "GET", path: "/v1/x" })).rejects.toThrow(RunStopped);
    await expect(gone.send({ method: "GET", path: "/v1/x" })).rejects.toThrow(RunStopped);
  });
});

describe("money", () => {
  test.each([
    ["none", rejected],
    ["none", payout],
    ["none", { method: "OPTIONS", path: "/v1/disbursements", effect: "must-be-rejected" }],
    ["reject", payout],
  ] as const)("--effects %s does not send %j", async (effects, request) => {
    await expect(target({ effects }).send({ ...request, json: body(1) })).rejects.toThrow(EffectNotAllowed);
    expect(seen).toEqual([]);
  });

  test("a request that is not a GET must declare its effect", async () => {
    await expect(target().send({ method: "POST", path: "/v1/checkouts", json: {} })).rejects.toThrow(
      "declare its effect",
    );
    expect(seen).toEqual([]);
  });

  test("payouts never exceed the maximum number or total", async () => {
    const one = target({}, 2, 1000);
    await one.send({ ...payout, json: body(600) });
    await expect(one.send({ ...payout, json: body(500) })).rejects.toThrow(BudgetExceeded);
    await one.send({ ...payout, json: body(400) });
    await expect(one.send({ ...payout, json: body(0) })).rejects.toThrow(BudgetExceeded);
    expect(seen).toHaveLength(2);
  });

  test("concurrent payouts do not exceed the budget either", async () => {
    const one = target({}, 2);
    const sent = await Promise.allSettled([1, 2, 3, 4].map((amount) => one.send({ ...payout, json: body(amount) })));
    expect(sent.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(seen).toHaveLength(2);
  });

  test("a refused payout is refunded, one with an unclear result is not", async () => {
    const one = target();
    replies = [refusal, { status: 500 }];
    await one.send({ ...payout, json: body(100) });
    expect([one.budget.payouts, one.budget.total]).toEqual([0, 0]);
    await one.send({ ...payout, json: body(100) });
    expect([one.budget.payouts, one.budget.total]).toEqual([1, 100]);
  });

  test("an accepted request that must be refused is charged, and stops a run with --effects reject", async () => {
    const one = target({ effects: "reject" });
    await one.send({ ...rejected, json: body(70) });
    expect([one.budget.payouts, one.budget.total]).toEqual([1, 70]);
    expect(one.ledger.created).toEqual([
      {
        kind: "disbursement",
        at: expect.any(String),
        amount: 70,
        currency: "XOF",
        reference: "S1",
        merchantsReference: "M1",
        unintended: true,
      },
    ]);
    await expect(one.send({ method: "GET", path: "/v1/x" })).rejects.toThrow("must be refused");
  });

  test.each([
    "/v1//disbursements",
    "/V1/Disbursements/",
    "/v1/%64isbursements",
    "/v1/./x/../disbursements;v=1?x=1",
    "/v1/payouts",
    "//V1/checkouts",
    "/v1/checkouts.json",
  ])("a create that %s accepts is listed and stops a run with --effects reject", async (path) => {
    const one = target({ effects: "reject" });
    await one.send({ ...rejected, path, json: path.includes("checkouts") ? { amount: 1 } : body(70) });
    expect(one.ledger.created).toMatchObject([{ unintended: true }]);
    expect(one.budget.total).toBe(path.includes("checkouts") ? 0 : 70);
    await expect(one.send({ method: "GET", path: "/v1/x" })).rejects.toThrow("must be refused");
  });

  test("without budget left, requests that must be refused are not sent either", async () => {
    await expect(target({}, 0).send({ ...rejected, json: body(1) })).rejects.toThrow(BudgetExceeded);
    expect(seen).toEqual([]);
  });
});

describe("links", () => {
  test("are requested without the key, and on other hosts without the extra headers", async () => {
    const one = target({ headers: { "x-team": "a" } });
    await one.openLink(`${origin()}/checkouts/1?x=2`);
    await one.openLink(`${origin().replace("127.0.0.1", "localhost")}/checkouts/1`).catch(() => undefined);
    expect(seen[0]).toMatchObject({ url: "/checkouts/1?x=2" });
    expect(seen[0]?.headers).toMatchObject({ "x-team": "a" });
    for (const { headers } of seen) expect(headers["x-api-key"]).toBeUndefined();
    for (const { headers } of seen.slice(1)) expect(headers["x-team"]).toBeUndefined();
  });
});

describe("a link to another origin", () => {
  test("is shown with its status and origin, and not with its path, headers or body", async () => {
    const text = "somebody's page";
    replies = [{ ...usual, body: text, headers: { "x-secret": "their-header", location: "/their-place" } }];
    const one = target();
    const local = origin().replace("127.0.0.1", "localhost");
    const response = await one.openLink(`${local}/their-path?token=1`);
    expect([response.status, response.text]).toEqual([200, text]);
    const [exchange] = one.takeExchanges();
    expect(exchange).toMatchObject({ url: local, status: 200, responseHeaders: {}, requestHeaders: {} });
    expect(exchange?.responseBody).toBe("(a page of another origin)");
    expect(JSON.stringify(exchange)).not.toMatch(/somebody|their-/);
  });

  test.each(["http://10.0.0.1/x", "http://169.254.169.254/latest", "http://[fd00:ec2::254]/", "ftp://a.example/"])(
    "%s gets no request, and the exchange says why",
    async (link) => {
      const one = target();
      const response = await one.openLink(link);
      expect(response.status).toBeUndefined();
      expect(response.exchange.failure).toMatch(/^not opened: /);
      expect(seen).toEqual([]);
    },
  );
});

describe("the record of an exchange", () => {
  test("contains no key, secret, extra header or phone number", async () => {
    replies = [
      { ...usual, body: '{"key":"the-key-1","phoneNumber":"2250707070707"}', headers: { "x-echo": "the-key-1" } },
    ];
    const one = target({ headers: { "x-token": "very-private" } });
    await one.send({ ...payout, json: { ...body(1), note: "s3cret" } });
    const [exchange] = one.takeExchanges();
    const text = JSON.stringify(exchange);
    for (const hidden of ["the-key-1", "s3cret", "very-private", "2257038102473", "2250707070707"]) {
      expect(text).not.toContain(hidden);
    }
    expect(exchange?.requestBody).toContain('"phoneNumber":"**********473"');
    expect(exchange?.curl).toContain('-H "x-token: ${X_TOKEN:?}"');
    expect(exchange?.curl).toContain('-H "x-api-key: ${API_KEY}"');
    expect(exchange?.curl).toContain(`"phoneNumber":"'"\${RECIPIENT:?}"'"`);
  });

  test("shows the numbers that the suite made up, also in responses", async () => {
    replies = [{ ...usual, body: '{"a":{"phoneNumber":"233201234567"},"b":{"phoneNumber":"233209999999"}}' }];
    const one = target();
    await one.send({ ...payout, json: { ...body(1), phoneNumber: "233201234567" } });
    const [exchange] = one.takeExchanges();
    expect(exchange?.curl).toContain('"phoneNumber":"233201234567"');
    expect(exchange?.responseBody).toBe('{"a":{"phoneNumber":"233201234567"},"b":{"phoneNumber":"*********999"}}');
  });
});
