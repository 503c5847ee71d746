import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { book, soundPieces, startReceiver, type Pieces } from "../../broken/receivers/reference.ts";
import { brokenReceivers } from "../../broken/receivers/broken.ts";
import { CannotRun } from "../../results.ts";
import { renderJson } from "../../report/json.ts";
import { repeatOf } from "../../report/repeat.ts";
import { exitCodeOf, type Report } from "../../results.ts";
import { runReceiver, type ReceiverRun } from "./run.ts";
import { effectsFromCommand, type Subject } from "./subject.ts";

const secret = "whsec_cmVjZWl2ZXItdHJpYWwtc2VjcmV0LTAwMDAwMDE=";
const limits = { timeoutMs: 5000, settleMs: 5000, pieceMs: 5, repeatMs: 0 };
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function receiverWith(pieces: Partial<Pieces> = {}): Promise<Subject> {
  const { subject, stop } = await startReceiver([secret], pieces);
  closers.push(stop);
  return subject;
}

const run = (subject: Subject, options: Partial<ReceiverRun> = {}): Promise<Report> =>
  runReceiver({ subject, secret, limits, seed: 1, runId: "test", ...options });

const resultOf = ({ requirements }: Report, id: string) => requirements.find((requirement) => requirement.id === id)!;

test("what the caller did not provide is named, and the run passes partially", async () => {
  const { url, effects } = await receiverWith();
  const report = await run({ url, effects });
  expect(report.verdict).toBe("passed-partially");
  expect(report.notProvided.map(({ provide }) => provide)).toEqual(["--outage-command COMMAND", "--command COMMAND"]);
  expect(resultOf(report, "receiver.rotation").reason?.code).toBe("target");
  expect(exitCodeOf(report)).toBe(0);
});

/** Does not recognise the events of checkouts. */
const parseDisbursements: Pieces["parse"] = (body) => {
  const parsed = soundPieces.parse(body);
  return parsed?.event.startsWith("checkout.") ? undefined : parsed;
};

test("a receiver of one product is certified for its events", async () => {
  const subject = await receiverWith({ parse: parseDisbursements });
  const report = await run(subject, { events: ["disbursement.completed", "disbursement.failed"] });
  expect(report.requirements.filter(({ verdict }) => verdict === "fail")).toEqual([]);
  expect(report.conditions.events).toEqual(["disbursement.completed", "disbursement.failed"]);
  expect(report.verdict).toBe("certified");
});

test("what a receiver that reads one request at a time cannot show is named", async () => {
  const one = brokenReceivers.find(({ id }) => id === "receiver-one-at-a-time")!;
  const report = await run(await receiverWith(one.pieces), { isSerial: true });
  expect(resultOf(report, "receiver.not-held-up").reason).toMatchObject({
    code: "target",
    text: expect.stringContaining("--serial"),
  });
  expect(report.verdict).toBe("certified");
});

test("a receiver that reads one request at a time fails one requirement, and the run goes on", async () => {
  const one = brokenReceivers.find(({ id }) => id === "receiver-one-at-a-time")!;
  const reading = new Set<Promise<unknown>>();
  const { url, effects } = await receiverWith({
    read(request) {
      const read = one.pieces.read!(request).finally(() => reading.delete(read));
      reading.add(read);
      return read;
    },
  });
  // It serves its effects itself, so they wait for the requests that it reads.
  const inTurn = async () => {
    const isServed = Promise.allSettled(reading).then(() => true);
    if (!(await Promise.race([isServed, sleep(1000)]))) throw new CannotRun("--effects-url did not respond");
    return effects();
  };
  const report = await run(
    { url, effects: inTurn },
    { limits: { ...limits, timeoutMs: 500 }, scenarios: ["stalled-senders", "restarted"] },
  );
  expect(report.errors).toEqual([]);
  expect(report.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id)).toEqual([
    "receiver.not-held-up",
  ]);
});

test("effects without values leave their requirement partly unjudged", async () => {
  const { url, effects } = await receiverWith();
  const idsAlone = async () => (await effects()).map(({ id }) => ({ id }));
  const report = await run({ url, effects: idsAlone }, { only: ["receiver.exact-values"] });
  const provide = "reference, merchantsReference, amount in each effect";
  expect(resultOf(report, "receiver.exact-values").reason).toMatchObject({ code: "caller", provide });
  expect(report.notProvided.map((lacking) => lacking.provide)).toEqual([provide]);
  expect(report.verdict).toBe("passed-partially");
});

