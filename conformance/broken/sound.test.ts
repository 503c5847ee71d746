import { describe, expect, test } from "vitest";
import { trySound } from "./catch.ts";
import { soundServers } from "./sound.ts";

const timeout = 180_000;
/** It takes a minute; `npm run certify:self-test` has the time. */
const patient = soundServers.filter(({ id }) => id !== "slow");

describe.concurrent(
  "sound servers that differ where the interface is silent are certified for core",
  { timeout },
  () => {
    test.each(patient.map((server) => [server.differs, server] as const))("%s", async (_, server) => {
      const { verdict, alarms } = await trySound(server, "core", ["warn"]);
      expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
    });
  },
);

test("the reference server raises no alarm", { timeout }, async () => {
  const { verdict, alarms } = await trySound({ how: {} }, "extended");
  expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
});
