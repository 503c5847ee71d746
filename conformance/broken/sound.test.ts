import { expect, test } from "vitest";
import { trySound } from "./catch.ts";
import { soundServers } from "./sound.ts";

const timeout = 300_000;
/** One of the sound servers that differ where the interface is silent; `npm run certify:self-test` tests all of them. */
const sound = (id: string) => soundServers.find((server) => server.id === id)!;

// certify.test.ts certifies another one, which is no sandbox and does not sign its webhooks.
test("certifies for core a server with another body of checkouts", { timeout }, async () => {
  const { verdict, alarms } = await trySound(sound("other-checkout-body"), "core", ["warn"]);
  expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
});

test("says nothing about webhooks if payouts stay pending for longer than --settle-timeout", { timeout }, async () => {
  const { verdict, alarms } = await trySound(sound("settles-tomorrow"), "core", ["warn"]);
  expect({ verdict, alarms }).toEqual({ verdict: "error", alarms: [] });
});
