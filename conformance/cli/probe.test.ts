// Tests what is found out about a target before a run, and what `certify doctor` says about it.
import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasNoKey } from "../broken/calls.ts";
import { handles, responses } from "../broken/changes.ts";
import { refusal, success, withHeader } from "../broken/replies.ts";
import type { How } from "../broken/fault.ts";
import type { Call, Reply as ModelReply } from "../model/messages.ts";
import { listen } from "../model/server.ts";
import { makeCertificate } from "../testing/certificates.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { openTarget } from "../run/run.ts";
import { findControls } from "./controls.ts";
import { doctor, estimatedSeconds } from "./doctor.ts";
import { readOptions } from "./options.ts";
import { probe } from "./probe.ts";

const key = "key-of-the-tests";
async function sound(settings: Partial<Parameters<typeof startSoundTarget>[0]> = {}) {
  const target = await startSoundTarget({ key, secondKey: "another-key", ...settings });
  onTestFinished(target.stop);
  return target;
}

type Reply = [status: number, body?: string, headers?: Record<string, string>];
type Replies = (path: string, call: Call) => Reply;

/** Starts a server and returns its URL and the requests that it received. */
async function serving(replies: Replies) {
  const seen: string[] = [];
  const { url, stop } = await listen(async (call, _request, response) => {
    seen.push(`${call.method} ${call.path}${hasNoKey(call) ? " without a key" : ""}`);
    const [status, body = "", added = {}] = replies(call.path, call);
    response.writeHead(status, added).end(body);
  });
  onTestFinished(stop);
  return { url, seen };
}

