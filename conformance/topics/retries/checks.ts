// Checks the retries of failed deliveries: which response ends a delivery, when the next attempt is made, and what the
// log says (D13). Some checks move no clock, to notice a sandbox that processes due work only during an advance (D18).
import { define } from "../../check.ts";
import { eventually } from "../../steps/eventually.ts";
import { expectData, expectNoFaults, same } from "../../steps/expect.ts";
import { arrived, expectAttempts, first, idOf, mailbox } from "../../steps/notifications.ts";
import { paid, verified } from "../../steps/records.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";
import {
  delivered,
  deliveryOf,
  expectDelivery,
  expectSteps,
  holding,
  replay,
  respondWith,
} from "../deliveries/checks.ts";

/** The intervals between attempts, in seconds. Each actual interval may be up to 20 % shorter or longer. */
const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Describes the intervals between attempts that deviate from the schedule. */
function misplaced(attempts: readonly { at?: unknown }[]): string[] {
  const times = attempts.map(({ at }) => Date.parse(textOf(at)) / 1000);
  return schedule.flatMap((due, index) => {
    const gap = (times[index + 1] ?? Number.NaN) - (times[index] ?? Number.NaN);
    // The server may begin to count an interval up to one second before or after the time that it recorded for the
    // attempt.
    return gap >= due * 0.8 - 1 && gap <= due * 1.2 + 1 ? [] : [`${gap} s instead of ${due} s`];
  });
}

const unavailable = "try later";
const needs = ["receiver", "forced-outcomes", "clock", "deliveries"] as const;

/** The longest delay of a settlement that the suite waits for. */
const longestDelayMs = 10_000;

/** The worker of a busy target may be late by this time. */
const toleranceMs = 5000;

/** How long a slow receiver takes, less than the shortest interval between two attempts. */
const slowMs = 3000;

