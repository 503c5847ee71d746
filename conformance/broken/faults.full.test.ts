// Tries one broken server for each requirement of core and for every eighth of extended; in the self-test, all of them.
import { beforeAll, describe, expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { findCatching, observeSound, tryFault, type Baseline, type OnlyCaughtBy } from "./catch.ts";
import { faults } from "./faults.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";
import { seeds, triesAll } from "./self-test.ts";

let baseline: Baseline;
beforeAll(async () => {
  baseline = await observeSound();
});

const core = catalogue.filter(({ profile }) => profile === "core");
const extended = catalogue.filter(({ profile }) => profile === "extended").filter((_, index) => index % 8 === 0);
/** A broken server of each of these requirements, if possible one for which a few checks are enough. */
const sample = new Set(
  [...core, ...extended].map(({ id }) => {
    const breaking = faults.filter(({ violates }) => violates.some((violated) => violated === id));
    return breaking.find(({ through }) => through) ?? breaking[0]!;
  }),
);

describe.concurrent("catches the broken server", () => {
  test.each(triesAll ? faults : [...sample])("$id", async (fault) => {
    for (const args of seeds) {
      const { missed, errors } = await tryFault(fault, baseline, args);
      expect({ missed, errors }).toEqual({ missed: [], errors: [] });
    }
  });
});

describe.concurrent("reports no fault where there is none", () => {
  test.each<[level: string, ids: RequirementId[]]>([
    ["must", ["create.accepted", "auth.create-needs-key", "verify.record-shape", "checkout-record.agrees"]],
    ["should", ["create.phone-422", "json.charset-accepted"]],
    ["observe", ["create.initial-status", "create.split-400-422", "verify.by-merchants-reference"]],
  ])("in a sound server, for requirements of level %s", async (_, violates) => {
    const { missed } = await tryFault({ how: () => ({}), violates }, baseline);
    expect(missed).toEqual(violates);
  });
});

const classes = faults.filter((fault): fault is OnlyCaughtBy => fault.onlyBy !== undefined);

describe.runIf(triesAll).concurrent("only the checks written for a class of defects catch it", () => {
  test.each(classes)("$id", async (fault) => {
    const catching = await findCatching(fault);
    expect(catching).not.toEqual([]);
    expect(catching.filter((id) => !fault.onlyBy.ids.some((expected) => expected === id))).toEqual([]);
  });
});
