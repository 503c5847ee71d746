// Tests the command line of `certify watch` with a log. forward.test.ts has forwarded traffic, recorded.test.ts the shapes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { reportIn } from "../testing/command-line.ts";
import { watch } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-watch-"));
afterAll(() => rmSync(folder, { recursive: true }));
const declarations = join(folder, "certify.yaml");
writeFileSync(declarations, "readAfterWriteMs: 7000");

const contradiction = {
  sentAt: "2026-11-29T10:00:01Z",
  endedAt: "2026-11-29T10:00:02Z",
  method: "GET",
  path: "/v1/disbursements/DSB1",
  headers: { "x-api-key": "a-secret" },
  response: { status: 404, headers: {}, body: { statusCode: 400, error: "Not Found" } },
};

test("follows standard input, serves metrics and writes the report meanwhile, and exits with 1 after a contradiction", async () => {
  const input = new PassThrough();
  vi.spyOn(process, "stdin", "get").mockReturnValue(input as never);
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const print = vi.spyOn(console, "log").mockReturnValue();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
  const watchWith = async (metrics: string, ...args: string[]) =>
    watch(["--exchanges", "-", "--report", folder, "--metrics", metrics, ...args]);

  const watching = watchWith("127.0.0.1:0", "--every", "1m", "--notified-within", "60", "--declare", declarations);
  const port = await vi.waitFor(() => /port (\d+)/.exec(String(print.mock.lastCall))![1]);
  await expect(watchWith(`127.0.0.1:${port}`)).rejects.toThrow(/^--metrics: .*EADDRINUSE/);

  const metrics = async () => fetch(`http://127.0.0.1:${port}/metrics`);
  const missed = { kind: "missed", reason: 'a "cut"\nbody\\', count: 2 };
  for (const line of ["no JSON", missed, contradiction]) input.write(`${JSON.stringify(line)}\n`);
  const { headers, text } = await vi.waitFor(async () => {
    const response = await metrics();
    const got = await response.text();
    expect(got).toContain("\ncertify_watch_exchanges_total 1\n");
    return { headers: response.headers, text: got };
  });
  expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toMatch(/^# HELP certify_watch_exchanges_total .*\n# TYPE certify_watch_exchanges_total counter\n/);
  expect(text).toContain('certify_watch_judged_total{requirement="errors.status-mirrored"} 1\n');
  expect(text).toContain('certify_watch_violations_total{requirement="errors.status-mirrored"} 1\n');
  expect(text).toContain(String.raw`certify_watch_missed_total{reason="a \"cut\"\nbody\\"} 2`);

  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(print.mock.lastCall).toEqual([expect.stringMatching(/Z {2}\d requirements? contra/)]));
  expect(await reportIn(folder)).toMatchObject({ verdict: "contradicted" });
  input.end(JSON.stringify(contradiction));
  expect(await watching).toBe(1);
  expect(await reportIn(folder)).toMatchObject({
    verdict: "contradicted",
    watched: {
      source: "standard input",
      from: "2026-11-29T10:00:01.000Z",
      exchanges: 2,
      missed: { "line 1 cannot be read: it must be object": 1, [missed.reason]: 2 },
      declared: { visibleAfterMs: 7000, notifiedWithinMs: 60_000 },
    },
  });
  expect(readFileSync(join(folder, "report.html"), "utf8")).not.toContain("a-secret");
  await expect(metrics()).rejects.toThrow("fetch failed");
});

test.each<[string, string]>([
  ["", "give one source: --target URL --listen HOST:PORT, --har FILE or --exchanges FILE"],
  ["--har a --exchanges b", "give one source"],
  ["--listen 127.0.0.1:0", "--listen needs --target"],
  ["--har a --webhooks-to http://a.example", "need each other and --listen"],
  ["--listen 127.0.0.1:0 --target https://a.example/pay", "must have no path"],
  ["--har a --every 0m", "--every: must be at least 1m and at most 24d"],
  ["--har no-such-file", "ENOENT"],
])("refuses %j", async (args, message) => {
  await expect(watch(args.split(" ").filter(Boolean))).rejects.toThrow(message);
});
