// Checks that lists without a status filter leave out no status (D42), and that a checkout is dated when it ends (D6).
import type { Check } from "../../check.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { same } from "../../steps/expect.ts";
import { dataOf, get, paid, pays } from "../../steps/requests.ts";
import { advance, finishCheckout, forcing, listed } from "../../steps/sandbox-controls.ts";
import { textOf } from "../../target/values.ts";

/** The status of payouts to each forced number (D17). */
const payouts = { "129": "pending", "001": "success", "002": "failed" };
const checkouts = ["pending", "success", "failed", "cancelled"];

export const checks: Check[] = [
  {
    name: "Lists without a status filter contain records of every status",
    ids: ["lists.every-status"],
    ...pays(3),
    needs: ["forced-outcomes", "finish"],
    async run(context) {
      const expectListed = async (kind: string, reference: string, status: string) => {
        const path = `/v1/${kind}?limit=100&merchantsReference=${reference}`;
        const response = await get(context, path);
        const actual = listed(response).map((record) => record["status"]);
        same(context, "lists.every-status", { what: `statuses of the ${kind}:`, actual, expected: [status] }, response);
      };
      for (const [suffix, status] of Object.entries(payouts)) {
        const reference = context.fresh();
        await paid(context, { reference, phoneNumber: forcing(suffix) });
        await expectListed("disbursements", reference, status);
      }
      for (const status of checkouts) {
        const reference = context.fresh();
        const made = await started(context, { reference });
        if (status !== "pending") await finishCheckout(context, made.reference, status);
        await expectListed("checkouts", reference, status);
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
      const seconds = (Date.parse(textOf(updatedAt)) - Date.parse(textOf(createdAt))) / 1000;
      const expected = "updatedAt at least 60 s after createdAt";
      context.judge("checkout-states.updated-at", seconds >= 60, expected, `${seconds} s after it`, response);
    },
  },
];
