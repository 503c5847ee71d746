// `trigger`, and what `listen` and `trigger` print of a server that is not to be trusted.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTerminal } from "../testing/commands.ts";
import { serve } from "../testing/http.ts";
import { startProcess } from "../testing/process.ts";
import { reservePort } from "../../conformance/target/reserve-port.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { jsonOf, lineOf, type FollowProgress } from "./listen.ts";

let server: TestServer;
let live: TestServer;
let folder: string;
/** With the key of the sandbox in the environment, and without it. */
let terminal: ReturnType<typeof createTerminal>;
let stranger: ReturnType<typeof createTerminal>;
beforeAll(async () => {
  [server, live] = await Promise.all([startServer(), startServer({ env: { SANDBOX: "false" }, seed: 2 })]);
  folder = mkdtempSync(join(tmpdir(), "trigger-"));
  writeFileSync(join(folder, "key"), `${server.key}\n`);
  writeFileSync(join(folder, "wrong"), "wrong");
  const known = { url: server.url, live: live.url, nobody: `http://127.0.0.1:${await reservePort()}`, folder };
  terminal = createTerminal({ API_KEY: server.key }, known);
  stranger = createTerminal({}, known);
});
afterAll(async () => {
  await Promise.all([server.close(), live.close()]);
  rmSync(folder, { recursive: true });
});

const records = async (kind: string) => (await server.request("GET", `/v1/${kind}?limit=1`)).body.data.items;

test.each([
  ["disbursement.completed", "disbursements", "success"],
  ["disbursement.failed", "disbursements", "failed"],
  ["checkout.completed", "checkouts", "success"],
  ["checkout.failed", "checkouts", "failed"],
  ["checkout.cancelled", "checkouts", "cancelled"],
])("makes %s happen and prints it", async (event, kind, status) => {
  const printed = await terminal.run(`trigger ${event} --base-url {url}`);
  const [{ reference, ...record }] = await records(kind);
  expect(record.status).toBe(status);
  const { items } = (await server.request("GET", `/sandbox/events?reference=${reference}`)).body.data;
  expect(items).toMatchObject([{ body: { event } }]);
  expect(printed).toBe(
    `${event}  ${reference}  ${items[0].id}\nGoes to nobody: there is no webhookURL or default address`,
  );
});

test("sets the fields that are overridden", async () => {
  const address = "http://127.0.0.1:1/a?b=c";
  await terminal.rows([
    `trigger disbursement.failed --override amount=777 --override webhookURL=${address} --base-url {url}`,
    0,
    `Goes to ${address}`,
  ]);
  expect(await records("disbursements")).toMatchObject([{ amount: 777, webhookURL: address, status: "failed" }]);
  const ghana = "--override phoneNumber=233241234001 --override country=GH";
  expect(await terminal.json(`trigger disbursement.completed ${ghana} --base-url {url}`)).toMatchObject({
    body: { event: "disbursement.completed", data: { country: "GH", customer: { phoneNumber: "233241234001" } } },
  });
});

test.each<[typed: string, message: string | RegExp]>([
  ["disbursement.complete", "There is no event disbursement.complete. There are disbursement.completed, "],
  ["checkout.failed --override ammount=5", "The request for checkout.failed has no field ammount. It has amount, "],
  ["checkout.failed --override toString=5", "The request for checkout.failed has no field toString."],
  ["checkout.failed --override amount", "--override amount must have the form FIELD=VALUE."],
  ["checkout.failed --override amount=1.5", "amount"],
  ["checkout.failed --override amount=0", "amount"],
  ["disbursement.failed --override phoneNumber=2257038102001", "phoneNumber must end in 002"],
  ["", /^Give an EVENT, or --list/],
  ["checkout.failed more", /^Usage: /],
  ["checkout.failed --api-key-file /nowhere/at/all", "The API key cannot be read: ENOENT"],
  ["checkout.failed --api-key-file {folder}/wrong", "This API key is not valid."],
  ["checkout.failed sk_abc", "An argument is a key or secret."],
  ["checkout.failed --base-url {nobody}", "{nobody} does not respond (ECONNREFUSED)."],
  ["disbursement.completed --base-url {live}", /is no sandbox\. Nothing was done\.$/],
])("%s is refused and creates nothing", async (typed, message) => {
  const newest = async () => [...(await records("checkouts")), ...(await records("disbursements"))];
  const before = await newest();
  // The last --base-url counts.
  await terminal.rows([`trigger --base-url {url} ${typed}`, 2, message]);
  expect(await newest()).toEqual(before);
  expect((await live.request("GET", "/v1/disbursements")).body.data.items).toEqual([]);
});

