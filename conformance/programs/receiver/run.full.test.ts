import { expect, onTestFinished, test } from "vitest";
import { soundPieces, startReceiver, type Pieces } from "../../broken/receivers/reference.ts";
import { brokenReceivers } from "../../broken/receivers/broken.ts";
import { listen } from "../../model/server.ts";
import { renderJson } from "../../report/json.ts";
import { exitCodeOf, type Report } from "../../results.ts";
import { runReceiver, type ReceiverRun } from "./run.ts";
import { effectsFromCommand, type Subject } from "./subject.ts";

const secret = "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDE=";
const limits = { timeoutMs: 5000, settleMs: 5000, pieceMs: 5, repeatMs: 0 };

async function receiverWith(pieces: Partial<Pieces> = {}): Promise<Subject> {
  const { subject, stop } = await startReceiver([secret], pieces);
  onTestFinished(stop);
  return subject;
}

const run = (subject: Subject, options: Partial<ReceiverRun> = {}): Promise<Report> =>
  runReceiver({ subject, secrets: [secret], limits, seed: 1, runId: "test", ...options });

const resultOf = ({ requirements }: Report, id: string) => requirements.find((requirement) => requirement.id === id)!;
const failedIn = ({ requirements }: Report) =>
  requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
const oneAtATime = brokenReceivers.find(({ id }) => id === "receiver-one-at-a-time")!.pieces;

test("what the caller did not provide is named, and the run passes partially", async () => {
  const { url, effects } = await receiverWith();
  const report = await run({ url, effects: async () => (await effects()).map(({ id }) => ({ id })) });
  expect([report.verdict, exitCodeOf(report)]).toEqual(["passed-partially", 0]);
  expect(report.notProvided.map(({ provide }) => provide).toSorted()).toEqual([
    "--command COMMAND",
    "--outage-command COMMAND",
    "reference, merchantsReference, amount in each effect",
  ]);
  expect(resultOf(report, "receiver.rotation").reason?.code).toBe("target");
});

test("a receiver of one product that reads one request at a time is certified for its events", async () => {
  const events = ["disbursement.completed", "disbursement.failed"];
  const parse: Pieces["parse"] = (body) => {
    const parsed = soundPieces.parse(body);
    return parsed?.event.startsWith("checkout.") ? undefined : parsed;
  };
  const report = await run(await receiverWith({ ...oneAtATime, parse }), { events, isSerial: true });
  expect(failedIn(report)).toEqual([]);
  expect([report.verdict, report.conditions.events]).toEqual(["certified", events]);
  const { reason } = resultOf(report, "receiver.not-held-up");
  expect(reason).toMatchObject({ code: "target", text: expect.stringContaining("--serial") });
});

test("a wrong amount fails although other values are not stated, and again alone with the same values", async () => {
  const { url, effects } = await receiverWith();
  const amounts = async () => (await effects()).map(({ id, amount = 0 }) => ({ id, amount: amount % 1000 }));
  const failedCheck = (report: Report) =>
    resultOf(report, "receiver.exact-values").checks.find(({ verdict }) => verdict === "fail")!;
  const first = failedCheck(await run({ url, effects: amounts }, { only: ["receiver.exact-values"], runId: "first" }));
  const alone = { scenarios: ["limits-of-amounts"], runId: "second" };
  const again = failedCheck(await run({ url, effects: amounts }, alone));
  const valuesIn = ({ expected }: typeof first) => expected.match(/amount \d+/g);
  expect([again.name, valuesIn(again)]).toEqual([first.name, valuesIn(first)]);
});

test("a receiver that does not respond, or a probe that fails, ends the run with an error", async () => {
  const { url, stop } = await listen(async () => undefined);
  onTestFinished(stop);
  const silent = await run({ url, effects: async () => [] }, { limits: { ...limits, timeoutMs: 50 } });
  expect(silent.errors).toEqual([`The receiver did not respond to 3 requests in a row. Is it running at ${url}?`]);
  expect(exitCodeOf(silent)).toBe(1);
  const receiver = await receiverWith();
  const failing = await run({ url: receiver.url, effects: effectsFromCommand("exit 1", process.env) });
  expect(failing).toMatchObject({ verdict: "error", errors: [expect.stringContaining("--effects-command failed")] });
  expect(exitCodeOf(failing)).toBe(2);
});

test("reports contain neither the secret nor a signature", async () => {
  const subject = await receiverWith({
    refuse: ({ stamp, world }) => ({
      status: 400,
      body: `${stamp.signature} is not of ${world.keys[0]?.toString("base64")}`,
    }),
  });
  const report = await run(subject, { only: ["receiver.forged-refused", "receiver.leaks-nothing"] });
  const json = renderJson(report);
  expect(resultOf(report, "receiver.leaks-nothing").verdict).toBe("fail");
  expect(json).not.toContain(secret.slice(6));
  const signatures = [...json.matchAll(/"webhook-signature": "([^"]*)"/g)].map(([, value]) => value);
  expect(new Set(signatures)).toEqual(new Set(["[redacted]"]));
});
