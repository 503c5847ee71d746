// `listen` and `trigger` against a wrong or hostile server, which runs in this process.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serve } from "../testing/serve.ts";
import { printJson, printLines } from "./listen-output.ts";
import { runListener, type ListenerEvent } from "./listener.ts";
import { printableLines } from "./printable.ts";
import { forwardTo, respondWith, type Receiver } from "./receivers.ts";
import { createRemote, requireSandbox } from "./remote.ts";
import { trigger } from "./trigger.ts";

const ESCAPES = "\u001b]0;title\u0007\u009b2J\u202etxt\r\u2028";
const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const now = () => new Date(0);
const CLAIMS = "POST /sandbox/listener/claims";
const endings: (() => unknown)[] = [];
/** What the server responds: a value, which is sent as JSON, or a function. */
let answers: Record<string, unknown>;
let requests: string[];

async function serveHere(handle: RequestListener): Promise<string> {
  const { url, close } = await serve(handle);
  endings.push(close);
  return url;
}

let base: string;
let printed: string[];
beforeEach(async () => {
  printed = [];
  requests = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
  answers = {
    "GET /healthz": { environment: "sandbox" },
    "POST /sandbox/listener": { data: { session: "s" } },
    "POST /sandbox/listener/attempts": { data: { counted: true, status: "delivered" } },
    "POST /v1/disbursements": { data: { reference: "DSB1" } },
    "GET /sandbox/events": { data: { items: [{ id: "msg_1", body: { event: "disbursement.completed" } }] } },
    "GET /sandbox/deliveries": { data: { items: [] } },
  };
  base = await serveHere(async (request, response) => {
    await text(request);
    const key = `${request.method} ${request.url!.split("?")[0]}`;
    requests.push(key);
    const answer = answers[key];
    if (typeof answer === "function") return answer(response);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const end of endings.splice(0)) end();
});

const remote = () => createRemote({ "base-url": base }, { API_KEY: "key" });
const delivery = (id: string, more: object = {}) => ({
  id,
  token: 1,
  event: "disbursement.completed",
  reference: "DSB1",
  attempt: 1,
  headers: {},
  body: "{}",
  ...more,
});

/** Runs a listener until it ends or has made `count` attempts. */
async function listen(receiver: Receiver, count = Infinity): Promise<ListenerEvent[]> {
  const told: ListenerEvent[] = [];
  const stopping = new AbortController();
  endings.push(() => stopping.abort());
  const tell = (event: ListenerEvent) => {
    told.push(event);
    if (told.filter(({ type }) => type === "attempt").length >= count) stopping.abort();
  };
  await runListener({ remote: remote(), receiver, name: "x", tell, stopping: stopping.signal });
  return told;
}
const fail = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as Error,
  );

/** 64 MiB of zeros in 64 KiB. */
function bomb(response: ServerResponse, status = 200): void {
  response.writeHead(status, { "content-type": "application/json", "content-encoding": "gzip" });
  const gzip = createGzip();
  gzip.pipe(response);
  for (let written = 0; written < 64; written += 1) gzip.write(Buffer.alloc(1024 ** 2, " "));
  gzip.end();
}

test.each([
  ["GET /healthz", 200, () => requireSandbox(remote())],
  ["GET /healthz", 500, () => requireSandbox(remote())],
  [CLAIMS, 200, () => listen(respondWith({}))],
  ["GET /sandbox/events", 200, () => trigger(["disbursement.completed", "--base-url", base], { API_KEY: "key" })],
])("ends with an error at a compressed response of 64 MiB to %s (%i)", async (path, status, run) => {
  answers[path] = (response: ServerResponse) => bomb(response, status);
  expect(await fail(run())).toMatchObject({
    name: "ResponseError",
    message: "The response has more than 4194304 bytes.",
  });
});

test("prints no escape sequences of an error, a name or a delivery, also as JSON", async () => {
  answers["POST /sandbox/listener"] = { data: { session: "s", replaced: ESCAPES, defaultWebhookURL: ESCAPES } };
  answers[CLAIMS] = { data: { items: [delivery("1", { event: ESCAPES, reference: ESCAPES })] } };
  answers["POST /sandbox/listener/attempts"] = { data: { counted: true, status: "pending", nextAttemptAt: ESCAPES } };
  const told: ListenerEvent[] = [...(await listen(respondWith({}), 1)), { type: "lost", reason: ESCAPES }];
  for (const event of told) {
    for (const line of printLines(now, false)(event)) expect.soft(line).not.toMatch(RAW);
    const [json] = printJson(now)(event);
    expect.soft(json).not.toMatch(RAW);
    expect.soft(JSON.parse(json!)).toMatchObject({ type: event.type });
  }
  expect(told.map(({ type }) => type)).toEqual(["connected", "attempt", "lost"]);
  // JSON still says exactly what the server sent.
  expect(JSON.parse(printJson(now)(told[1]!)[0]!).reference).toBe(ESCAPES);
});

