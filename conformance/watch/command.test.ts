// Tests the command line of `certify watch` with recorded traffic. forward.test.ts has forwarded traffic.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { reportIn } from "../testing/command-line.ts";
import { watch } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-watch-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const report = at("report");

let printed = "";
beforeEach(() => {
  printed = "";
  const keep = (text: unknown) => ((printed += `${String(text)}\n`), true);
  vi.spyOn(console, "log").mockImplementation(keep);
  vi.spyOn(console, "error").mockImplementation(keep);
  vi.spyOn(process.stdout, "write").mockImplementation(keep);
  onTestFinished(() => void vi.restoreAllMocks());
});

/** A line about a read of a payout that does not exist, with the status in the body. */
function line(second: number, statusCode = 404): string {
  const time = (ms: number) => new Date(Date.UTC(2026, 10, 29, 10, 0, second, ms)).toISOString();
  return JSON.stringify({
    sentAt: time(0),
    endedAt: time(50),
    method: "GET",
    url: "/v1/disbursements/DSB1",
    headers: { "x-api-key": "a-key-of-a-merchant" },
    response: {
      status: 404,
      headers: { "content-type": "application/json" },
      body: { statusCode, error: "Not Found" },
    },
  });
}
function watched(lines: readonly string[], ...args: string[]) {
  writeFileSync(at("traffic.jsonl"), lines.join("\n"));
  return watch(["--exchanges", at("traffic.jsonl"), "--report", report, ...args]);
}

test("a log without a contradiction exits with 0, and its report says what was seen and what was declared", async () => {
  expect(await watched([line(1), line(2)], "--visible-after", "7", "--notified-within", "60")).toBe(0);
  expect(printed).toMatch(/\nNO CONTRADICTION {2}core · watched traffic · \d+ of \d+ musts seen · 2 exchanges /);
  expect(await reportIn(report)).toMatchObject({
    verdict: "no-contradiction",
    baseUrl: "traffic.jsonl",
    watched: {
      source: "traffic.jsonl",
      from: "2026-11-29T10:00:01.000Z",
      until: "2026-11-29T10:00:02.050Z",
      exchanges: 2,
      declared: { visibleAfterMs: 7000, notifiedWithinMs: 60_000 },
    },
  });
  expect(readFileSync(join(report, "report.html"), "utf8")).not.toContain("a-key-of-a-merchant");
});

test("a contradiction exits with 1 and is named; what cannot be read is counted", async () => {
  expect(await watched([line(1, 400), "no JSON", line(2)])).toBe(1);
  expect(printed).toMatch(/CONTRADICTED[^]*✗ errors\.status-mirrored[^]*not judged: 1 × line 2 cannot be read/);
});

test("a log without an exchange of the service exits with 2", async () => {
  expect(await watched([line(1).replace("/v1/", "/other/")])).toBe(2);
  expect(printed).toMatch(/NOT COMPLETED[^]*no exchange with the service was seen[^]*not for a path of the contract/);
});

test.each<[string, string[], string]>([
  ["no traffic", [], "no traffic: forward it with --target URL --listen HOST:PORT, or give --har FILE or --exchanges"],
  ["two sources", ["--har", "a", "--exchanges", "b"], "--har and --exchanges exclude each other"],
  ["no target", ["--listen", "127.0.0.1:0"], "--listen needs --target"],
  ["half of the webhooks", ["--har", "a", "--webhooks-to", "http://a.example"], "need each other"],
  [
    "webhooks of a file",
    ["--har", "a", "--webhooks-to", "http://a.example", "--webhooks-listen", "127.0.0.1:0"],
    "--webhooks-to needs --listen: a file has webhooks among its lines",
  ],
  [
    "a path",
    ["--target", "https://a.example/pay", "--listen", "127.0.0.1:0"],
    "--target must be an origin such as https://pay.example: each path is forwarded as it is sent",
  ],
  ["an address", ["--listen", "3000"], '--listen: must look like HOST:PORT, not "3000"'],
  ["an interval", ["--har", "a", "--every", "0m"], "--every: must be at least 1m and at most 24d"],
  ["an interval", ["--har", "a", "--every", "soon"], "--every: must look like 30d, 12h or 90m"],
  ["an option of a run", ["--har", "a", "--effects", "none"], "Unknown option '--effects'"],
  ["a file that does not exist", ["--har", at("nothing.har"), "--report", report], "ENOENT"],
])("%s: %j is refused", async (_, args, message) => {
  await expect(watch(args)).rejects.toThrow(message);
});
