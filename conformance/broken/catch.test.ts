// Tests the broken servers that are marked for `npm test`: at least one for each topic.
import { beforeAll, describe, expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { observeSound, tryFault, type Baseline } from "./catch.ts";
import { fault } from "./fault.ts";
import { faults } from "./faults.ts";
import { data, verifyDisbursement } from "./ways.ts";

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

describe.concurrent("reports no fault where there is none", () => {
  test.each([
    ["must", "create.accepted auth.create-needs-key verify.record-shape checkout-record.agrees"],
    ["should", "create.phone-422 json.charset-accepted"],
    ["observe", "create.initial-status create.split-400-422 verify.by-merchants-reference"],
  ])("in a sound server, for requirements of level %s", async (_, violates) => {
    const { missed } = await tryFault(
      fault("none", "Sound.", violates, () => ({})),
      baseline,
    );
    expect(missed).toEqual(violates.split(" "));
  });

  test("for a requirement that the fault does not violate", async () => {
    const { missed, by } = await tryFault(
      fault("other", "Timestamps are dates only.", "verify.customer verify.timestamps", () =>
        data(verifyDisbursement, (record) => ({ ...record, createdAt: "2026-01-01" })),
      ),
      baseline,
    );
    expect(missed).toEqual(["verify.customer"]);
    expect(by["verify.timestamps"]).toContain("Record of a new disbursement is correct");
  });
});
