import { describe, expect, test } from "vitest";
import { sideCatalogues } from "../../contract/requirements.ts";
import { idsOf } from "../../merchants/tools/judge.ts";
import { scenarios } from "../../merchants/tools/scenarios.ts";
import { brokenTools } from "./broken.ts";
import { mapOf } from "./good.ts";
import { soundTools } from "./sound.ts";
import { tryBroken, violations } from "./trial.ts";

const ids = sideCatalogues.tools.map(({ id }) => id);

describe("the requirements for tools", () => {
  test.each(ids)("%s is judged by a scenario, and broken by a server", (id) => {
    expect(scenarios.some((scenario) => idsOf(scenario).includes(id))).toBe(true);
    expect(brokenTools.some(({ breaks }) => breaks === id)).toBe(true);
  });

  test("scenarios and servers name no other requirement or scenario, and have unique ids", () => {
    const named = [...scenarios.flatMap(idsOf), ...brokenTools.flatMap(({ breaks, also }) => [breaks, ...also])];
    expect(named.filter((id) => !ids.includes(id))).toEqual([]);
    const known = new Set(scenarios.map(({ id }) => id));
    expect(brokenTools.flatMap((each) => each.scenarios).filter((id) => !known.has(id))).toEqual([]);
    for (const all of [scenarios, [...brokenTools, ...soundTools]])
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });
});

// The self-test tries all of them. These are the first broken server of each requirement.
const sample = brokenTools.filter((server) => brokenTools.find(({ breaks }) => breaks === server.breaks) === server);

test.concurrent.each(sample)("the broken server $id is caught by $breaks and by no wrong cause", async (server) => {
  expect(await tryBroken(server)).toEqual({ caught: true, wrong: [] });
});

// The self-test tries each of them in all scenarios.
test.concurrent.each(soundTools.map((server, index) => ({ ...server, index })))(
  "the sound server $id raises no alarm",
  async ({ parts, index }) => {
    const share = scenarios.filter((_, position) => position % soundTools.length === index);
    expect([...(await violations(parts, mapOf(parts), share))]).toEqual([]);
  },
);
