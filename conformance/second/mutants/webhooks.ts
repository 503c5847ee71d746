// Mutants that send wrong webhooks, or none.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const merchant = editing("merchant.ts");

const unique = "state.disbursements.duplicateOf(request.reference)";
const delivered = "if (payment.webhookURL === undefined) return;";

export const webhooks: readonly Mutant[] = [
  app(
    "webhook-on-refusal",
    "A refused duplicate sends a webhook.",
    `refuseDuplicate("/v1/disbursements", ${unique});`,
    `const existing = ${unique}; if (existing && request.webhookURL) void fetch(request.webhookURL, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ event: "disbursement.failed", data: { ...existing, status: "failed" } }) }); refuseDuplicate("/v1/disbursements", existing);`,
  ),
  merchant(
    "webhook-not-on-failure",
    "Failures send no webhook.",
    delivered,
    'if (payment.webhookURL === undefined || status === "failed") return;',
  ),
  merchant(
    "webhook-not-on-success",
    "Successes send no webhook.",
    delivered,
    'if (payment.webhookURL === undefined || status === "success") return;',
  ),
  merchant(
    "webhook-lost",
    "Every fourth webhook is lost.",
    delivered,
    "if (payment.webhookURL === undefined || this.state.events.length % 4 === 0) return;",
  ),
  merchant(
    "webhook-to-first",
    "Webhooks go to the address of the first payout.",
    "new Delivery(event, payment.webhookURL,",
    "new Delivery(event, (this.first ??= payment.webhookURL),",
  ),
  merchant(
    "webhook-lies",
    "Webhooks report failures as successes.",
    "data: structuredClone(payment),",
    'data: { ...structuredClone(payment), status: "success" },',
  ),
  merchant(
    "webhook-other-amount",
    "Webhooks contain the amount with the fee.",
    "data: structuredClone(payment),",
    "data: { ...structuredClone(payment), amount: payment.amount + payment.fee },",
  ),
  merchant(
    "webhook-early",
    "Webhooks are sent before the status changes.",
    "this.#settle(record, phoneNumber);",
    'this.#settle(record, phoneNumber); if (webhookURL && record.status === "pending") void fetch(webhookURL, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ event: "disbursement.completed", data: { ...record, status: "success" } }) });',
  ),
];
