// Checks which disbursements a create accepts and what it returns (§2.1, §2.2, §4.1).
import type { Check } from "../../check.ts";
import { expectData, expectStatus, shows } from "../../steps/expect.ts";
import { dataOf, disbursementBody, paid, pay, pays, verifyDisbursement } from "../../steps/requests.ts";
import { textOf } from "../../target/values.ts";

export const checks: Check[] = [
  {
    name: "Valid disbursement is accepted",
    ids: ["create.accepted", "create.status-known", "create.service-reference-verifies"],
    ...pays(1),
    async run(context) {
      const body = disbursementBody(context);
      const response = await pay(context, body);
      expectStatus(context, "create.accepted", response, 200, "for a valid disbursement");
      const { status, reference } = dataOf(response);
      const known = ["pending", "success", "failed"].includes(status as string);
      shows(context, "create.status-known", response, known, "status pending, success or failed");
      const found = await verifyDisbursement(context, textOf(reference));
      const own = { merchantsReference: body["reference"] };
      const when = "in the record just created";
      expectData(context, "create.service-reference-verifies", found, own, when, [response, found]);
    },
  },
  {
    name: "Records the responses to creates that the interface leaves open",
    ids: ["create.initial-status", "create.webhook-null", "create.extra-field"],
    ...pays(3),
    async run(context) {
      const { data } = await paid(context);
      context.observe("create.initial-status", "status", data.status);
      const unusual = {
        "create.webhook-null": { webhookURL: null },
        "create.extra-field": { [`${context.target.merchant.name}Extra`]: "x" },
      };
      for (const [id, over] of Object.entries(unusual)) {
        const { status } = await pay(context, disbursementBody(context, over));
        context.observe(id, "response status", status ?? "none");
      }
    },
  },
];
