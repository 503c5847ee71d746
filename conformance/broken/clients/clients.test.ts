import { describe, expect, test } from "vitest";
import { sideCatalogues } from "../../contract/requirements.ts";
import { idsOf } from "../../programs/client/judge.ts";
import { scenarios } from "../../programs/client/scenarios.ts";
import { brokenClients } from "./broken.ts";
import { soundClients } from "./sound.ts";
import { alarms, breaches } from "./trial.ts";

const ids = sideCatalogues.client.map(({ id }) => id);

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

/** Clients whose faults cost money, each in another way. `npm run test:all` tries one for each requirement. */
const sample = new Set([
  "new-reference-after-loss",
  "amount-in-units",
  "loss-is-failed",
  "any-200-is-paid",
  "404-proves-absence",
  "goes-where-told",
]);

test.concurrent.each(brokenClients.filter(({ id }) => sample.has(id)))(
  "the broken client $id is caught by $breaks",
  async (client) => {
    expect([...(await breaches(client))]).toContain(client.breaks);
  },
);

test.concurrent.each(soundClients.filter(({ id }) => ["good", "careful-with-pending"].includes(id)))(
  "the sound client $id raises no alarm",
  async ({ id, program }) => {
    // `npm run test:all` and the self-test run all scenarios.
    const share = scenarios.filter((_, index) => index % 4 === (id === "good" ? 0 : 2));
    expect(await alarms(program, share)).toEqual([]);
  },
);
