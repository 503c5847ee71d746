// Checks the lists of events and deliveries, which deliveries can be replayed, and the retries of failed deliveries: which
// response ends a delivery, when the next attempt is made, and what the log says (D13, D18). Some checks move no clock, to
// notice a sandbox that processes due work only during an advance (D18).
import { judges, type Check, type Context } from "../../check.ts";
import { eventually } from "../../steps/several.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { arrived, expectAttempts, first, idOf, mailbox, webhooks } from "../../steps/notifications.ts";
import { paid, verified } from "../../steps/records.ts";
import { get, pages } from "../../steps/requests.ts";
import { isPage, listed } from "../../steps/responses.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Responder } from "../../target/receiver.ts";
import { textOf } from "../../target/values.ts";
import {
  delivered,
  deliveryOf,
  expectDelivery,
  expectSteps,
  holding,
  logged,
  replay,
  respondWith,
} from "../../steps/deliveries.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

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

/** The most pages of events that are read. */
const mostPages = 30;

const timed = [...webhooks, "clock"] as const;
const needs = [...timed, "deliveries"] as const;

/** The longest delay of a settlement that the suite waits for. */
const longestDelayMs = 10_000;

/** A busy target may settle a payout late by this much. */
const toleranceMs = 5000;

/** How long a slow receiver takes, less than the shortest interval between two attempts. */
const slowMs = 3000;

type Case = [reply: (context: Context) => Responder, ...steps: (readonly [seconds: number, attempts: number])[]];

/** Judges when the next attempt is made, for each of these responses: after each step, the attempts so far. */
const nextAttempt = (judged: RequirementId, ...cases: readonly Case[]) =>
  judges(judged, { pays: cases.length, needs: timed }, async (context, id) => {
    for (const [reply, ...steps] of cases)
      await expectSteps(context, id, (await delivered(context, reply(context))).box, ...steps);
  });
const retryAfter = (status: number, seconds: number) => () => respondWith(status, { "retry-after": String(seconds) });
const inHalfAnHour =
  ({ now }: Context): Responder =>
  (response) =>
    response.writeHead(503, { "retry-after": new Date(now().getTime() + 1_800_000).toUTCString() }).end();

