// Checks the consequences of the receiver's response: which response ends a delivery, and when the next attempt is made
// (D13).
import type { Check } from "../../check.ts";
import { delivered, deliveryOf, expectDelivery, expectSteps, respondWith } from "./deliveries.ts";
import { eventually } from "../../steps/eventually.ts";
import { expectData, same } from "../../steps/expect.ts";
import { expectAttempts } from "../../steps/notifications.ts";
import { replay } from "./replays.ts";
import { pays } from "../../steps/requests.ts";
import { advance } from "../../steps/sandbox-controls.ts";

const needs = ["receiver", "forced-outcomes", "clock", "deliveries"] as const;

export const checks: Check[] = [
  {
    name: "First 2xx response ends the attempts",
    ids: ["retries.any-2xx"],
    ...pays(1),
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
    ...pays(3),
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
    ...pays(1),
    needs,
    async run(context) {
      const { box } = await delivered(context, respondWith(500, { "retry-after": "3600" }));
      await expectSteps(context, "retries.retry-after-statuses", box, [30, 2]);
    },
  },
  {
    name: "Failed replay restarts the schedule",
    ids: ["retries.replay-restarts"],
    ...pays(1),
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
    ...pays(2),
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
];
