// `listen` and `trigger` against a wrong or hostile server, which runs in this process.
import type { RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGzip } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serve } from "../testing/serve.ts";
import { printJson, printLines } from "./listen-output.ts";
import { followEvents, type FollowEvent } from "./follow.ts";
import { printableLines } from "./printable.ts";
import { respondWith, type Receiver } from "./receivers.ts";
import { createRemote, requireSandbox } from "./remote.ts";
import { trigger } from "./trigger.ts";

const ESCAPES = "\u001b]0;title\u0007\u009b2J\u202etxt\r\u2028";
const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const now = () => new Date(0);
const EVENTS = "GET /sandbox/events";
const SECRET = "GET /sandbox/webhook-secret";
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
    [SECRET]: { data: { secret: "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=", previousSecrets: [] } },
    "POST /v1/disbursements": { data: { reference: "DSB1" } },
    [EVENTS]: { data: { items: [{ id: "msg_1", reference: "DSB1", body: { event: "disbursement.completed" } }] } },
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
/** Follows the events until `count` attempts are made. */
async function listen(receiver: Receiver, count = Infinity): Promise<FollowEvent[]> {
  const told: FollowEvent[] = [];
  const stopping = new AbortController();
  endings.push(() => stopping.abort());
  const tell = (event: FollowEvent) => {
    told.push(event);
    if (told.filter(({ type }) => type === "attempt").length >= count) stopping.abort();
  };
  const cursor = { read: () => "", write: () => undefined };
  await followEvents({ remote: remote(), receiver, cursor, tell, sleep: () => nextTurn(), stopping: stopping.signal });
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
  [EVENTS, 200, () => listen(respondWith({}))],
  [EVENTS, 200, () => trigger(["disbursement.completed", "--base-url", base], { API_KEY: "key" })],
])("ends with an error at a compressed response of 64 MiB to %s (%i)", async (path, status, run) => {
  answers[path] = (response: ServerResponse) => bomb(response, status);
  expect(await fail(run())).toMatchObject({
    name: "ResponseError",
    message: "The response has more than 4194304 bytes.",
  });
});

test("prints no escape sequences of an error, a name or a delivery, also as JSON", async () => {
  const happened = { id: "1", reference: ESCAPES, body: { event: ESCAPES } };
  answers[EVENTS] = { data: { items: [happened] } };
  const told: FollowEvent[] = [...(await listen(respondWith({}), 1)), { type: "lost", reason: ESCAPES }];
  for (const event of told) {
    expect.soft(printLines(now, false)(event)).not.toMatch(RAW);
    const json = printJson(now)(event);
    expect.soft(json).not.toMatch(RAW);
    expect.soft(JSON.parse(json)).toMatchObject({ type: event.type });
  }
  expect(told.map(({ type }) => type)).toEqual(["connected", "attempt", "lost"]);
  // JSON still says exactly what the server sent.
  expect(JSON.parse(printJson(now)(told[1]!)).reference).toBe(ESCAPES);
});

test("prints no escape sequences of an event that it triggered, or of a refusal", async () => {
  answers[EVENTS] = { data: { items: [{ id: ESCAPES, body: { event: ESCAPES } }] } };
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

test.each([
  [EVENTS, null],
  [EVENTS, { data: [] }],
  [EVENTS, { data: {} }],
  [EVENTS, { data: { items: {} } }],
  [EVENTS, { data: { items: [null] } }],
  [EVENTS, { data: { items: [{}] } }],
  [EVENTS, { data: { items: [{ id: "1", reference: "2", body: null }] } }],
  [EVENTS, { data: { items: [{ id: "1", reference: "2", body: { event: {} } }] } }],
  [EVENTS, { data: { items: [{ id: "x".repeat(3_000), reference: "2", body: { event: "e" } }] } }],
  [EVENTS, { data: { items: [], nextCursor: 7 } }],
  [SECRET, { data: { secret: 7, previousSecrets: [] } }],
  [SECRET, { data: { secret: "s", previousSecrets: [null] } }],
  [EVENTS, 7],
])("listen names a response of %s that is not in the contract: %j", async (path, answer) => {
  answers[path] = answer;
  expect(await fail(listen(respondWith({})))).toMatchObject({
    name: "ResponseError",
    message: expect.stringMatching(
      /^The response to GET \/sandbox\/.* (is no object|has no valid \w+ \(.+\))\. Check /,
    ),
  });
});

test.each([
  ["GET /healthz", null],
  ["GET /healthz", [7]],
  ["POST /v1/disbursements", { data: null }],
  ["POST /v1/disbursements", { data: { reference: { toString: 1 } } }],
  ["POST /v1/disbursements", { data: { reference: "../../sandbox/reset?" } }],
  [EVENTS, { data: { items: "abc" } }],
  [EVENTS, { data: { items: [null] } }],
  [EVENTS, { data: { items: [{ id: "1", body: { event: {} } }] } }],
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
