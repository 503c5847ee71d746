// Checks what follows from the receiver's response: which ends a delivery, and when the next attempt is made (D13, D31).
import type { Check } from "../check.ts";
import { delivered, deliveryOf, respondWith } from "./deliveries.ts";
import { expectStatus, same, shows } from "./expect.ts";
import { dataOf, usualAmount, pays } from "./requests.ts";
import { advance } from "./sandbox-controls.ts";

const one = {
  ...pays(1),
  needs: ["receiver", "forced-outcomes", "clock", "deliveries"],
} as const;

type Attempt = { number?: unknown; httpStatus?: unknown };

export const checks: Check[] = [
  {
    name: "First 2xx response ends the attempts",
    ids: ["retries.any-2xx"],
    ...one,
    async run(context) {
      // Without Retry-After, 429 and 503 are failures like any other.
      const statuses = [300, 404, 429, 503, 299];
      const { box, reference } = await delivered(
        context,
        (response, attempt) => void response.writeHead(statuses[attempt - 1] ?? 500).end(),
      );
      await advance(context, 86_400);
      const { response, delivery } = await deliveryOf(context, reference);
      const attempts = ((delivery["attempts"] ?? []) as Attempt[]).map(
        ({ number, httpStatus }) => `${String(number)}: ${String(httpStatus)}`,
      );
      const expected = {
        received: statuses.length,
        attempts: statuses.map((status, index) => `${index + 1}: ${status}`),
        status: "delivered",
        next: "none",
      };
      const { status, nextAttemptAt: next = "none" } = delivery;
      const actual = { received: box.received.length, attempts, status, next };
      same(context, "retries.any-2xx", { what: "the delivery:", actual, expected }, response);
    },
  },
  {
    name: "200, 201 and 202 end the attempts as 204 does",
    ids: ["retries.any-2xx"],
    ...one,
    needs: ["receiver", "forced-outcomes", "clock"],
    payouts: 3,
    amount: 3 * usualAmount,
    async run(context) {
      const made = [];
      for (const status of [200, 201, 202]) made.push({ status, ...(await delivered(context, respondWith(status))) });
      await advance(context, 86_400);
      for (const { status, box } of made) {
        const actual = box.received.length;
        same(context, "retries.any-2xx", { what: `attempts with response ${status}:`, actual, expected: 1 });
      }
    },
  },
  {
    name: "Retry-After on a 500 changes nothing",
    ids: ["retries.retry-after-statuses"],
    ...one,
    async run(context) {
      const { box } = await delivered(context, (response) => {
        response.writeHead(500, { "retry-after": "3600" }).end();
      });
      await advance(context, 30);
      const actual = box.received.length;
      same(context, "retries.retry-after-statuses", { what: "attempts after 30 s:", actual, expected: 2 });
    },
  },
  {
    name: "Failed replay restarts the schedule",
    ids: ["retries.replay-restarts"],
    ...one,
    needs: [...one.needs, "replay"],
    async run(context) {
      const statuses = [500, 410, 500];
      const { box, id } = await delivered(
        context,
        (response, attempt) => void response.writeHead(statuses[attempt - 1] ?? 204).end(),
      );
      await advance(context, 3600);
      const before = box.received.length;
      same(context, "retries.replay-restarts", { what: "attempts until a 410:", actual: before, expected: 2 });
      const path = `/sandbox/deliveries/${id}/replay`;
      const response = await context.target.send({ method: "POST", path, effect: "moves-money" });
      expectStatus(context, "retries.replay-restarts", response, 200, "for a replay after a 410");
      const pending = dataOf(response)["status"] === "pending";
      shows(context, "retries.replay-restarts", response, pending, "status pending");
      await advance(context, 30);
      const after = box.received.length;
      same(context, "retries.replay-restarts", { what: "attempts 30 s after it:", actual: after, expected: 4 });
    },
  },
  {
    name: "Success of one delivery leaves an attempt in progress alone",
    ids: ["retries.apart"],
    ...one,
    payouts: 2,
    amount: 2 * usualAmount,
    async run(context) {
      const held = Promise.withResolvers<void>();
      const slow = await delivered(context, (response, attempt) => {
        if (attempt > 1) response.writeHead(204).end();
        else void held.promise.then(() => response.writeHead(500).end());
      });
      const quick = await delivered(context, (response) => void response.writeHead(204).end());
      const isRecorded = async () => (await deliveryOf(context, quick.reference)).delivery["status"] === "delivered";
      for (let tries = 0; tries < 40 && !(await isRecorded()); tries += 1) await context.sleep(50);
      held.resolve();
      await advance(context, 30);
      const { response, delivery } = await deliveryOf(context, slow.reference);
      const actual = { attempts: slow.box.received.length, status: delivery["status"] };
      const expected = { attempts: 2, status: "delivered" };
      same(context, "retries.apart", { what: "the delivery that first failed:", actual, expected }, response);
    },
  },
];