const optionsFor = (url: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  readOptions(["--base-url", url, "--timeout", "2000", ...args], { API_KEY: key, ...env }, () => 1);
const probing = (url: string, ...args: string[]) => probe(optionsFor(url, args));
async function examined(url: string, args: readonly string[] = [], env = {}, overdue?: AbortSignal) {
  const { exitCode, text } = await doctor(optionsFor(url, args, env), overdue);
  return { exitCode, lines: text.trim().split("\n") };
}

const html = { "content-type": "text/html" };
const wrongBase =
  /Wrong base URL\? http\S+\/v1\/disbursements\/… returns 404 with and without the key, like any unknown path\. .* a path such as \/api missing/;
const certificate = await makeCertificate({ name: "server", hosts: ["127.0.0.1"] });

test.each<[string, Replies, RegExp]>([
  ["404 for everything with the path", (path) => [404, JSON.stringify({ error: "Not Found", path })], wrongBase],
  ["404 for everything with an id", () => [404, `{"at":"${Date.now()}","id":"${crypto.randomUUID()}"}`], wrongBase],
  ["a website", () => [200, "<h1>Hello</h1>", html], /does not look like the service/],
  [
    "a redirect",
    () => [301, "", { location: "https://pay.example/" }],
    /with 301, a redirect to https:\/\/pay.example\//,
  ],
  ["a gateway without its service", () => [502], /not available: GET \/v1\/disbursements\/… returns 502/],
])("%s is named before anything but a GET is sent", async (_, replies, why) => {
  const { url, seen } = await serving(replies);
  await expect(probing(url)).rejects.toThrow(why);
  expect(seen.filter((request) => !request.startsWith("GET "))).toEqual([]);
  const { lines } = await examined(url);
  expect(lines.find((line) => line.startsWith("FIX"))?.slice(16)).toMatch(why);
});

test.each<[string, Replies]>([
  ["another text for unknown paths", (path) => [404, path.includes("/disburse") ? "no record" : "no path"]],
  ["401 for unknown paths", (path) => [path.includes("/disburse") ? 404 : 401, "{}"]],
])("a service with a missing key check and %s is judged", async (_, replies) => {
  const { url } = await serving(replies);
  expect(await probing(url)).toMatchObject({ baseUrl: url, loopback: true });
});

test.each<[string, Parameters<typeof listen>[0], RegExp]>([
  ["never responds", async () => undefined, /No response: no complete response within 200 ms/],
  ["does not speak HTTP", async (_, { socket }) => void socket.end("SSH-2.0-OpenSSH_9.9\r\n"), /response: Parse Error/],
])("a target that %s is named", async (_, serve, why) => {
  const { url, stop } = await listen(serve);
  onTestFinished(stop);
  await expect(probing(url, "--timeout", "200")).rejects.toThrow(why);
});

test("the wrong protocol and a self-signed certificate are explained", async () => {
  const server = createSecureServer(certificate);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(probing(`http://${host}/api`)).rejects.toThrow(
    `The server speaks TLS, not plain http: use https://${host}/api.`,
  );
  await expect(probing(`https://${host}`)).rejects.toThrow("the server's certificate is self-signed");
});

test("a live service is not asked for a sandbox, nor for a record without the key", async () => {
  const { url, seen } = await serving((path) => {
    if (path === "/healthz") return [200, JSON.stringify({ environment: "live" })];
    return [404, JSON.stringify({ error: path.startsWith("/v1/disb") ? "No record" : "No path" })];
  });
  expect(await probing(url)).toMatchObject({ environment: "live", controls: [], effects: "none" });
  expect(seen.map((request) => request.replace(/\/v1\/\S*/, "/v1"))).toEqual([
    "GET /v1",
    "GET /v1",
    "GET /healthz without a key",
  ]);
});

/** Each last number was measured in a complete run. */
test.each([
  [3, "core", "none", 1, 6],
  [87, "core", "money", 150, 67],
  [209, "extended", "money", 2, 29],
] as const)("the time of %i checks (%s, %s) at %i ms is estimated within a half: %i s", (...run) => {
  const [checks, profile, effects, latencyMs, seconds] = run;
  const estimate = estimatedSeconds(checks, { profile, effects, linger: 16 }, latencyMs);
  expect(estimate).toBeGreaterThan(seconds / 2);
  expect(estimate).toBeLessThan(seconds * 1.5);
});

const day = 86_400_000;
test.each<[string[], number, "fails" | "runs"]>([
  [["--profile", "extended"], 300, "fails"],
  [["--profile", "core"], 300, "runs"],
  [["--profile", "extended", "--only", "auth.verify-needs-key"], 300, "runs"],
])("with %j and a sandbox whose time is %i days ahead, a run %s", async (args, days, outcome) => {
  const { url } = await sound({
    environment: "sandbox",
    how: handles(async (call, ask) => {
      if (call.path === "/sandbox/clock") return success({ now: new Date(Date.now() + days * day) });
      return call.method === "POST" && call.path === "/sandbox/clock/advance" ? refusal(422) : ask(call);
    }),
  });
  const found = await probing(url, ...args).catch((error: Error) => error.message);
  if (outcome === "runs") expect(found).toMatchObject({ environment: "sandbox" });
  else
    expect(found).toMatch(
      /time is \d+ days ahead .* needs up to 75\. Nothing was paid\. Reset .* \(POST \/sandbox\/reset /,
    );
});

const clock = "POST /sandbox/clock/advance";
test.each<[string, Record<string, Reply>, Reply, string[]]>([
  ["nothing under /sandbox", {}, [404], []],
  ["a clock that moves, and nothing else", { [clock]: [400] }, [404], ["clock"]],
  ["a clock and finish", { [clock]: [400], "POST /sandbox/checkouts/*/finish": [422] }, [404], ["clock", "finish"]],
  ["finish of payouts", { "POST /sandbox/disbursements/*/finish": [422] }, [404], ["finish-payout"]],
  ["payments of the past", { "POST /sandbox/payments": [400] }, [404], ["load"]],
  ["a clock that accepts anything", { [clock]: [200] }, [404], ["clock"]],
  ["a control that only a GET shows", { "GET /sandbox/reset": [405] }, [404], ["reset"]],
  ["a refused key", { [clock]: [403] }, [404], []],
  ["400 for every path", {}, [400], []],
  ["200 with a page for every path", {}, [200, "<p>", html], []],
  ["405 for every path", {}, [405], []],
  ["readings", { "GET /sandbox/clock": [200, '{"data":{"now":"2026-01-01"}}'] }, [404], ["time"]],
  ["lists", { "GET /sandbox/events": [200, '{"data":{"items":[]}}'] }, [404], ["events"]],
])("finds the controls of a target with %s, and triggers none of them", async (_, table, otherwise, expected) => {
  const { url, seen } = await serving((path, { method }) => {
    if (!path.startsWith("/sandbox/")) return [path.startsWith("/v1/") ? 401 : 404];
    const known = path.replace(/(disbursements|checkouts)\/[^/]+/, "$1/*");
    return table[`${method} ${known}`] ?? otherwise;
  });
  const { target, close } = openTarget({ ...optionsFor(url), effects: "reject", maxTotal: 0 });
  const { controls } = await findControls(target, "reject");
  close();
  expect(controls).toEqual(expected);
  expect(seen.filter((request) => /^POST .*(reset|rotate|replay)/.test(request))).toEqual([]);
});

describe("certify doctor", () => {
  test("says that a sandbox on loopback is sound, with GET requests alone", async () => {
    const { url, seen } = await sound({ environment: "sandbox", secret: "whsec_b3du" });
    const env = { API_KEY_2: "another-key", WEBHOOK_SECRET: "b3du" };
    const { exitCode, lines } = await examined(url, [], env);
    expect(exitCode).toBe(0);
    expect(lines).toEqual([
      expect.stringMatching(/^ok {3}address {4}it responds in \d+ ms$/),
      `ok   base path  ${url}/v1/disbursements/… looks like the service`,
      "ok   API_KEY    accepted",
      "ok   API_KEY_2  accepted",
      "ok   secret     WEBHOOK_SECRET is the merchant's",
      "ok   clock      agrees with the target's, within 30 s",
      "ok   sandbox    /healthz says sandbox; controls found: secret",
      expect.stringContaining("ok   webhooks   the receiver listens on "),
      expect.stringMatching(
        /^ok {3}run {8}--effects money: \d+ checks, about \d+ seconds.*; at most \d+ payouts with a total of \d+/,
      ),
      "Nothing to fix.",
    ]);
    expect(new Set(seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
  });

  const isOld = responses("every", (reply) => withHeader(reply, "date", new Date(0).toUTCString()));
  test.each<[string, string, string[], Record<string, string>, RegExp, How?]>([
    ["no second key", "ok ", [], {}, /API_KEY_2 {2}not set\. Set another merchant's key/],
    ["no receiver of webhooks", "ok ", [], {}, /run .*--effects none: .*; creates no payouts/],
    ["a clock that is wrong", "FIX", [], {}, /clock .* is \d+ s behind this machine's\. Synchronise/, isOld],
    [
      "a selection without checks",
      "FIX",
      ["--effects", "none", "--only", "create.accepted"],
      {},
      /run .* excludes every/,
    ],
    ["a small budget", "FIX", ["--effects", "money", "--max-payouts", "1"], {}, /This suffices: --max-payouts /],
    ["a port that is in use", "FIX", ["--webhook-listen", "PORT"], {}, /webhooks .* is in use\. Give another address/],
    [
      "a URL that leads elsewhere",
      "FIX",
      ["--webhook-listen", "127.0.0.1:0", "--webhook-url", "http://PORT"],
      {},
      /webhooks .* returns 404, but the receiver on 127.0.0.1:0 received nothing/,
    ],
  ])("names %s", async (_, mark, args, env, text, how?) => {
    const other = (await serving(() => [404])).url.replace("http://", "");
    const { url } = await sound({ how });
    const words = args.map((word) => word.replace("PORT", other));
    const { exitCode, lines } = await examined(url, words, env);
    expect(exitCode).toBe(mark === "FIX" ? 2 : 0);
    expect(lines.find((line) => text.test(line))).toMatch(new RegExp(`^${mark}`));
  });

  test("names a target that is down", async () => {
    const target = await sound();
    await target.stop();
    const { exitCode, lines } = await examined(target.url);
    expect(exitCode).toBe(2);
    expect(lines[0]).toMatch(/^FIX {2}address .*nothing listens on .* Start the service/);
  });

  const never = new Promise<never>(() => undefined);
  test.each<[string, ModelReply | Promise<never>]>([
    ["hangs", never],
    ["asks to wait", withHeader(refusal(429), "retry-after", "60")],
  ])("ends in time if the target %s at /healthz", async (_, reply) => {
    const overdue = new AbortController();
    const { url } = await sound({
      how: handles(async (call, ask) => {
        if (call.path !== "/healthz") return ask(call);
        overdue.abort();
        return reply;
      }),
    });
    const { exitCode, lines } = await examined(url, [], {}, overdue.signal);
    expect(exitCode).toBe(2);
    expect(lines).toHaveLength(5);
    expect(lines.at(-2)).toMatch(/^FIX {2}time .*ended early: .* responds too slowly/);
  });
});
