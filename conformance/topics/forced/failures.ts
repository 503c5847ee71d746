// Checks that a failed payment says why it failed, and says the same in every place (D75). Also checks the numbers that
// force a failure (D17).
import type { Check } from "../../check.ts";
import { same } from "../../steps/expect.ts";
import { first, mailbox } from "../../steps/notifications.ts";
import { get, paid, pays } from "../../steps/requests.ts";
import { forcing, listed } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { otherStatus } from "../webhook/webhooks.ts";

/** The code that each failing number forces. */
const codes = {
  "002": "rejected",
  "089": "declined",
  "601": "wallet_not_found",
  "602": "wallet_blocked",
  "603": "wallet_limit_reached",
  "604": "amount_not_allowed",
  "605": "customer_declined",
  "606": "payer_insufficient_funds",
  "607": "rejected",
  "608": "not_approved",
  "609": "other",
};

export const checks: Check[] = [
  {
    name: "Each number that fails forces its failure code",
    ids: ["forced.failure-codes"],
    ...pays(Object.keys(codes).length),
    needs: ["forced-outcomes"],
    async *run(context) {
      const [id = ""] = this.ids;
      const made = await Promise.all(
        Object.entries(codes).map(async ([suffix, code]) => {
          const { reference } = await paid(context, { phoneNumber: forcing(suffix) });
          return { suffix, code, reference };
        }),
      );
      yield;
      for (const { suffix, code, reference } of made) {
        const { data } = await settledByClock(context, reference);
        const { failure } = data as { failure?: { code?: unknown } };
        const what = `for a number ending in ${suffix}, status and failure code`;
        same(context, id, { what, actual: [data.status, failure?.code], expected: ["failed", code] });
      }
    },
  },
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
