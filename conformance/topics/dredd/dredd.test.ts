import { expect, test } from "vitest";
import { runTrial } from "../../broken/trial.ts";
import { probe } from "../../cli/probe.ts";
import { readOptions } from "../../cli/options.ts";
import { startSoundTarget } from "../../testing/sound-target.ts";

test.each([
  ["that are as documented", 404, []],
  ["that are not", 410, ["GET /v1/disbursements/{reference} → 404"]],
])("the report says which responses Dredd judged, %s", async (_, status, failed) => {
  const key = "key-of-the-tests";
  const paths = new Set<string>();
  const target = await startSoundTarget({
    key,
    alter(reply, { path }) {
      // Dredd repeats a request of the run.
      const isRepeated = paths.has(path);
      paths.add(path);
      return reply.status === 404 && isRepeated ? { ...reply, status } : reply;
    },
  });
  try {
    const args = ["--base-url", target.url, "--effects", "none"];
    const options = await probe(readOptions(args, { API_KEY: key }, () => 1));
    const { dredd } = await runTrial(options, { only: ["verify.unknown-404", "auth.verify-needs-key"] });
    expect(dredd).toEqual({ transactions: 2, failed });
  } finally {
    await target.stop();
  }
});
