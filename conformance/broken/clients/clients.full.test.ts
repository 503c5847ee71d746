import { expect, test } from "vitest";
import { scenarios } from "../../programs/client/scenarios.ts";
import { triesAll } from "../self-test.ts";
import { brokenClients } from "./broken.ts";
import { soundClients } from "./sound.ts";
import { alarms, breaches } from "./trial.ts";

const [good, ...others] = soundClients;

// The self-test tries all broken clients. These are the first broken client of each requirement.
const sample = brokenClients.filter(
  (client) => triesAll || brokenClients.find(({ breaks }) => breaks === client.breaks) === client,
);

// If other tests run at the same time, a client that repeats at once is as slow as a client that waits.
const isHasty = ({ breaks }: (typeof sample)[number]) => breaks === "client.backs-off";

test.each(sample.filter(isHasty))("the broken client $id is caught by $breaks", async (client) => {
  expect([...(await breaches(client))]).toContain(client.breaks);
});

test.concurrent.each(sample.filter((client) => !isHasty(client)))(
  "the broken client $id is caught by $breaks",
  async (client) => {
    expect([...(await breaches(client))]).toContain(client.breaks);
  },
);

test("the good client raises no alarm in any scenario", async () => {
  expect(await alarms(good!.program, scenarios)).toEqual([]);
});

// The self-test tries each sound client in all scenarios.
test.concurrent.each(others.map((client, index) => ({ ...client, index })))(
  "the sound client $id raises no alarm",
  async ({ program, index }) => {
    const share = scenarios.filter((_, position) => position % others.length === index);
    expect(await alarms(program, share)).toEqual([]);
  },
);
