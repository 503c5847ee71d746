// Tries a broken program for each requirement, and sound programs. The self-test tries all broken programs.
import { expect, test } from "vitest";
import { scenarios } from "../programs/client/scenarios.ts";
import { brokenClients } from "./clients/broken.ts";
import { soundClients } from "./clients/sound.ts";
import { alarms, breaches } from "./clients/trial.ts";
import { brokenReceivers } from "./receivers/broken.ts";
import { soundReceivers } from "./receivers/sound.ts";
import { tryVariant } from "./receivers/trial.ts";
import { triesAll } from "./self-test.ts";

const clients = brokenClients.filter(
  (client) => triesAll || brokenClients.find(({ breaks }) => breaks === client.breaks) === client,
);

// If other tests run at the same time, a client that repeats at once is as slow as a client that waits.
const isHasty = ({ breaks }: (typeof clients)[number]) => breaks === "client.backs-off";

test.each(clients.filter(isHasty))("the client $id, run alone, is caught by $breaks", async (client) => {
  expect([...(await breaches(client))]).toContain(client.breaks);
});

test.concurrent.each(clients.filter((client) => !isHasty(client)))(
  "the client $id is caught by $breaks",
  async (client) => {
    expect([...(await breaches(client))]).toContain(client.breaks);
  },
);

const [good, ...others] = soundClients;

test("the good client raises no alarm in any scenario", async () => {
  expect(await alarms(good!.program, scenarios)).toEqual([]);
});

test.concurrent.each(others.map((client, index) => ({ ...client, index })))(
  "the sound client $id raises no alarm in its share of the scenarios",
  async ({ program, index }) => {
    const share = scenarios.filter((_, position) => position % others.length === index);
    expect(await alarms(program, share)).toEqual([]);
  },
);

const receivers = brokenReceivers.filter(
  (receiver, index) =>
    triesAll ||
    receiver.violates.some((id) => brokenReceivers.findIndex(({ violates }) => violates.includes(id)) === index),
);

test.concurrent.each(receivers)("$id is caught by $violates", async (variant) => {
  expect(await tryVariant(variant)).toMatchObject({ wrong: [], errors: [] });
});

test.concurrent.each(soundReceivers.filter(({ id }) => triesAll || /reference|claims|queue/.test(id)))(
  "$id is certified",
  async (variant) => {
    expect(await tryVariant(variant)).toEqual({ wrong: [], errors: [], verdict: "certified" });
  },
);
