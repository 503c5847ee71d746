// Checks the states of a checkout (D3).
import { describeResponse, type Check } from "../../check.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { expectData, same, shows } from "../../steps/expect.ts";
import { dataOf } from "../../steps/requests.ts";
import { advance, finishCheckout } from "../../steps/sandbox-controls.ts";

const outcomes = ["success", "failed", "cancelled"];

export const checks: Check[] = [
  {
    name: "Checkout can be finished once, with each outcome",
    ids: ["checkout-states.outcomes", "checkout-states.final", "sandbox.finish"],
    effect: "moves-money",
    needs: ["finish"],
    async run(context) {
      // Checkouts with the same amount are open at the same time, and the latest checkout ends first.
      const { body, ...first } = await started(context);
      const others = [await started(context, body), await started(context, body)];
      for (const [index, { data, reference }] of [first, ...others].toReversed().entries()) {
        const outcome = outcomes[index]!;
        const initial = { what: "at first, status", actual: data["status"], expected: "pending" };
        same(context, "checkout-states.outcomes", initial);
        const ended = await finishCheckout(context, reference, outcome);
        expectData(context, "sandbox.finish", ended, { status: outcome }, "for the finished checkout");
        const record = await verifyCheckout(context, reference);
        shows(context, "checkout-states.outcomes", record, dataOf(record)["status"] === outcome, `status ${outcome}`);
        const again = await finishCheckout(context, reference, outcomes.find((other) => other !== outcome) ?? "");
        const later = await verifyCheckout(context, reference);
        const stays = again.status === 409 && dataOf(later)["status"] === outcome;
        const expected = `409 for a second finish, and status ${outcome} as before`;
        const actual = `${describeResponse(again)}; then ${describeResponse(later)}`;
        context.judge("checkout-states.final", stays, expected, actual, [again, later]);
      }
    },
  },
  {
    name: "Unpaid checkout is cancelled after 30 minutes",
    ids: ["checkout-states.expiry"],
    effect: "moves-money",
    needs: ["clock"],
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
        shows(context, "checkout-states.expiry", response, ok, `status ${expected} ${when}`);
      }
    },
  },
];
