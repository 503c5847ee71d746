// Checks the retries of failed deliveries (D13).
import type { Check } from "../../check.ts";
import { delivered, expectDelivery, expectSteps, holding, respondWith } from "./deliveries.ts";
import { expectNoFaults, same } from "../../steps/expect.ts";
import { arrived, expectAttempts, first, idOf, mailbox } from "../../steps/notifications.ts";
import { paid, pays } from "../../steps/requests.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { textOf } from "../../target/values.ts";

const one = {
  ...pays(1),
  needs: ["receiver", "forced-outcomes", "clock"],
} as const;

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

export const checks: Check[] = [
  {
    name: "Failed delivery is retried until it succeeds",
    ids: ["retries.after-failure", "events.once"],
    ...one,
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
    ...one,
    needs: [...one.needs, "deliveries"],
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
    ...one,
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
    ...one,
    needs: [...one.needs, "deliveries"],
    async run(context) {
      const made = await delivered(context, respondWith(410));
      await advance(context, 2 * 86_400);
      await expectDelivery(context, "retries.gone-ends", made, [410], "ended");
    },
  },
  {
    name: "Retry-After postpones the next attempt",
    ids: ["retries.retry-after"],
    ...one,
    ...pays(3),
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
    ...one,
    ...pays(2),
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
];
