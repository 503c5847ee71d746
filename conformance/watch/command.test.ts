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
  const print = vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  const line = {
    sentAt: "2026-11-29T10:00:01Z",
    endedAt: "2026-11-29T10:00:02.050Z",
    method: "GET",
    url: "/v1/disbursements/DSB1",
    headers: { "x-api-key": "a-key-of-a-merchant" },
    response: {
      status: 404,
      headers: { "content-type": "application/json" },
      body: { statusCode: 400, error: "Not Found" },
    },
  };
  writeFileSync(at("traffic.jsonl"), `${JSON.stringify(line)}\nno JSON\n`);
  writeFileSync(at("certify.yaml"), "readAfterWriteMs: 7000");
  const args = ["--exchanges", at("traffic.jsonl"), "--report", folder, "--notified-within", "60"];
  expect(await watch([...args, "--declare", at("certify.yaml")])).toBe(1);
  expect(print.mock.lastCall).toEqual([expect.stringMatching(/^Written: .*report\.html/)]);
  const report = await reportIn(folder);
  expect(report).toMatchObject({
    verdict: "contradicted",
    watched: {
      source: "traffic.jsonl",
      from: "2026-11-29T10:00:01.000Z",
      until: "2026-11-29T10:00:02.050Z",
      exchanges: 1,
      missed: { "line 2 cannot be read: it must be a JSON object": 1 },
      declared: { visibleAfterMs: 7000, notifiedWithinMs: 60_000 },
    },
  });
  expect(readFileSync(at("report.html"), "utf8")).not.toContain("a-key-of-a-merchant");
});

const listening = ["--target", "https://a.example", "--listen", "127.0.0.1:0"];
test.each<[string, string[], string]>([
  ["no source", [], "give one source: --target URL --listen HOST:PORT, --har FILE or --exchanges FILE"],
  ["two sources", ["--har", "a", "--exchanges", "b"], "give one source"],
  ["no target", ["--listen", "127.0.0.1:0"], "--listen needs --target"],
  ["half of the webhooks", [...listening, "--webhooks-to", "http://a.example"], "need each other and --listen"],
  ["a path", ["--target", "https://a.example/pay", "--listen", "127.0.0.1:0"], "each path is forwarded as it is sent"],
  ["an interval", ["--har", "a", "--every", "0m"], "--every: must be at least 1m and at most 24d"],
  ["a file that does not exist", ["--har", at("nothing.har")], "ENOENT"],
])("%s: %j is refused", async (_, args, message) => {
  await expect(watch(args)).rejects.toThrow(message);
});
