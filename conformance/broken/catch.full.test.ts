// Tests one broken server for each requirement of core and for every eighth of extended. The command
// `npm run certify:self-test` tests every broken server.
import { beforeAll, describe, expect, test } from "vitest";
import { catalogue } from "../contract/requirements.ts";
import { observeSound, tryFault, type Baseline } from "./catch.ts";
import { fault } from "./fault.ts";
import { faults } from "./faults.ts";
import { data, verifyDisbursement } from "./ways.ts";

let baseline: Baseline;
beforeAll(async () => {
  baseline = await observeSound();
});

const core = catalogue.filter(({ profile }) => profile === "core");
const extended = catalogue.filter(({ profile }) => profile === "extended").filter((_, index) => index % 8 === 0);
/** A broken server of each of these requirements, if possible one for which a few checks are enough. */
const selection = new Set(
  [...core, ...extended].map(({ id }) => {
    const breaking = faults.filter(({ violates, isQuick }) => violates.includes(id) && !isQuick);
    return breaking.find(({ through }) => through) ?? breaking[0];
  }),
);

describe.concurrent("catches a broken server for a requirement", () => {
  test.each([...selection].filter((each) => each !== undefined).map((each) => [each.id, each] as const))(
    "%s",
    async (_, each) => {
      const { missed, errors } = await tryFault(each, baseline);
      expect({ missed, errors }).toEqual({ missed: [], errors: [] });
    },
  );
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
