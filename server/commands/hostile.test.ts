// `listen` and `trigger` against a wrong or hostile server, which runs in this process.
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serve } from "../testing/http.ts";
import { followEvents, respondWith, type FollowEvent } from "./follow.ts";
import { jsonOf, lineOf } from "./listen.ts";
import { printableLines } from "./command.ts";
import { createRemote, requireSandbox } from "./remote.ts";
import { trigger } from "./trigger.ts";

const ESCAPES = "\u001b]0;title\u0007\u009b2J\u202etxt\r\u2028";
const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const now = new Date(0);
const EVENTS = "GET /sandbox/events";
const SECRET = "GET /sandbox/webhook-secret";
/** What the server responds: a value, which is sent as JSON, or a function. */
let answers: Record<string, unknown>;
let requests: string[];
let server: Awaited<ReturnType<typeof serve>>;
let printed: string[];
beforeEach(async () => {
  printed = [];
  requests = [];
  answers = {
    "GET /healthz": { environment: "sandbox" },
    [SECRET]: { data: { secret: "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=", previousSecrets: [] } },
    "POST /v1/checkouts": { data: { reference: "../../sandbox/reset?" } },
    "POST /v1/disbursements": { data: { reference: "DSB1" } },
  };
  server = await serve(async (request, response) => {
    await text(request);
    const key = `${request.method} ${request.url!.split("?")[0]}`;
    requests.push(key);
    const answer = answers[key];
    if (typeof answer === "function") return answer(response);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
  });
});
afterEach(() => server.close());

const remote = () => createRemote({ baseUrl: server.url }, { API_KEY: "key" });
const triggered = (event: string, ...args: string[]) =>
  trigger.run(
    [event, "--base-url", server.url, ...args],
    { API_KEY: "key" },
    {
      log: (line: string) => void printed.push(line),
      error: expect.unreachable,
    },
  );
const fail = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("It succeeded."),
    (error: unknown) => error as Error,
  );

/** Follows the events until an attempt is made. */
async function listen(): Promise<FollowEvent[]> {
  const told: FollowEvent[] = [];
  const stopping = new AbortController();
  const tell = (event: FollowEvent) => {
    told.push(event);
    if (event.type === "attempt") stopping.abort();
  };
  const cursor = { read: () => "", write: () => undefined };
  const receiver = respondWith({});
  await followEvents({ remote: remote(), receiver, cursor, tell, sleep: () => nextTurn(), stopping: stopping.signal });
  return told;
}

test("prints no escape sequences of an error, a name or a delivery, also as JSON", async () => {
  answers[EVENTS] = { data: { items: [{ id: "1", reference: ESCAPES, body: { event: ESCAPES } }] } };
  const told: FollowEvent[] = [...(await listen()), { type: "lost", reason: ESCAPES }];
  for (const event of told) {
    expect.soft(lineOf(event, now)).not.toMatch(RAW);
    const json = jsonOf(event, now);
    expect.soft(json).not.toMatch(RAW);
    expect.soft(JSON.parse(json)).toMatchObject({ type: event.type });
  }
  expect(told.map(({ type }) => type)).toEqual(["connected", "attempt", "lost"]);
  // JSON still says exactly what the server sent.
  expect(JSON.parse(jsonOf(told[1]!, now)).reference).toBe(ESCAPES);
});

test("prints no escape sequences of an event that it triggered, or of a refusal", async () => {
  answers[EVENTS] = { data: { items: [{ id: ESCAPES, body: { event: ESCAPES } }] } };
  answers["GET /sandbox/deliveries"] = { data: { items: [{ url: ESCAPES }] } };
  await triggered("disbursement.completed");
  await triggered("disbursement.completed", "--json");
  expect(JSON.parse(printed[1]!)).toMatchObject({ id: ESCAPES });
  answers["POST /v1/disbursements"] = (response: ServerResponse) =>
    response.writeHead(422).end(JSON.stringify({ message: `no: ${ESCAPES}\n${"x".repeat(5_000)}` }));
  const refusal = await fail(triggered("disbursement.completed"));
  expect(refusal.message.length).toBeLessThan(2_100);
  for (const line of [...printed.flatMap((lines) => lines.split("\n")), refusal.message]) expect(line).not.toMatch(RAW);
  expect(printableLines(`a${ESCAPES}\nb`).split("\n")).toEqual([expect.not.stringMatching(RAW), "b"]);
});

test("a reference in a response leads to no other path", async () => {
  answers[EVENTS] = { data: { items: [{ id: "1", body: { event: "checkout.failed" } }] } };
  answers["GET /sandbox/deliveries"] = { data: { items: [] } };
  await triggered("checkout.failed");
  expect(requests).toContain("POST /sandbox/checkouts/..%2F..%2Fsandbox%2Freset%3F/finish");
});

test.each([
  [400, null],
  [400, 7],
  [400, { message: { a: 1 }, code: 5 }],
  [200, undefined],
])("status %i with the body %j is no reason for a stack trace", async (status, body) => {
  answers["GET /healthz"] = (response: ServerResponse) => response.writeHead(status).end(JSON.stringify(body));
  const message = expect.stringMatching(/^The server returned (400|200 and no JSON)\.$/);
  expect(await fail(requireSandbox(remote()))).toMatchObject({ name: "ResponseError", message });
});
