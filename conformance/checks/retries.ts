// Checks the retries of failed deliveries (D13).
import type { Check, Context } from "../check.ts";
import { respondWith, delivered, deliveryOf } from "./deliveries.ts";
import { expectNoFaults, same } from "./expect.ts";
import { arrived, first, idOf, mailbox, type Box } from "./notifications.ts";
import { paid, pays } from "./requests.ts";
import { advance, forcing } from "./sandbox-controls.ts";

const one = {
  ...pays(1),
  needs: ["receiver", "forced-outcomes", "clock"],
} as const;

/** The intervals between attempts, in seconds. Each actual interval may be up to 20 % shorter or longer. */
const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Advances the sandbox time in steps. After each step, judges the number of attempts received so far. */
async function judgeSteps(
  context: Context,
  id: string,
  box: Box,
  steps: readonly [seconds: number, attempts: number][],
) {
  let passed = 0;
  for (const [seconds, attempts] of steps) {
    await advance(context, seconds);
    passed += seconds;
    same(context, id, { what: `attempts after ${passed} s:`, actual: box.received.length, expected: attempts });
  }
}

/** Describes the intervals between attempts that deviate from the schedule. */
function misplaced(attempts: readonly { at?: unknown }[]): string[] {
  const times = attempts.map(({ at }) => Date.parse(String(at)) / 1000);
  return schedule.flatMap((due, index) => {
    const gap = (times[index + 1] ?? Number.NaN) - (times[index] ?? Number.NaN);
    // The server may start an interval up to one second before or after the time that it recorded for the attempt.
    return gap >= due * 0.8 - 1 && gap <= due * 1.2 + 1 ? [] : [`${gap} s instead of ${due} s`];
  });
}

export const checks: Check[] = [
  {
    name: "Failed delivery is retried until it succeeds",
    ids: ["retries.after-failure"],
    ...one,
    async run(context) {
      const { box } = await delivered(
        context,
        (response, attempt) => void response.writeHead(attempt < 3 ? 500 : 204).end(),
      );
      await advance(context, 600);
      const received = await arrived(context, box, 3);
      const alike = received.every(({ body }) => body === received[0]?.body) && new Set(received.map(idOf)).size === 1;
      const expected = "three attempts with the same webhook-id and body, and none after the successful one";
      await advance(context, 86_400);
      context.judge(
        "retries.after-failure",
        alike && box.received.length === 3,
        expected,
        `attempts: ${box.received.length}, ${alike ? "identical" : "not identical"}`,
        context.responses,
      );
    },
  },
  {
    name: "Attempts follow the schedule",
    ids: ["retries.schedule"],
    ...one,
    needs: [...one.needs, "deliveries"],
    async run(context) {
      const { box, reference } = await delivered(context, respondWith(500));
      await advance(context, 10 * 86_400);
      const { response, delivery } = await deliveryOf(context, reference);
      const attempts = (delivery["attempts"] ?? []) as { at?: unknown }[];
      const ended = attempts.length === 10 && box.received.length === 10 && delivery["status"] === "exhausted";
      const actual = `${attempts.length} listed, ${box.received.length} received, status ${String(delivery["status"])}`;
      context.judge("retries.schedule", ended, "ten attempts, then status exhausted", actual, response);
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
      await advance(context, 30);
      const ok = elsewhere.received.length === 0 && box.received.length === 2;
      const actual = `${elsewhere.received.length} at the redirect target, ${box.received.length} at the webhookURL`;
      context.judge(
        "retries.redirect-fails",
        ok,
        "no request to the redirect target, and a second attempt at the webhookURL",
        actual,
        context.responses,
      );
    },
  },
  {
    name: "410 ends the delivery",
    ids: ["retries.gone-ends"],
    ...one,
    needs: [...one.needs, "deliveries"],
    async run(context) {
      const { box, reference } = await delivered(context, respondWith(410));
      await advance(context, 2 * 86_400);
      const { delivery, response } = await deliveryOf(context, reference);
      const ok = box.received.length === 1 && delivery["status"] === "ended";
      context.judge(
        "retries.gone-ends",
        ok,
        "one attempt, then status ended",
        `attempts: ${box.received.length}, status ${String(delivery["status"])}`,
        response,
      );
    },
  },
  {
    name: "Retry-After postpones the next attempt",
    ids: ["retries.retry-after"],
    ...pays(3),
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const id = "retries.retry-after";
      for (const status of [429, 503]) {
        const { box } = await delivered(context, respondWith(status, { "retry-after": "600" }));
        await judgeSteps(context, id, box, [
          [400, 1],
          [400, 2],
        ]);
      }
      const { box } = await delivered(context, respondWith(503, { "retry-after": "86400" }));
      await judgeSteps(context, id, box, [
        [2700, 1],
        [1800, 2],
      ]);
    },
  },
  {
    name: "Slow receiver delays nothing else",
    ids: ["retries.slow-receiver"],
    ...pays(2),
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const held = Promise.withResolvers<void>();
      const slow = mailbox(context, (response) => void held.promise.then(() => response.writeHead(204).end()));
      const quick = mailbox(context);
      const before = context.now().getTime();
      const { response } = await paid(context, { phoneNumber: forcing("001"), webhookURL: slow.url });
      await first(context, slow);
      await paid(context, { phoneNumber: forcing("001"), webhookURL: quick.url });
      const received = await arrived(context, quick);
      const took = context.now().getTime() - before;
      held.resolve();
      context.judge(
        "retries.slow-receiver",
        response.exchange.durationMs < 2000,
        "a response to create while the receiver is still busy",
        `response after ${response.exchange.durationMs} ms`,
        context.responses,
      );
      context.judge(
        "retries.slow-receiver",
        received.length === 1,
        "another delivery in the meantime",
        `${received.length} received within ${took} ms`,
        context.responses,
      );
    },
  },
];
