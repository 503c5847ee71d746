// Tests the command line of `certify watch` with recorded traffic. forward.test.ts has forwarded traffic.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { reportIn } from "../testing/command-line.ts";
import { watch } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-watch-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

test("a log with a contradiction exits with 1, and its report says what was seen, missed and declared", async () => {
  vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  const sent = {
    sentAt: "2026-11-29T10:00:01Z",
    endedAt: "2026-11-29T10:00:02Z",
    headers: { "x-api-key": "a-secret" },
  };
  const response = { status: 404, headers: {}, body: { statusCode: 400, error: "Not Found" } };
  const line = JSON.stringify({ ...sent, method: "GET", path: "/v1/disbursements/DSB1", response });
  writeFileSync(at("traffic.jsonl"), `${line}\nno JSON\n`);
  writeFileSync(at("certify.yaml"), "readAfterWriteMs: 7000");
  const args = ["--exchanges", at("traffic.jsonl"), "--report", folder, "--notified-within", "60"];
  expect(await watch([...args, "--declare", at("certify.yaml")])).toBe(1);
  expect(await reportIn(folder)).toMatchObject({
    verdict: "contradicted",
    watched: {
      source: "traffic.jsonl",
      from: "2026-11-29T10:00:01.000Z",
      exchanges: 1,
      missed: { "line 2 cannot be read: it must be a JSON object": 1 },
      declared: { visibleAfterMs: 7000, notifiedWithinMs: 60_000 },
    },
  });
  expect(readFileSync(at("report.html"), "utf8")).not.toContain("a-secret");
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
