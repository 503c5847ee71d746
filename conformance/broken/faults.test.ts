// Tries the first broken server of each topic, which is the first word of a requirement's id.
import { beforeAll, describe, expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { observeSound, tryFault, trySound, type Baseline } from "./catch.ts";
import { faults } from "./faults.ts";
import { startBroken, startReference } from "./server.ts";

const topicOf = (id: string) => id.split(".")[0]!;
const topics = new Set(catalogue.filter(({ level }) => level !== "observe").map(({ id }) => topicOf(id)));
const firsts = [...topics].map((topic) => faults.find(({ violates: [id] }) => topicOf(id!) === topic)!);

let baseline: Baseline;
beforeAll(async () => {
  baseline = await observeSound();
});

describe.concurrent("catches a broken server", () => {
  test.each(firsts)("$id", async (fault) => {
    const { missed, errors } = await tryFault(fault, baseline);
    expect({ missed, errors }).toEqual({ missed: [], errors: [] });
  });
});

// The model shares no code with the reference server, so certifying it shows that the suite judges the contract.
test.each([
  ["the reference server", "extended", startReference],
  ["the model", "core", startBroken],
] as const)("%s is certified for %s, in one run of the whole suite", async (_, profile, start) => {
  expect(await trySound({ start: () => start() }, profile)).toEqual({ verdict: "certified", alarms: [] });
});
