// Checks that a payment that failed says why, and the same in every place (D75).
import type { Check } from "../check.ts";
import { same } from "./expect.ts";
import { first, mailbox } from "./notifications.ts";
import { get, paid, pays } from "./requests.ts";
import { listed } from "./sandbox-controls.ts";
import { settled } from "./settlement.ts";
import { otherStatus } from "./webhooks.ts";

export const checks: Check[] = [
  {
    name: "Verify, list and webhook say the same about why a disbursement failed",
    ids: ["failure.same-everywhere"],
    ...pays(1),
    needs: ["failing-recipient", "receiver"],
    async *run(context) {
      const [id = ""] = this.ids;
      const box = mailbox(context);
      const merchantsReference = context.fresh();
      const { reference } = await paid(context, {
        reference: merchantsReference,
        phoneNumber: context.options.failingRecipient,
        webhookURL: box.url,
      });
      yield;
      const { data } = await settled(context, reference);
      if (data.status !== "failed") return otherStatus(context, id, "failed", data.status);
      const { failure: expected } = data as { failure?: unknown };
      const response = await get(context, `/v1/disbursements?merchantsReference=${merchantsReference}`);
      const actual = listed(response).map(({ failure }) => failure);
      same(context, id, { what: "in the list, failure", actual, expected: [expected] }, response);
      const { json } = await first(context, box);
      const { data: sent } = (json ?? {}) as { data?: { failure?: unknown } };
      same(context, id, { what: "in the webhook, failure", actual: sent?.failure, expected });
    },
  },
];
