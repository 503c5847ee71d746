// D9: what becomes of a checkout.
import { summary, type Check } from "../check.ts";
import { look, started } from "./checkout-record.ts";
import { dataOf } from "./requests.ts";
import { advance, finish } from "./sandbox-controls.ts";

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
        const ended = await finish(context, reference, outcome);
        const done = ended.status === 200 && dataOf(ended)["status"] === outcome;
        context.judge("sandbox.finish", done, `200 with status ${outcome}`, summary(ended), [ended]);
        const record = await look(context, reference);
        context.judge("checkout-states.outcomes", dataOf(record)["status"] === outcome, outcome, summary(record), [
          record,
        ]);
        const again = await finish(context, reference, outcomes.find((other) => other !== outcome) ?? "");
        const later = await look(context, reference);
        const stays = again.status === 409 && dataOf(later)["status"] === outcome;
        context.judge(
          "checkout-states.final",
          stays,
          `409 to a second end, and ${outcome} still`,
          `${summary(again)}; then ${summary(later)}`,
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
        const answer = await look(context, reference);
        const ok = dataOf(answer)["status"] === expected;
        context.judge("checkout-states.expiry", ok, `${expected} ${when}`, summary(answer), [answer]);
      }
    },
  },
];
