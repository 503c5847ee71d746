// An independent implementation of the contract proves what the broken versions of the reference server cannot: that
// the suite judges the contract, not the reference server.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { edited } from "./mutant.ts";
import { mutants } from "./mutants/index.ts";
import { trySecond } from "./trial.ts";

const timeout = 180_000;
/** A fixed selection, to keep the test fast. `npm run certify:self-test -- ^second-` runs all mutants. */
const selection = [
  "unique-with-amount",
  "key-with-suffix",
  "amount-float32",
  "status-flips",
  "webhook-on-refusal",
  "link-broken",
];

describe.concurrent("the second implementation", { timeout }, () => {
  test("is certified for core", async () => {
    expect(await trySecond("core")).toEqual({ verdict: "certified", alarms: [], warnings: [] });
  });

  // Its record ids are random UUIDs, because the OpenAPI document leaves their form open.
  test("is certified for extended", async () => {
    const warnings = ["references.record-ids"];
    expect(await trySecond("extended")).toEqual({ verdict: "certified", alarms: [], warnings });
  });

  test("is caught with each of six defects", async () => {
    const selfTest = join(import.meta.dirname, "../broken/self-test.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--no-warnings",
      selfTest,
      `^second-(${selection.join("|")})$`,
    ]);
    expect(stdout).toContain("6 of 6 runs of the second implementation and its mutants got the right verdict.");
  });
});

test("each mutant has its own id and edits exactly one place", () => {
  expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  for (const mutant of mutants) expect(edited(mutant)).not.toBe("");
});