export const checks = define([
  {
    name: "Failed delivery is retried until it succeeds",
    ids: ["retries.after-failure", "events.once"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith([500, 500, 204]));
      await advance(context, 600);
      const received = await arrived(context, box, 3);
      same(context, "events.once", { what: "webhook-ids", actual: received.map(idOf), expected: [id, id, id] });
      await advance(context, 86_400);
      const alike = new Set(box.received.map(({ body }) => body)).size + new Set(box.received.map(idOf)).size === 2;
      const expected = "three attempts with the same webhook-id and body, and none after the successful one";
      const actual = `attempts: ${box.received.length}, ${alike ? "identical" : "not identical"}`;
      context.judge("retries.after-failure", alike && box.received.length === 3, expected, actual, context.responses);
    },
  },
  {
    name: "Attempts follow the schedule",
    ids: ["retries.schedule"],
    pays: 1,
    needs,
    async run(context) {
      const made = await delivered(context, respondWith(500));
      await advance(context, 10 * 86_400);
      const tenFailures = Array.from({ length: 10 }, () => 500);
      const { response, attempts } = await expectDelivery(context, "retries.schedule", made, tenFailures, "exhausted");
      const expected = "each interval within 20 % of the schedule";
      expectNoFaults(context, "retries.schedule", expected, misplaced(attempts), response);
    },
  },
  {
    name: "Redirect counts as a failed attempt",
    ids: ["retries.redirect-fails"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const elsewhere = mailbox(context);
      const { box } = await delivered(context, respondWith(302, { location: elsewhere.url }));
      await expectSteps(context, "retries.redirect-fails", box, [30, 2]);
      expectAttempts(context, "retries.redirect-fails", elsewhere, 0, "at the redirect target");
    },
  },
  {
    name: "410 ends the delivery",
    ids: ["retries.gone-ends"],
    pays: 1,
    needs,
    async run(context) {
      const made = await delivered(context, respondWith(410));
      await advance(context, 2 * 86_400);
      await expectDelivery(context, "retries.gone-ends", made, [410], "ended");
    },
  },
  {
    name: "Retry-After postpones the next attempt",
    ids: ["retries.retry-after"],
    needs: ["receiver", "forced-outcomes", "clock"],
    pays: 3,
    async run(context) {
      const id = "retries.retry-after";
      for (const status of [429, 503]) {
        const { box } = await delivered(context, respondWith(status, { "retry-after": "600" }));
        await expectSteps(context, id, box, [400, 1], [400, 2]);
      }
      const { box } = await delivered(context, respondWith(503, { "retry-after": "86400" }));
      await expectSteps(context, id, box, [2700, 1], [1800, 2]);
    },
  },
  {
    name: "Slow receiver delays nothing else",
    ids: ["retries.slow-receiver"],
    needs: ["receiver", "forced-outcomes", "clock"],
    pays: 2,
    async run(context) {
      const id = "retries.slow-receiver";
      const { reply, release } = holding();
      const slow = mailbox(context, reply);
      const quick = mailbox(context);
      const { response } = await paid(context, { phoneNumber: forcing("001"), webhookURL: slow.url });
      await first(context, slow);
      await paid(context, { phoneNumber: forcing("001"), webhookURL: quick.url });
      await arrived(context, quick);
      expectAttempts(context, id, quick, 1, "to deliver another payout in the meantime");
      release();
      const took = response.exchange.durationMs;
      const expected = "a response to create while the receiver is still busy";
      context.judge(id, took < 2000, expected, `response after ${took} ms`, response);
    },
  },

  {
    name: "Delivery lists each attempt with the receiver's response",
    ids: ["sandbox.attempts"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "deliveries", "clock"],
    async run(context) {
      const { reference } = await delivered(context, (response) => void response.writeHead(500).end(unavailable));
      // The target records an attempt only after it has received the response. This request gives the target the time
      // to record the attempt.
      await advance(context, 1);
      const { response, delivery, attempts } = await deliveryOf(context, reference);
      const { number, httpStatus, responseBody, error, at } = attempts[0] ?? {};
      const reason = typeof error === "string" && error !== "" ? "a reason" : error;
      const isLater = Date.parse(textOf(delivery["nextAttemptAt"])) > Date.parse(textOf(at));
      const expected = { number: 1, httpStatus: 500, responseBody: unavailable, error: "a reason", next: "later" };
      const next = isLater ? "later" : delivery["nextAttemptAt"];
      const actual = { number, httpStatus, responseBody, error: reason, next };
      same(context, "sandbox.attempts", { what: "the first attempt", actual, expected }, response);
    },
  },
  {
    name: "Retry-After with a date postpones the next attempt",
    ids: ["retries.retry-after-date"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const { box } = await delivered(context, (response) => {
        const date = new Date(context.now().getTime() + 1_800_000).toUTCString();
        response.writeHead(503, { "retry-after": date }).end();
      });
      await expectSteps(context, "retries.retry-after-date", box, [1200, 1], [1200, 2]);
    },
  },

  {
    name: "First 2xx response ends the attempts",
    ids: ["retries.any-2xx"],
    pays: 1,
    needs,
    async run(context) {
      // Without Retry-After, 429 and 503 are failures like any other failure.
      const statuses = [300, 404, 429, 503, 299];
      const made = await delivered(context, respondWith([...statuses, 500]));
      await advance(context, 86_400);
      const id = "retries.any-2xx";
      const { response, delivery, attempts } = await expectDelivery(context, id, made, statuses, "delivered");
      const actual = { numbers: attempts.map(({ number }) => number), next: delivery["nextAttemptAt"] ?? "none" };
      const expected = { numbers: [1, 2, 3, 4, 5], next: "none" };
      same(context, id, { what: "its attempts:", actual, expected }, response);
    },
  },
  {
    name: "200, 201 and 202 end the attempts as 204 does",
    ids: ["retries.any-2xx"],
    pays: 3,
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const made = [];
      for (const status of [200, 201, 202]) made.push({ status, ...(await delivered(context, respondWith(status))) });
      await advance(context, 86_400);
      for (const { status, box } of made) expectAttempts(context, "retries.any-2xx", box, 1, `with response ${status}`);
    },
  },
  {
    name: "Retry-After on a 500 changes nothing",
    ids: ["retries.retry-after-statuses"],
    pays: 1,
    needs,
    async run(context) {
      const { box } = await delivered(context, respondWith(500, { "retry-after": "3600" }));
      await expectSteps(context, "retries.retry-after-statuses", box, [30, 2]);
    },
  },
  {
    name: "Failed replay restarts the schedule",
    ids: ["retries.replay-restarts"],
    pays: 1,
    needs: [...needs, "replay"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith([500, 410, 500, 204]));
      await expectSteps(context, "retries.replay-restarts", box, [3600, 2]);
      const response = await replay(context, id);
      expectData(context, "retries.replay-restarts", response, { status: "pending" }, "for a replay after a 410");
      await expectSteps(context, "retries.replay-restarts", box, [30, 4]);
    },
  },
  {
    name: "Success of one delivery leaves an attempt in progress alone",
    ids: ["retries.apart"],
    pays: 2,
    needs,
    async run(context) {
      const held = Promise.withResolvers<void>();
      const slow = await delivered(context, (response, attempt) => {
        if (attempt > 1) response.writeHead(204).end();
        else void held.promise.then(() => response.writeHead(500).end());
      });
      const quick = await delivered(context, respondWith(204));
      const isRecorded = async () => (await deliveryOf(context, quick.reference)).delivery["status"] === "delivered";
      await eventually(context, isRecorded, 2000, 50);
      held.resolve();
      await advance(context, 30);
      await expectDelivery(context, "retries.apart", slow, [500, 204], "delivered");
    },
  },

  {
    name: "Payout settles without an advance of the clock",
    ids: ["sandbox.time-passes"],
    pays: 2,
    needs: ["clock", "forced-outcomes"],
    async run(context) {
      const id = "sandbox.time-passes";
      const body = { phoneNumber: forcing("089") };
      const { data } = await settledByClock(context, (await paid(context, body)).reference);
      const delayMs = Date.parse(data.updatedAt) - Date.parse(data.createdAt);
      if (data.status === "pending" || delayMs > longestDelayMs)
        return context.notApplicable(id, `the target's payouts stay pending for more than ${longestDelayMs / 1000} s`);
      const { reference } = await paid(context, body);
      const mostMs = delayMs + toleranceMs;
      let actual = "pending";
      const isSettled = async () => (actual = (await verified(context, reference)).data.status) !== "pending";
      await eventually(context, isSettled, mostMs);
      same(context, id, { what: `status at most ${mostMs / 1000} s after the creation:`, actual, expected: "failed" });
    },
  },
  {
    name: "Failed webhook is repeated without an advance of the clock",
    names: { "retries.slow-receiver": "Response after three seconds ends the delivery" },
    ids: ["retries.real-time", "retries.slow-receiver"],
    pays: 2,
    needs: ["clock", "forced-outcomes", "receiver"],
    async run(context) {
      // A slow receiver is judged here because this check waits long enough for it.
      const slow = mailbox(context, (response) => {
        void context.sleep(slowMs).then(() => response.writeHead(204).end());
      });
      await paid(context, { phoneNumber: forcing("001"), webhookURL: slow.url });
      const { box } = await delivered(context, respondWith([500, 204]));
      // The second attempt is due after at most 6 s. Each wait takes at most 8 s. The second wait is needed only for a
      // busy target.
      await arrived(context, box, 2);
      await arrived(context, box, 2);
      expectAttempts(context, "retries.real-time", box, 2, "within 16 s");
      await advance(context, 60);
      expectAttempts(context, "retries.slow-receiver", slow, 1, `with a response after ${slowMs / 1000} s`);
    },
  },
  {
    name: "Attempt without a response is repeated and listed",
    ids: ["retries.no-response", "sandbox.attempts"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "clock", "deliveries"],
    async run(context) {
      const made = await delivered(context, (response, attempt) => {
        if (attempt < 3) response.destroy();
        else response.writeHead(204).end();
      });
      await advance(context, 600);
      const responses = ["none", "none", 204] as const;
      const { response, attempts } = await expectDelivery(context, "retries.no-response", made, responses, "delivered");
      const reasons = attempts.map(({ error = "none" }) => (error === "none" || error === "" ? error : typeof error));
      const failed = { what: "reasons of the attempts:", actual: reasons, expected: ["string", "string", "none"] };
      same(context, "sandbox.attempts", failed, response);
    },
  },
]);
