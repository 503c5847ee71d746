import { expect, test } from "vitest";
import { runAgainst, trySound } from "./catch.ts";
import { soundServers } from "./sound.ts";

const timeout = 300_000;
/**
 * Tests one of the sound servers that differ where the interface is silent; `npm run certify:self-test` tests all of
 * these servers.
 */
const sound = (id: string) => soundServers.find((server) => server.id === id)!;

// certify.test.ts certifies another sound server, which is not a sandbox and does not sign its webhooks.
test("certifies for core a server with another body of checkouts", { timeout }, async () => {
  const { verdict, alarms } = await trySound(sound("other-checkout-body"), "core", ["warn"]);
  expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
});

test("a live service is not blamed, in extended, for the sandbox that it does not have", { timeout }, async () => {
  const ids = ["answers.exact", "life.checkout-events-sent"];
  const some = new Set(["sandbox.reads", "verify.unknown-404", ...ids]);
  const report = await runAgainst(sound("no-sandbox"), "extended", {
    choose: (all) => all.filter((check) => check.ids.some((id) => some.has(id))),
  });
  const judged = report.requirements.filter(({ id }) => ids.includes(id)).map(({ id, verdict }) => [id, verdict]);
  expect(judged).toEqual([
    ["life.checkout-events-sent", "not-applicable"],
    ["answers.exact", "pass"],
  ]);
});

test("says nothing about webhooks if payouts stay pending for longer than --settle-timeout", { timeout }, async () => {
  const { verdict, alarms } = await trySound(sound("settles-tomorrow"), "core", ["warn"]);
  expect({ verdict, alarms }).toEqual({ verdict: "error", alarms: [] });
});
