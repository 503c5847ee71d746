import { describe, expect, test } from "vitest";
import { sideCatalogues } from "../../contract/requirements.ts";
import { idsOf } from "../../merchants/client/judge.ts";
import { scenarios } from "../../merchants/client/scenarios.ts";
import { brokenClients, meetings } from "./broken.ts";
import { soundClients } from "./sound.ts";
import { alarms, breaches } from "./trial.ts";

const ids = sideCatalogues.client.map(({ id }) => id);
const [good, ...others] = soundClients;

describe("the requirements for clients", () => {
  test.each(ids)("%s is judged by a scenario, and broken by a client", (id) => {
    expect(scenarios.some((scenario) => idsOf(scenario).includes(id))).toBe(true);
    expect(brokenClients.some(({ breaks }) => breaks === id)).toBe(true);
  });

  test("scenarios and clients name no other requirement", () => {
    const named = [...scenarios.flatMap(idsOf), ...brokenClients.map(({ breaks }) => breaks)];
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("scenarios and clients have unique ids", () => {
    for (const all of [scenarios, [...brokenClients, ...soundClients]]) {
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    }
  });
});

// The self-test tries all broken clients. These are the first broken client of each requirement, and the clients whose
// faults show only if two conditions come together.
const sample = brokenClients.filter(
  (client) => meetings.includes(client) || brokenClients.find(({ breaks }) => breaks === client.breaks) === client,
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
