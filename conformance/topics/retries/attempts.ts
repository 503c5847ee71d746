// Checks the log of delivery attempts and their dates (D13).
import type { Check } from "../../check.ts";
import { delivered, deliveryOf, expectSteps } from "./deliveries.ts";
import { same } from "../../steps/expect.ts";
import { pays } from "../../steps/requests.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import { textOf } from "../../target/values.ts";

const unavailable = "try later";

export const checks: Check[] = [
  {
    name: "Delivery lists each attempt with the receiver's response",
    ids: ["sandbox.attempts"],
    ...pays(1),
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
    ...pays(1),
    needs: ["receiver", "forced-outcomes", "clock"],
    async run(context) {
      const { box } = await delivered(context, (response) => {
        const date = new Date(context.now().getTime() + 1_800_000).toUTCString();
        response.writeHead(503, { "retry-after": date }).end();
      });
      await expectSteps(context, "retries.retry-after-date", box, [1200, 1], [1200, 2]);
    },
  },
];
