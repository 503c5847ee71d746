// Runs `certify` against targets that stop responding in the middle of the run.
import { afterEach, expect, test } from "vitest";
import { runCertify } from "./testing/command-line.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

type Alter = NonNullable<Parameters<typeof startSoundTarget>[0]["alter"]>;

const key = "test-key-4b1d9c72e05f";
/** The time limit for a test that executes a whole run, even on a busy machine. */
const wholeRunMs = 180_000;
const started: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.stop()));
});

/** Returns the exit code, output and report of a run, and the time it took after the first altered response. */
async function runAgainst(alter: Alter) {
  let failedAt = 0;
  const sound = await startSoundTarget({
    key,
    alter(reply, seen, count) {
      const altered = alter(reply, seen, count);
      if (altered !== reply) failedAt ||= performance.now();
      return altered;
    },
  });
  started.push(sound);
  const result = await runCertify(sound.url, key, ["--effects", "money", "--timeout", "2000", "--seed", "7"]);
  return { ...result, afterMs: performance.now() - failedAt };
}

const from100 =
  (alter: Alter): Alter =>
  (reply, seen, count) =>
    count >= 100 ? alter(reply, seen, count) : reply;

test.each([
  ["closes every connection", from100(() => undefined), "the connection was closed without a response"],
  ["hangs", from100(() => new Promise<never>(() => {})), "no complete response within 2000 ms"],
  ["responds 502", from100(() => ({ status: 502, raw: "<h1>Bad Gateway</h1>" })), "status 502"],
])(
  "a target that %s from request 100 on stops the run with one cause and no failures",
  { timeout: wholeRunMs },
  async (_, alter, why) => {
    const { code, report, output, afterMs } = await runAgainst(alter);
    expect([code, report?.verdict, report?.counts.fail]).toEqual([2, "error", 0]);
    expect(report?.summary).toMatch(/^the target stopped responding at request \d+: (GET|POST|HEAD|OPTIONS) \//);
    expect(report?.summary.endsWith(why)).toBe(true);
    expect(output.match(/^STOPPED/gm)).toHaveLength(1);
    expect(output).not.toMatch(/^(FAIL|not run|✗)/m);
    expect(afterMs).toBeLessThan(15_000);
  },
);

test("a target that responds 503 to one kind of invalid input is judged", { timeout: wholeRunMs }, async () => {
  const { code, report } = await runAgainst((reply, { method, body }) =>
    method === "POST" && body.includes('"amount":0')
      ? { status: 503, body: { statusCode: 503, error: "busy" } }
      : reply,
  );
  expect([code, report?.verdict]).toEqual([1, "failed"]);
  expect(report?.counts["could-not-run"]).toBe(0);
});
