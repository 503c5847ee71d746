// Checks that lists without a status filter leave out no status (D42), and that a checkout is dated when it ends (D8).
import type { Check } from "../check.ts";
import { started, verifyCheckout } from "./checkout-record.ts";
import { same } from "./expect.ts";
import { dataOf, paid, usualAmount } from "./requests.ts";
import { advance, finishCheckout, forcing, listed } from "./sandbox-controls.ts";

export const listStatusChecks: Check[] = [
  {
    name: "Lists without a status filter contain pending records",
    ids: ["lists.every-status"],
    effect: "moves-money",
    payouts: 1,
    amount: usualAmount,
    needs: ["forced-outcomes"],
    async run(context) {
      const reference = context.fresh();
      await paid(context, { reference, phoneNumber: forcing("129") });
      await started(context, { reference });
      for (const kind of ["disbursements", "checkouts"]) {
        const path = `/v1/${kind}?limit=100&merchantsReference=${reference}`;
        const response = await context.target.send({ method: "GET", path });
        const actual = listed(response).map(({ status }) => status);
        same(context, "lists.every-status", { what: `statuses of the ${kind}:`, actual, expected: ["pending"] }, [
          response,
        ]);
      }
    },
  },
  {
    name: "Checkout is dated when it ends",
    ids: ["checkout-states.updated-at"],
    effect: "moves-money",
    needs: ["clock", "finish"],
    async run(context) {
      const { reference } = await started(context);
      await advance(context, 60);
      await finishCheckout(context, reference, "success");
      const response = await verifyCheckout(context, reference);
      const { createdAt, updatedAt } = dataOf(response);
      const seconds = (Date.parse(String(updatedAt)) - Date.parse(String(createdAt))) / 1000;
      const expected = "updatedAt at least 60 s after createdAt";
      context.judge("checkout-states.updated-at", seconds >= 60, expected, `${seconds} s after it`, [response]);
    },
  },
];
