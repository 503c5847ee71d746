// D9: what becomes of a checkout.
import { describeResponse, type Check } from "../check.ts";
import { verifyCheckout, started } from "./checkout-record.ts";
import { dataOf } from "./requests.ts";
import { advance, finishCheckout } from "./sandbox-controls.ts";

const outcomes = ["success", "failed", "cancelled"];

export const checkoutStateChecks: Check[] = [
  {
    name: "a checkout ends once",
    ids: ["checkout-states.outcomes", "checkout-states.final", "sandbox.finish"],
    effect: "moves-money",
    needs: ["sandbox"],
    async run(context) {
      for (const outcome of outcomes) {
        const { data, reference } = await started(context);
        context.judge(
          "checkout-states.outcomes",
          data["status"] === "pending",
          "pending at first",
          String(data["status"]),
        );
        const ended = await finishCheckout(context, reference, outcome);
        const done = ended.status === 200 && dataOf(ended)["status"] === outcome;
        context.judge("sandbox.finish", done, `200 with status ${outcome}`, describeResponse(ended), [ended]);
        const record = await verifyCheckout(context, reference);
        context.judge(
          "checkout-states.outcomes",
          dataOf(record)["status"] === outcome,
          outcome,
          describeResponse(record),
          [record],
        );
        const again = await finishCheckout(context, reference, outcomes.find((other) => other !== outcome) ?? "");
        const later = await verifyCheckout(context, reference);
        const stays = again.status === 409 && dataOf(later)["status"] === outcome;
        context.judge(
          "checkout-states.final",
          stays,
          `409 to a second end, and ${outcome} still`,
          `${describeResponse(again)}; then ${describeResponse(later)}`,
          [again, later],
        );
      }
    },
  },
  {
    name: "a checkout that nobody pays",
    ids: ["checkout-states.expiry"],
    effect: "moves-money",
    needs: ["sandbox"],
    async run(context) {
      const { reference } = await started(context);
      const steps = [
        { seconds: 1740, expected: "pending", when: "after 29 minutes" },
        { seconds: 120, expected: "cancelled", when: "after 31 minutes" },
      ];
      for (const { seconds, expected, when } of steps) {
        await advance(context, seconds);
        const response = await verifyCheckout(context, reference);
        const ok = dataOf(response)["status"] === expected;
        context.judge("checkout-states.expiry", ok, `${expected} ${when}`, describeResponse(response), [response]);
      }
    },
  },
];
