// Checks that two merchants can use the same reference for their checkouts (D7).
import type { Check } from "../check.ts";
import { started } from "./checkout-record.ts";
import { expectStatus, same } from "./expect.ts";
import { dataOf, startCheckout } from "./requests.ts";

export const checks: Check[] = [
  {
    name: "Two merchants can give their checkouts the same reference",
    ids: ["checkout-request.reference-per-merchant"],
    effect: "moves-money",
    needs: ["second-key"],
    async run(context) {
      const id = "checkout-request.reference-per-merchant";
      const { body, reference } = await started(context, { reference: context.fresh() });
      const other = await startCheckout(context, body, { key: "second" });
      expectStatus(context, id, other, 200, "for a reference that only another merchant has used");
      const { reference: service, merchantsReference } = dataOf(other);
      const actual = { merchantsReference, checkout: service === reference ? "the other merchant's" : "a new one" };
      const expected = { merchantsReference: body["reference"], checkout: "a new one" };
      same(context, id, { what: "the response's references:", actual, expected }, other);
    },
  },
];
