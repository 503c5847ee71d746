import { expect, test } from "vitest";
import { runTrial } from "../../broken/trial.ts";
import { startSoundTarget } from "../../testing/sound-target.ts";

const key = "key-of-the-tests";

/** Judges requirements with `--effects none` on a target whose statuses `alter` may change. */
async function dreddOn(only: string[], alter?: Parameters<typeof startSoundTarget>[0]["alter"]) {
  const target = await startSoundTarget({ key, ...(alter ? { alter } : {}) });
  return (await runTrial(target, ["--effects", "none"], { only })).dredd;
}

const ids = ["verify.unknown-404", "auth.verify-needs-key"];
const unknown = "GET /v1/disbursements/{reference} → 404";

test("the report says which documented responses Dredd judged", async () => {
  expect(await dreddOn(ids)).toEqual({ transactions: 2, failed: [] });
});

test("the report names the responses that are not as documented", async () => {
  const paths = new Set<string>();
  const dredd = await dreddOn(ids, (reply, { path }) => {
    // Dredd repeats a request of the run.
    const isRepeated = paths.has(path);
    paths.add(path);
    return reply.status === 404 && isRepeated ? { ...reply, status: 410 } : reply;
  });
  expect(dredd).toEqual({ transactions: 2, failed: [unknown] });
});

test("the report says nothing about Dredd if it judged nothing", async () => {
  expect(await dreddOn(["verify.odd-references-404"])).toBeUndefined();
});
