import { describe, expect, test } from "vitest";
import { trySound } from "./catch.ts";
import { soundServers } from "./sound.ts";

const timeout = 180_000;
/** A fixed selection of sound servers, to keep the test fast. `npm run certify:self-test` tests all of them. */
const selection = ["other-checkout-body", "unsigned-webhooks"].map((id) =>
  soundServers.find((server) => server.id === id)!,
);

describe.concurrent("certifies for core a sound server that differs where the interface is silent", { timeout }, () => {
  test.each(selection.map((server) => [server.differs, server] as const))("%s", async (_, server) => {
    const { verdict, alarms } = await trySound(server, "core", ["warn"]);
    expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
  });
});

test("says nothing about webhooks if payouts stay pending for longer than --settle-timeout", { timeout }, async () => {
  const server = soundServers.find(({ id }) => id === "settles-tomorrow")!;
  const { verdict, alarms } = await trySound(server, "core", ["warn"]);
  expect({ verdict, alarms }).toEqual({ verdict: "error", alarms: [] });
});
