// Runs `certify` against targets that are not the service, or that stop responding in the middle of the run.
import { afterEach, describe, expect, test } from "vitest";
import { listen } from "./model/server.ts";
import { runCertify } from "./testing/command-line.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

type Alter = NonNullable<Parameters<typeof startSoundTarget>[0]["alter"]>;

const key = "test-key-4b1d9c72e05f";
const args = ["--effects", "money", "--timeout", "2000", "--seed", "7"];
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

type Serve = Parameters<typeof listen>[0];
const json = { "content-type": "application/json" };

// conformance/cli/probe.test.ts has targets that respond like another service.
describe("a target is not certified", () => {
  test.each<[what: string, code: number, says: RegExp, serve: Serve]>([
    [
      "returns 200 for everything",
      1,
      /^FAILED[^]*auth\.(create|verify)-needs-key[^]*expected[^]*401[^]*200 \{"statusCode":200/m,
      async (_call, _request, response) => void response.writeHead(200, json).end('{"statusCode":200,"data":{}}'),
    ],
    [
      "closes each connection except for /healthz",
      2,
      /No response: the connection was closed without a response/,
      async ({ path }, _request, response) => {
        if (path === "/healthz") response.writeHead(200, json).end('{"status":"ok","environment":"sandbox"}');
        else response.destroy();
      },
    ],
    ["never responds", 2, /No response: no complete response within 2000 ms/, async () => undefined],
    [
      "does not speak HTTP",
      2,
      /No response: Parse Error/,
      async (_call, request) => void request.socket.end("SSH-2.0-OpenSSH_9.9\r\n"),
    ],
  ])("that %s, and the exit code is %i", async (_, expected, says, serve) => {
    const { url, stop } = await listen(serve);
    const { code, output, report } = await runCertify(url, key, args).finally(stop);
    expect(code).toBe(expected);
    expect(["failed", "error", undefined]).toContain(report?.verdict);
    expect(output).toMatch(says);
  });
});

async function runAgainst(alter: Alter) {
  const { url, stop } = await startSoundTarget({ key, alter });
  stops.push(stop);
  return runCertify(url, key, args);
}

test.each<[what: string, alter: () => ReturnType<Alter>, why: string]>([
  ["closes every connection", () => undefined, "the connection was closed without a response"],
  ["hangs", () => new Promise<never>(() => {}), "no complete response within 2000 ms"],
  ["responds 502", () => ({ status: 502, raw: "<h1>Bad Gateway</h1>" }), "status 502"],
])("a target that %s from request 100 on stops the run with one cause and no failures", async (_, alter, why) => {
  let failedAt = Infinity;
  const { code, report, output } = await runAgainst((reply, _request, count) => {
    if (count < 100) return reply;
    failedAt = Math.min(failedAt, performance.now());
    return alter();
  });
  expect([code, report?.verdict, report?.counts.fail]).toEqual([2, "error", 0]);
  expect(report?.summary).toMatch(/^the target stopped responding at request \d+: (GET|POST|HEAD|OPTIONS) \//);
  expect(report?.summary.endsWith(why)).toBe(true);
  expect(output.match(/^STOPPED/gm)).toHaveLength(1);
  expect(output).not.toMatch(/^(FAIL|not run|✗)/m);
  expect(performance.now() - failedAt).toBeLessThan(15_000);
});

test("a target that responds 503 to one kind of invalid input is judged", async () => {
  const { code, report } = await runAgainst((reply, { method, body }) =>
    method === "POST" && body.includes('"amount":0')
      ? { status: 503, body: { statusCode: 503, error: "busy" } }
      : reply,
  );
  expect([code, report?.verdict, report?.counts["could-not-run"]]).toEqual([1, "failed", 0]);
});
