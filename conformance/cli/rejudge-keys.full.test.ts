// Tests that a run with a key that looks like the numbers and words of a run ends, and is judged again, like any other.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reportIn, startCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { rejudge } from "./rejudge.ts";

const only = "auth.whole-key-compared,create.accepted,numbers.largest-amount,verify.found";
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-keys-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test.each([
  ["digits", "1234567890123456"],
  ["words of the contract", "phoneNumber-disbursement"],
  ["hexadecimal", "00000000deadbeef00000000"],
])("a run with a key made of %s passes and is judged again", { timeout: 180_000 }, async (_, key) => {
  const target = await startSoundTarget({ key });
  const args = ["--base-url", target.url, "--effects", "money", "--only", only, "--seed", "1", "--report", folder];
  const { code } = await startCertify([...args, "--linger", "0"], { env: { API_KEY: key } }).ended;
  await target.stop();
  const report = await reportIn(folder);
  expect([code, report?.errors, report?.counts.fail]).toEqual([0, [], 0]);
  expect(report?.observed.find(({ name }) => name === "not tried (--max-total)")?.value).toContain(1234567890123457);
  expect((await rejudge(folder)).text).toMatch(/^AGREES/);
});
