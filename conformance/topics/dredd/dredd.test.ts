import { expect, test } from "vitest";
import { responses } from "../../broken/changes.ts";
import { runTrial } from "../../broken/trial.ts";
import { startSoundTarget } from "../../testing/sound-target.ts";

test.each([
  ["that are as documented", 404, []],
  ["that are not", 410, ["GET /v1/disbursements/{reference} → 404"]],
])("the report says which responses Dredd judged, %s", async (_, status, failed) => {
  const paths = new Set<string>();
  const target = await startSoundTarget({
    key: "key-of-the-tests",
    how: responses("every", (reply, { path }) => {
      // Dredd repeats a request of the run.
      const isRepeated = paths.has(path);
      paths.add(path);
      return reply.status === 404 && isRepeated ? { ...reply, status } : reply;
    }),
  });
  const { dredd } = await runTrial(target, ["--effects", "none"], {
    only: ["verify.unknown-404", "auth.verify-needs-key"],
  });
  expect(dredd).toEqual({ transactions: 2, failed });
});
