// A requirement must not pass for lack of evidence. Each server here never does what some requirements judge, and these
// requirements must not pass.
import { expect, test } from "vitest";
import { data, refuses } from "./changes.ts";
import { lists } from "./calls.ts";
import type { How } from "./fault.ts";
import { startBroken } from "./server.ts";
import { runTrial } from "./trial.ts";
import { drops } from "./webhooks.ts";

// oxfmt-ignore
const servers: [what: string, how: How, ids: string[], args?: string[]][] = [
  ["builds on a payout, if every create is refused", refuses(() => true), [
    "create.accepted", "create.duplicate-refused", "create.duplicate-invalid-refused", "create.duplicate-race",
    "create.model", "create.service-reference-unique", "records.concurrent", "verify.found", "verify.agrees-with-create",
    "auth.record-hidden-without-key", "webhook.disbursement-success", "webhook.truth", "status.final-stays",
    "uniqueness.per-merchant", "uniqueness.merchants-apart", "recovery.location", "addresses.left-out", "events.once",
    "retries.gone-ends", "lists.merchants-apart", "limits.reference-as-sent",
  ]],
  ["concerns notifications, if none is ever sent", drops(() => true), [
    "webhook.disbursement-success", "webhook.disbursement-failure", "webhook.checkout-outcome", "webhook.truth",
    "events.once", "events.data-is-the-record", "signature.headers", "retries.gone-ends", "retries.redirect-fails",
  ]],
  ["concerns lists, if they are always empty", data([...lists, "listEvents", "listDeliveries"], () => ({ items: [] })), [
    "lists.newest-first", "lists.pages", "lists.filters", "lists.cursor-422", "lists.merchants-apart",
    "uniqueness.merchants-apart", "sandbox.events", "sandbox.deliveries",
  ]],
  ["follows settlement, if no payout settles", () => ({ merchant: () => ({ outcomeOf: () => "pending" }) }), [
    "status.settles", "status.final-stays", "status.updated-at-moves", "webhook.disbursement-success",
    "webhook.disbursement-failure", "webhook.truth", "uniqueness.failed-counts",
  ], ["--settle-timeout", "1"]],
];

test.each(servers)("nothing passes that %s", async (_, how, only, args = []) => {
  const { requirements } = await runTrial(startBroken(how), ["--profile", "extended", ...args], { only });
  const passed = requirements.filter(({ id, verdict }) => only.includes(id) && verdict === "pass");
  expect(passed.map(({ id }) => id)).toEqual([]);
});