export const checks: readonly Check[] = [
  judges("sandbox.events", { pays: 2, needs: [...webhooks, "events"] }, async (context, id) => {
    const older = await delivered(context, respondWith(204));
    const newer = await delivered(context, respondWith(204));
    const own = await get(context, `/sandbox/events?reference=${older.reference}`);
    const actual = listed(own).map((event) => ({ reference: event["reference"], id: event["id"] }));
    same(context, id, "the events of the record:", actual, [{ reference: older.reference, id: older.id }], own);
    // Payouts of other checks may settle meanwhile, so other events may be listed before and between these events.
    const seen: unknown[] = [];
    const read: TargetResponse[] = [];
    for await (const page of pages(context, "/sandbox/events?limit=1", mostPages)) {
      read.push(page);
      seen.push(...listed(page).map(({ reference }) => reference));
      if (seen.includes(older.reference)) break;
    }
    const [earlier, later] = [seen.indexOf(newer.reference), seen.indexOf(older.reference)];
    const ok = earlier >= 0 && earlier < later && seen.length === read.length;
    const order = `one event per page, and that of ${newer.reference} on a page before that of ${older.reference}`;
    context.judge(id, ok, order, `events of ${seen.join(", ")} on ${read.length} pages`, read.slice(-2));
  }),
  judges("sandbox.deliveries", { pays: 2, needs: [...timed, "deliveries"] }, async (context, id) => {
    for (const [response, status] of [
      [204, "delivered"],
      [410, "ended"],
    ] as const) {
      const delivery = await logged(context, respondWith(response));
      await expectDelivery(context, id, delivery, [response], status);
      const other = await get(context, `/sandbox/deliveries?reference=${delivery.reference}&status=pending`);
      const isEmpty = isPage(other) && listed(other).length === 0;
      context.judge(id, isEmpty, "no delivery of the record with status pending", other);
    }
  }),
  judges("sandbox.replay", { pays: 2, needs: [...timed, "replay"] }, async (context, judged) => {
    const { box, id } = await logged(context, respondWith(204));
    expectStatus(context, judged, await replay(context, id), 200, "for a replay");
    const received = await arrived(context, box, 2);
    same(context, judged, "webhook-ids", received.map(idOf), [id, id]);
    const waiting = await logged(context, (response, attempt) => {
      // Without this Retry-After, the next attempt could be made before the replay.
      if (attempt < 2) response.writeHead(503, { "retry-after": "3600" }).end();
      else response.writeHead(204).end();
    });
    const response = await replay(context, waiting.id);
    expectData(context, judged, response, { status: "delivered" }, "for a replay between two attempts");
    expectAttempts(context, judged, waiting.box, 2, "received");
  }),
  judges(
    ["uniqueness.merchants-apart", "sandbox.replay"],
    { name: "Replay of another merchant's delivery is refused", pays: 1, needs: [...timed, "replay", "second-key"] },
    async (context, apart) => {
      const { box, id } = await logged(context, respondWith(204));
      const foreign = await replay(context, id, "second");
      expectStatus(context, apart, foreign, 404, "for a replay of another merchant's delivery");
      // An id of the same form, which no delivery has.
      const unknown = await replay(context, id.slice(0, -1) + (id.endsWith("0") ? "1" : "0"));
      expectStatus(context, "sandbox.replay", unknown, 404, "for a replay of an unknown delivery");
      // The target responds to this request only after it has sent everything that is due.
      await advance(context, 1);
      expectAttempts(context, apart, box, 1, "received by the owner");
    },
  ),
  judges("sandbox.replay-in-progress", { pays: 1, needs: [...webhooks, "replay"] }, async (context, judged) => {
    const { reply, release } = holding();
    const { box, id } = await delivered(context, reply);
    const response = await replay(context, id);
    release();
    expectStatus(context, judged, response, 409, "for a replay while an attempt is in progress");
    expectAttempts(context, judged, box, 1, "received");
  }),

  judges(["retries.after-failure", "events.once"], { pays: 1, needs: timed }, async (context) => {
    const { box, id } = await delivered(context, respondWith([500, 500, 204]));
    await advance(context, 600);
    const received = await arrived(context, box, 3);
    same(context, "events.once", "webhook-ids", received.map(idOf), [id, id, id]);
    await advance(context, 86_400);
    const alike = new Set(box.received.map(({ body }) => body)).size + new Set(box.received.map(idOf)).size === 2;
    const expected = "three attempts with the same webhook-id and body, and none after the successful one";
    const actual = `attempts: ${box.received.length}, ${alike ? "identical" : "not identical"}`;
    context.judge("retries.after-failure", alike && box.received.length === 3, expected, actual);
  }),
  judges("retries.schedule", { pays: 1, needs }, async (context, id) => {
    const retried = await delivered(context, respondWith(500));
    await advance(context, 10 * 86_400);
    const tenFailures = Array.from({ length: 10 }, () => 500);
    const { response, attempts } = await expectDelivery(context, id, retried, tenFailures, "exhausted");
    const faults = misplaced(attempts);
    context.judge(id, faults.length === 0, "each interval within 20 % of the schedule", faults, response);
  }),
  judges("retries.redirect-fails", { pays: 1, needs: timed }, async (context, id) => {
    const elsewhere = mailbox(context);
    const { box } = await delivered(context, respondWith(302, { location: elsewhere.url }));
    await expectSteps(context, id, box, [30, 2]);
    expectAttempts(context, id, elsewhere, 0, "at the redirect target");
  }),
  judges("retries.gone-ends", { pays: 1, needs }, async (context, id) => {
    const payout = await delivered(context, respondWith(410));
    await advance(context, 2 * 86_400);
    await expectDelivery(context, id, payout, [410], "ended");
  }),
  nextAttempt(
    "retries.retry-after",
    [retryAfter(429, 600), [400, 1], [400, 2]],
    [retryAfter(503, 600), [400, 1], [400, 2]],
    [retryAfter(503, 86_400), [2700, 1], [1800, 2]],
  ),
  nextAttempt("retries.retry-after-date", [inHalfAnHour, [1200, 1], [1200, 2]]),
  nextAttempt("retries.retry-after-statuses", [retryAfter(500, 3600), [30, 2]]),
  judges("retries.slow-receiver", { pays: 2, needs: timed }, async (context, id) => {
    const { reply, release } = holding();
    const [slow, quick] = [mailbox(context, reply), mailbox(context)];
    const { response } = await paid(context, { phoneNumber: forcing("001"), webhookURL: slow.url });
    await first(context, slow);
    await paid(context, { phoneNumber: forcing("001"), webhookURL: quick.url });
    await arrived(context, quick);
    expectAttempts(context, id, quick, 1, "to deliver another payout in the meantime");
    release();
    const took = response.exchange.durationMs;
    const expected = "a response to create while the receiver is still busy";
    context.judge(id, took < 2000, expected, `response after ${took} ms`, response);
  }),
  judges("sandbox.attempts", { pays: 1, needs }, async (context, id) => {
    const responseBody = "try later";
    const { reference } = await logged(context, (reply) => void reply.writeHead(500).end(responseBody));
    const { response, delivery, attempts } = await deliveryOf(context, reference);
    const { number, httpStatus, responseBody: logs, error, at } = attempts[0] ?? {};
    const isLater = Date.parse(textOf(delivery["nextAttemptAt"])) > Date.parse(textOf(at));
    const reason = typeof error === "string" && error !== "" ? "a reason" : error;
    const next = isLater ? "later" : delivery["nextAttemptAt"];
    const actual = { number, httpStatus, responseBody: logs, error: reason, next };
    const expected = { number: 1, httpStatus: 500, responseBody, error: "a reason", next: "later" };
    same(context, id, "the first attempt", actual, expected, response);
  }),
  judges("retries.any-2xx", { pays: 4, needs }, async (context, id) => {
    // Without Retry-After, 429 and 503 are failures like any other failure.
    const statuses = [300, 404, 429, 503, 299];
    const retried = await delivered(context, respondWith([...statuses, 500]));
    const others = [];
    for (const status of [200, 201, 202]) others.push({ status, ...(await delivered(context, respondWith(status))) });
    await advance(context, 86_400);
    for (const { status, box } of others) expectAttempts(context, id, box, 1, `with response ${status}`);
    const { response, delivery, attempts } = await expectDelivery(context, id, retried, statuses, "delivered");
    const actual = { numbers: attempts.map(({ number }) => number), next: delivery["nextAttemptAt"] ?? "none" };
    same(context, id, "its attempts:", actual, { numbers: [1, 2, 3, 4, 5], next: "none" }, response);
  }),
  judges("retries.replay-restarts", { pays: 1, needs: [...needs, "replay"] }, async (context, judged) => {
    const { box, id } = await delivered(context, respondWith([500, 410, 500, 204]));
    await expectSteps(context, judged, box, [3600, 2]);
    expectData(context, judged, await replay(context, id), { status: "pending" }, "for a replay after a 410");
    await expectSteps(context, judged, box, [30, 4]);
  }),
  judges("retries.apart", { pays: 2, needs }, async (context, id) => {
    const { reply, release } = holding([500, 204]);
    const slow = await delivered(context, reply);
    const quick = await delivered(context, respondWith(204));
    const isRecorded = async () => (await deliveryOf(context, quick.reference)).delivery["status"] === "delivered";
    await eventually(context, isRecorded, 2000, 50);
    release();
    await advance(context, 30);
    await expectDelivery(context, id, slow, [500, 204], "delivered");
  }),
  judges("sandbox.time-passes", { pays: 2, needs: ["clock", "forced-outcomes"] }, async (context, id) => {
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
    same(context, id, `status at most ${mostMs / 1000} s after the creation:`, actual, "failed");
  }),
  judges(["retries.real-time", "retries.slow-receiver"], { pays: 2, needs: timed, idle: true }, async (context, id) => {
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
    expectAttempts(context, id, box, 2, "within 16 s");
    await advance(context, 60);
    expectAttempts(context, "retries.slow-receiver", slow, 1, `with a response after ${slowMs / 1000} s`);
  }),
  judges(["retries.no-response", "sandbox.attempts"], { pays: 1, needs }, async (context, id) => {
    const retried = await delivered(context, (response, attempt) => {
      if (attempt < 3) response.destroy();
      else response.writeHead(204).end();
    });
    await advance(context, 600);
    const { response, attempts } = await expectDelivery(context, id, retried, ["none", "none", 204], "delivered");
    const actual = attempts.map(({ error = "none" }) => (error === "none" || error === "" ? error : typeof error));
    same(context, "sandbox.attempts", "reasons of the attempts:", actual, ["string", "string", "none"], response);
  }),
];
