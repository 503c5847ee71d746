// A requirement must not pass if the event that its check watches for could not happen. Each server here lacks what
// some requirements need, and these requirements must not pass.
import { expect, test } from "vitest";
import type { Report } from "../results.ts";
import type { How } from "./fault.ts";
import { startBroken } from "./server.ts";
import { optionsFor, runTrial } from "./trial.ts";
import { items, lists, refuses } from "./exchanges.ts";
import { drops } from "./webhooks.ts";

const timeout = 300_000;

/** Runs the checks of these requirements. Returns the ids of the requirements that passed. */
async function passed(how: How, only: readonly string[], args: readonly string[] = []): Promise<string[]> {
  const server = await startBroken(how);
  try {
    const report: Report = await runTrial(await optionsFor(server, ["--profile", "extended", ...args]), { only });
    return report.requirements.filter(({ id, verdict }) => only.includes(id) && verdict === "pass").map(({ id }) => id);
  } finally {
    await server.stop();
  }
}

test("nothing that builds on a payout passes if every create is refused", { timeout }, async () => {
  const only = [
    "create.accepted",
    "create.duplicate-refused",
    "create.duplicate-invalid-refused",
    "create.duplicate-race",
    "create.model",
    "create.service-reference-unique",
    "records.concurrent",
    "verify.found",
    "verify.agrees-with-create",
    "auth.record-hidden-without-key",
    "webhook.disbursement-success",
    "webhook.truth",
    "status.final-stays",
    "uniqueness.per-merchant",
    "uniqueness.merchants-apart",
    "recovery.location",
    "addresses.left-out",
    "events.once",
    "retries.gone-ends",
    "lists.merchants-apart",
    "limits.reference-as-sent",
  ];
  expect(
    await passed(
      refuses(() => true),
      only,
    ),
  ).toEqual([]);
});

test("nothing about notifications passes if none is ever sent", { timeout }, async () => {
  const only = [
    "webhook.disbursement-success",
    "webhook.disbursement-failure",
    "webhook.checkout-outcome",
    "webhook.truth",
    "events.once",
    "events.data-is-the-record",
    "signature.headers",
    "retries.gone-ends",
    "retries.redirect-fails",
  ];
  expect(
    await passed(
      drops(() => true),
      only,
    ),
  ).toEqual([]);
});

test("nothing about lists passes if they are always empty", { timeout }, async () => {
  const empty = items([...lists, "listEvents", "listDeliveries"], () => []);
  const only = [
    "lists.newest-first",
    "lists.pages",
    "lists.filters",
    "lists.cursor-422",
    "lists.merchants-apart",
    "uniqueness.merchants-apart",
    "sandbox.events",
    "sandbox.deliveries",
  ];
  expect(await passed(empty, only)).toEqual([]);
});

test("nothing that follows settlement passes if no payout settles", { timeout }, async () => {
  const only = [
    "status.settles",
    "status.final-stays",
    "status.updated-at-moves",
    "webhook.disbursement-success",
    "webhook.disbursement-failure",
    "webhook.truth",
    "uniqueness.failed-counts",
  ];
  expect(
    await passed(() => ({ storage: () => ({ settleDue: async () => 0, hasDue: async () => false }) }), only, [
      "--settle-timeout",
      "1",
    ]),
  ).toEqual([]);
});
