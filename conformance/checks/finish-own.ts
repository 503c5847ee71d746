// Checks that a merchant cannot finish another merchant's checkout in the sandbox (D8, D18).
import type { Check } from "../check.ts";
import { started, verifyCheckout } from "./checkout-record.ts";
import { expectStatus, same } from "./expect.ts";
import { dataOf } from "./requests.ts";

export const checks: Check[] = [
  {
    name: "Only the owner can finish a checkout",
    ids: ["sandbox.finish-own"],
    effect: "moves-money",
    needs: ["finish", "second-key"],
    async run(context) {
      const { reference } = await started(context);
      const path = `/sandbox/checkouts/${encodeURIComponent(reference)}/finish`;
      const request = { method: "POST", path, effect: "moves-money", json: { outcome: "success" } } as const;
      const foreign = await context.target.send({ ...request, key: "second" });
      expectStatus(context, "sandbox.finish-own", foreign, 404, "for another merchant's checkout");
      const response = await verifyCheckout(context, reference);
      const actual = dataOf(response)["status"];
      same(context, "sandbox.finish-own", { what: "status afterwards:", actual, expected: "pending" }, response);
    },
  },
];