test("a wrong amount fails although other values are not stated", async () => {
  const { url, effects } = await receiverWith();
  const amounts = async () => (await effects()).map(({ id, amount = 0 }) => ({ id, amount: amount % 1000 }));
  const report = await run(
    { url, effects: amounts },
    { only: ["receiver.exact-values"], scenarios: ["limits-of-amounts"] },
  );
  expect(resultOf(report, "receiver.exact-values").verdict).toBe("fail");
});

test("an effect that comes after the response is found at the end of the run", async () => {
  const pieces: Partial<Pieces> = {
    async handle(event) {
      const reply = await soundPieces.handle(event);
      // The second effect comes with the next event.
      const last = event.world.durable.queue.splice(0, 1, event)[0];
      if (last) book(last);
      return reply;
    },
  };
  const report = await run(await receiverWith(pieces), {
    scenarios: ["valid-checkout-completed", "valid-checkout-failed"],
  });
  const failed = resultOf(report, "receiver.takes-effect").checks.filter(({ verdict }) => verdict === "fail");
  expect(failed.map(({ name }) => name)).toEqual(["The effects at the end of the run"]);
});

test("a receiver that does not respond ends the run with an error", async () => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const report = await run({ url, effects: async () => [] }, { limits: { ...limits, timeoutMs: 50 } });
  expect(report.errors).toEqual([`The receiver did not respond to 3 requests in a row. Is it running at ${url}?`]);
  expect(exitCodeOf(report)).toBe(1);
});

test("requests that a kill left without a response do not end the run", async () => {
  const effects = new Map<string, { id: string }>();
  const burst = Promise.withResolvers<void>();
  let arrived = 0;
  let isRestarted = false;
  // It responds to a whole burst, and then to one request of the next burst before it is killed. The other requests
  // wait, as in the queue of a slow server.
  const server = createServer(({ headers }, response) => {
    if ((arrived += 1) === 32) burst.resolve();
    if (!isRestarted && arrived > 17) return;
    const id = String(headers["webhook-id"]);
    effects.set(id, { id });
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const report = await run(
    {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      effects: async () => [...effects.values()],
      restart: { kill: () => burst.promise, start: async () => void (isRestarted = true) },
    },
    { limits: { ...limits, timeoutMs: 500 }, scenarios: ["killed-in-burst"] },
  );
  expect(report.errors).toEqual([]);
  expect(resultOf(report, "receiver.survives-crash").checks.map(({ verdict }) => verdict)).toEqual(["pass"]);
});

test("a probe that fails ends the run with an error", async () => {
  const { url } = await receiverWith();
  const report = await run({ url, effects: effectsFromCommand("exit 1", process.env) });
  expect(report).toMatchObject({ verdict: "error", errors: [expect.stringContaining("--effects-command failed")] });
  expect(exitCodeOf(report)).toBe(2);
});

test("a failed scenario fails again alone, with the same values", async () => {
  const flip: Partial<Pieces> = {
    effectOf: (stamp, parsed) => ({ ...soundPieces.effectOf(stamp, parsed)!, amount: 7 }),
  };
  const subject = await receiverWith(flip);
  const only = ["receiver.exact-values", "receiver.takes-effect"];
  const first = await run(subject, { only, runId: "first", repeatFlags: ["--url", subject.url] });
  const requirement = resultOf(first, "receiver.exact-values");
  const check = requirement.checks.find(({ verdict }) => verdict === "fail")!;
  const command = repeatOf(first, requirement, check);
  expect(command).toBe(
    `npx --no -- certify receiver --only receiver.exact-values --seed 1 --url ${subject.url} --scenario limits-of-amounts`,
  );
  const again = await run(subject, {
    only: ["receiver.exact-values"],
    scenarios: ["limits-of-amounts"],
    runId: "second",
  });
  const repeated = resultOf(again, "receiver.exact-values").checks.find(({ name }) => name === check.name)!;
  const amounts = ({ expected }: typeof check) => expected.match(/amount \d+/g);
  expect(repeated.verdict).toBe("fail");
  expect(amounts(repeated)).toEqual(amounts(check));
});

test("a run with --fail-fast ends at the first failure", async () => {
  const booksNothing = await receiverWith({ effectOf: () => undefined });
  const scenarios = ["valid-checkout-completed", "valid-checkout-failed"];
  const report = await run(booksNothing, { scenarios, failFast: true, limits: { ...limits, settleMs: 50 } });
  const checks = resultOf(report, "receiver.takes-effect").checks.map(({ name, verdict }) => [name, verdict]);
  expect(checks).toEqual([["A genuine checkout.completed", "fail"]]);
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
  expect(
    report.requirements.flatMap(({ checks }) => checks.flatMap(({ exchanges }) => exchanges)).length,
  ).toBeGreaterThan(0);
  for (const value of json.matchAll(/"webhook-signature": "([^"]*)"/g)) expect(value[1]).toBe("[redacted]");
});