test("reads the key from a file, and says where one is expected; lists the events with their fields", async () => {
  const { rows } = stranger;
  await rows(
    ["trigger checkout.failed --base-url {url} --api-key-file {folder}/key", 0],
    ["trigger checkout.failed --base-url {url}", 2, "Set the variable API_KEY, or give --api-key-file FILE."],
    ["trigger --list", 0, /^disbursement\.completed: [^\n]*amount[^]+checkout\.cancelled: /],
  );
});

test("finds the server that runs on the database, and no server after it has stopped", async () => {
  const env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, API_KEY: "a-key-for-tests-of-trigger" };
  const started = await startProcess({ ...env, SANDBOX_API_KEY: env.API_KEY });
  await createTerminal(env).rows(["trigger checkout.failed", 0, /^checkout\.failed {2}CHK/]);
  started.kill("SIGTERM");
  await started.ended;
  expect(existsSync(join(folder, "server.db.address"))).toBe(false);
});

describe("a wrong or hostile server", () => {
  const ESCAPES = "\u001b]0;title\u0007\u009b2J\u202etxt\r\u2028";
  const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  const now = new Date(0);
  const EVENTS = "GET /sandbox/events";
  /** What the server responds: a value, which is sent as JSON, or a function. */
  let answers: Record<string, unknown>;
  let requests: string[];
  let hostile: Awaited<ReturnType<typeof serve>>;
  beforeEach(async () => {
    requests = [];
    answers = {
      "GET /healthz": { environment: "sandbox" },
      "GET /sandbox/webhook-secret": { data: { secret: "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=", previousSecrets: [] } },
      "POST /v1/checkouts": { data: { reference: "../../sandbox/reset?" } },
      "POST /v1/disbursements": { data: { reference: "DSB1" } },
    };
    hostile = await serve(async (request, response) => {
      await text(request);
      const key = `${request.method} ${request.url!.split("?")[0]}`;
      requests.push(key);
      const answer = answers[key];
      if (typeof answer === "function") return answer(response);
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
    });
  });
  afterEach(() => hostile.close());

  /** Runs `trigger` at the hostile server. Returns what is printed. */
  const triggered = (typed: string, code = 0) =>
    createTerminal({ API_KEY: "key" }).run(`trigger ${typed} --base-url ${hostile.url}`, code);

  test("no event, delivery or refusal gets an escape sequence to the terminal, also as JSON", async () => {
    answers[EVENTS] = { data: { items: [{ id: ESCAPES, reference: ESCAPES, body: { event: ESCAPES } }] } };
    answers["GET /sandbox/deliveries"] = { data: { items: [{ url: ESCAPES }] } };
    const attempt = { event: ESCAPES, attempt: 1, status: "ended", latencyMs: 1, error: ESCAPES } as const;
    const told: FollowProgress[] = [
      { type: "attempt", id: ESCAPES, reference: ESCAPES, ...attempt },
      { type: "lost", reason: ESCAPES },
    ];
    const json = [jsonOf(told[0]!, now), await triggered("disbursement.completed --json")];
    // JSON still says exactly what the server sent.
    for (const each of json) expect(JSON.parse(each)).toMatchObject({ reference: ESCAPES, id: ESCAPES });
    const shown = [...told.map((event) => lineOf(event, now)), await triggered("disbursement.completed")];
    answers["POST /v1/disbursements"] = (response: ServerResponse) =>
      response.writeHead(422).end(JSON.stringify({ message: `no: ${ESCAPES}\n${"x".repeat(5_000)}` }));
    const refusal = await triggered("disbursement.completed", 2);
    expect(refusal.length).toBeLessThan(2_100);
    for (const line of [...shown, ...json, refusal].flatMap((each) => each.split("\n"))) expect(line).not.toMatch(RAW);
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
    expect(await triggered("checkout.failed", 2)).toMatch(/^The server returned (400|200 and no JSON)\.$/);
  });
});
