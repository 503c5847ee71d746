// Tests the broken servers that are marked for `npm test`: at least one for each topic.
import { beforeAll, describe, expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { observeSound, tryFault, type Baseline } from "./catch.ts";
import { faults } from "./faults.ts";

const topicOf = (id: string) => id.split(".")[0]!;
const marked = faults.filter(({ isQuick }) => isQuick);

let baseline: Baseline;
beforeAll(async () => {
  baseline = await observeSound();
});

test("each topic has a broken server that is marked", () => {
  const tried = new Set(marked.flatMap(({ violates }) => violates.map(topicOf)));
  const untried = catalogue.filter(({ level }) => level !== "observe").map(({ id }) => topicOf(id));
  expect([...new Set(untried)].filter((topic) => !tried.has(topic))).toEqual([]);
});

describe.concurrent("catches the broken server", () => {
  test.each(marked.map((each) => [each.id, each] as const))("%s", async (_, each) => {
    const { missed, errors } = await tryFault(each, baseline, { knowsLimits: true });
    expect({ missed, errors }).toEqual({ missed: [], errors: [] });
  });
});
