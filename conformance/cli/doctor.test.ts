import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { startSoundTarget } from "../testing/sound-target.ts";
import { doctor, estimatedSeconds, examineClock } from "./doctor.ts";
import { readOptions } from "./options.ts";

const key = "key-of-the-tests";
const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function sound(settings: Partial<Parameters<typeof startSoundTarget>[0]> = {}) {
  const target = await startSoundTarget({ key, secondKey: "another-key", ...settings });
  closing.push(() => target.stop());
  return target;
}

/** Starts a server that responds 404 to everything and returns its port. */
async function otherServer() {
  const server = createServer((_, response) => void response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function examine(url: string, args: string[] = [], env: Record<string, string> = {}, overdue?: AbortSignal) {
  const options = readOptions(["--base-url", url, ...args], { API_KEY: key, ...env }, () => 1);
  const { exitCode, text } = await doctor(options, overdue);
  const lines = text.trim().split("\n");
  const point = (name: string) => lines.find((line) => line.slice(5).startsWith(`${name} `)) ?? "";
  return { exitCode, lines, point };
}

test("a sandbox on loopback is sound, and receives only GET requests", async () => {
  const { url, seen } = await sound({ environment: "sandbox", secret: "whsec_b3du" });
  const { exitCode, lines, point } = await examine(url, [], { API_KEY_2: "another-key" });
  expect([exitCode, lines.at(-1)]).toEqual([0, "Nothing to fix."]);
  expect(lines.slice(0, -1).map((line) => line.slice(0, 16).trimEnd())).toEqual([
    "ok   address",
    "ok   base path",
    "ok   API_KEY",
    "ok   API_KEY_2",
    "ok   clock",
    "ok   sandbox",
    "ok   webhooks",
    "ok   run",
  ]);
  expect(point("sandbox")).toContain("/healthz says sandbox; controls found: secret");
  expect(point("run")).toMatch(/--effects money: \d+ checks, about .*; at most \d+ payouts with a total of \d+/);
  expect(new Set(seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
});

test("what the caller did not provide is named, but is nothing to fix", async () => {
  const { url } = await sound();
  const { exitCode, point } = await examine(url);
  expect(exitCode).toBe(0);
  expect(point("API_KEY_2")).toContain("Set another merchant's key to judge it");
  expect(point("run")).toMatch(/--effects none: .*; creates no payouts/);
});

test.each([
  // Measured runs: checks, profile, effects, the median time of a GET, and the seconds that the run took.
  [3, "core", "none", 1, 6],
  [34, "core", "reject", 250, 225],
  [90, "core", "money", 2, 27],
  [90, "core", "money", 100, 107],
  [220, "extended", "money", 3, 117],
  [220, "extended", "money", 30, 238],
] as const)("the time of %i checks (%s, %s) at %i ms is estimated within a half: %i s", (...run) => {
  const [checks, profile, , latencyMs, seconds] = run;
  const estimate = estimatedSeconds(checks, { profile }, latencyMs);
  expect(estimate).toBeGreaterThan(seconds / 2);
  expect(estimate).toBeLessThan(seconds * 1.5);
});

describe("a problem is a FIX, with exit code 2", () => {
  test.each([
    ["a rejected key", "API_KEY", [], { API_KEY: "wrong" }, "rejected with 401. Set a valid key."],
    ["a rejected second key", "API_KEY_2", [], { API_KEY_2: "wrong" }, "rejected with 401. Set a valid key."],
    [
      "a selection without checks",
      "run",
      ["--effects", "none", "--only", "create.accepted"],
      {},
      "excludes every check",
    ],
    ["a small budget", "run", ["--effects", "money", "--max-payouts", "1"], {}, "This suffices: --max-payouts "],
  ] as const)("%s", async (_, name, args, env, message) => {
    const { url } = await sound();
    const { exitCode, point } = await examine(url, [...args], env);
    expect([exitCode, point(name).slice(0, 3)]).toEqual([2, "FIX"]);
    expect(point(name)).toContain(message);
  });

  test("a target that is down", async () => {
    const target = await sound();
    await target.stop();
    const { exitCode, lines } = await examine(target.url);
    expect(exitCode).toBe(2);
    expect(lines[0]).toMatch(/^FIX {2}address .*nothing listens on .* Start the service/);
  });

  test("a wrong base URL", async () => {
    const { exitCode, point } = await examine(`http://127.0.0.1:${await otherServer()}`);
    expect(exitCode).toBe(2);
    expect(point("base path")).toMatch(/^FIX .*Wrong base URL\?/);
  });

  test("a webhook port that is in use", async () => {
    const { url } = await sound();
    const { exitCode, point } = await examine(url, ["--webhook-listen", `127.0.0.1:${await otherServer()}`]);
    expect(exitCode).toBe(2);
    expect(point("webhooks")).toMatch(/^FIX .*is in use. Give another address/);
  });

  test("a webhook URL that leads elsewhere", async () => {
    const { url } = await sound();
    const elsewhere = `http://127.0.0.1:${await otherServer()}`;
    const { exitCode, point } = await examine(url, ["--webhook-listen", "127.0.0.1:0", "--webhook-url", elsewhere]);
    expect(exitCode).toBe(2);
    expect(point("webhooks")).toContain(`${elsewhere} returns 404, but the receiver on 127.0.0.1:0 received nothing`);
  });
});

describe("the examination ends in time, and names what was not examined", () => {
  const never = new Promise<never>(() => undefined);

  test.each([
    ["every request", "/", "address", "Not examined: base path, API_KEY, API_KEY_2, clock, sandbox, webhooks, run."],
    ["/healthz", "/healthz", "sandbox", "Not examined: webhooks, run."],
  ])("if %s hangs", async (_, path, name, rest) => {
    const overdue = new AbortController();
    const { url } = await sound({
      alter(reply, request) {
        if (!request.path.startsWith(path)) return reply;
        overdue.abort();
        return never;
      },
    });
    const { exitCode, lines, point } = await examine(url, [], {}, overdue.signal);
    expect(exitCode).toBe(2);
    expect(point(name)).toMatch(/^FIX .* no result in time/);
    expect(point(name)).toContain(rest);
    expect(lines.at(-2)).toBe(point(name));
  });

  test("if a response never ends", async () => {
    const overdue = new AbortController();
    const server = createServer((_, response) => {
      response.writeHead(200).write("{");
      overdue.abort();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { point } = await examine(`http://127.0.0.1:${port}`, [], {}, overdue.signal);
    expect(point("address")).toContain("no result in time");
  });

  test("if the target asks to wait", async () => {
    const overdue = new AbortController();
    const { url } = await sound({
      alter(reply, request) {
        if (request.path !== "/healthz") return reply;
        overdue.abort();
        return { status: 429, headers: { "retry-after": "60" } };
      },
    });
    const { lines } = await examine(url, [], {}, overdue.signal);
    expect(lines.at(-2)).toContain("Not examined: webhooks, run.");
  });
});

test.each([
  [undefined, "ok", "unknown: the response has no Date header"],
  ["Fri, 20 Nov 2026 12:00:29 GMT", "ok", "agrees with the target's"],
  ["Fri, 20 Nov 2026 12:02:00 GMT", "FIX", "the target's is 120 s ahead of this machine's. Synchronise"],
  ["Fri, 20 Nov 2026 11:00:00 GMT", "FIX", "the target's is 3600 s behind this machine's. Synchronise"],
])("a Date header of %s gives %s: %s", (date, mark, text) => {
  const point = examineClock(date, new Date("2026-11-20T12:00:00Z"));
  expect([point.ok ? "ok" : "FIX", point.text]).toEqual([mark, expect.stringContaining(text)]);
});