test("prints no escape sequences of an event that it triggered, or of a refusal", async () => {
  answers["GET /sandbox/events"] = { data: { items: [{ id: ESCAPES, body: { event: ESCAPES } }] } };
  answers["GET /sandbox/deliveries"] = { data: { items: [{ url: ESCAPES }] } };
  for (const json of [[], ["--json"]]) {
    await trigger(["disbursement.completed", "--base-url", base, ...json], { API_KEY: "key" });
  }
  expect(JSON.parse(printed[1]!)).toMatchObject({ id: ESCAPES });
  answers["POST /v1/disbursements"] = (response: ServerResponse) =>
    response.writeHead(422).end(JSON.stringify({ message: `no: ${ESCAPES}\n${"x".repeat(5_000)}` }));
  const refusal = await fail(trigger(["disbursement.completed", "--base-url", base], { API_KEY: "key" }));
  expect(refusal!.message.length).toBeLessThan(2_100);
  for (const line of [...printed.flatMap((lines) => lines.split("\n")), refusal!.message])
    expect(line).not.toMatch(RAW);
  expect(printableLines(`a${ESCAPES}\nb`).split("\n")).toEqual([expect.not.stringMatching(RAW), "b"]);
});

test("gives the receiver the headers of a webhook and no others", async () => {
  const received: IncomingMessage["headers"][] = [];
  const url = await serveHere((request, response) => {
    received.push(request.headers);
    response.writeHead(204).end();
  });
  const signed = {
    "content-type": "application/json",
    "user-agent": "payments",
    "webhook-id": "1",
    "webhook-timestamp": "2",
    "webhook-signature": "v1,3",
    traceparent: "00-1-2-01",
  };
  const others = {
    Host: "admin.internal",
    Authorization: "Basic YTpi",
    cookie: "session=1",
    "X-Forwarded-For": "10.0.0.1",
    "x-api-key": "k",
    "Webhook-Admin": "1",
    Connection: "close, x",
    "Transfer-Encoding": "chunked",
  };
  answers[CLAIMS] = { data: { items: [delivery("1", { headers: { ...others, ...signed } })] } };
  const receiver = forwardTo(`${url}/hook`);
  await listen(receiver, 1);
  await receiver.close();
  const { host, connection, "content-length": _, "accept-encoding": __, ...rest } = received[0]!;
  expect([host, connection]).toEqual([new URL(url).host, "keep-alive"]);
  expect(rest).toEqual(signed);
});

test("makes at most 20 attempts at once, however many deliveries the server sends", async () => {
  answers[CLAIMS] = { data: { items: Array.from({ length: 684 }, (_, index) => delivery(String(index))) } };
  let open = 0;
  let most = 0;
  const release: (() => void)[] = [];
  const receiver: Receiver = {
    url: "http://receiver.invalid/",
    async receive() {
      most = Math.max(most, (open += 1));
      if (release.length < 20) await new Promise<void>((resolve) => void release.push(resolve));
      open -= 1;
      return { httpStatus: 204, latencyMs: 1 };
    },
    close: async () => undefined,
  };
  const listening = listen(receiver, 60);
  await expect.poll(() => release).toHaveLength(20);
  for (const end of release) end();
  await listening;
  expect(most).toBe(20);
});

test.each([
  ["POST /sandbox/listener", null],
  ["POST /sandbox/listener", { data: [] }],
  ["POST /sandbox/listener", { data: { session: 7 } }],
  [CLAIMS, { data: {} }],
  [CLAIMS, { data: { items: {} } }],
  [CLAIMS, { data: { items: [null] } }],
  [CLAIMS, { data: { items: [{}] } }],
  [CLAIMS, { data: { items: [delivery("1", { token: "x" })] } }],
  [CLAIMS, { data: { items: [delivery("1", { headers: { "webhook-id": 1 } })] } }],
  [CLAIMS, { data: { items: [delivery("1", { body: null })] } }],
  [CLAIMS, { data: { items: [delivery("x".repeat(3_000))] } }],
  [CLAIMS, 7],
])("listen names a response of %s that is not in the contract: %j", async (path, answer) => {
  answers[path] = answer;
  expect(await fail(listen(respondWith({})))).toMatchObject({
    name: "ResponseError",
    message: expect.stringMatching(
      /^The response to POST \/sandbox\/listener.* (is no object|has no valid \w+ \(.+\))\. Check /,
    ),
  });
});

test.each([
  ["GET /healthz", null],
  ["GET /healthz", [7]],
  ["POST /v1/disbursements", { data: null }],
  ["POST /v1/disbursements", { data: { reference: { toString: 1 } } }],
  ["POST /v1/disbursements", { data: { reference: "../../sandbox/reset?" } }],
  ["GET /sandbox/events", { data: { items: "abc" } }],
  ["GET /sandbox/events", { data: { items: [null] } }],
  ["GET /sandbox/events", { data: { items: [{ id: "1", body: { event: {} } }] } }],
  ["GET /sandbox/deliveries", { data: { items: [{}] } }],
  ["GET /sandbox/deliveries", "text"],
])("trigger names a response of %s that is not in the contract: %j", async (path, answer) => {
  answers[path] = answer;
  const error = await fail(trigger(["disbursement.completed", "--base-url", base], { API_KEY: "key" }));
  expect(["ResponseError", "UsageError"]).toContain(error?.name);
  expect(requests.every((request) => path === "GET /healthz" || !request.includes("reset"))).toBe(true);
});

test.each([null, 7, [], { message: { a: 1 }, code: 5 }])(
  "an error body %j is no reason for a stack trace",
  async (body) => {
    answers["GET /healthz"] = (response: ServerResponse) => response.writeHead(400).end(JSON.stringify(body));
    expect(await fail(requireSandbox(remote()))).toMatchObject({
      name: "ResponseError",
      message: "The server returned 400.",
      code: undefined,
    });
  },
);
