import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPrivateKey, writeKeyPair } from "../certificate/keys.ts";
import { signCertificate } from "../certificate/sign.ts";
import { openapiFile, specSha256 } from "../contract/contract.ts";
import { hostile, requirement, sampleReport } from "../testing/sample-report.ts";
import { verify } from "./verify.ts";

const now = new Date("2026-11-20T12:00:00Z");
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
  writeKeyPair(at("key"));
  const { conditions } = sampleReport([]);
  const results = [requirement("create.echo", "pass"), requirement("webhook.failed", "not-applicable")];
  const report = sampleReport(results, { specSha256, conditions: { ...conditions, headers: ["x-pilot"] } });
  const json = JSON.stringify(report);
  writeFileSync(at("report.json"), json);
  const options = { key: readPrivateKey(at("key")), now, validDays: 90 };
  writeFileSync(at("certificate.jws"), `${await signCertificate(report, json, options)}\n`);
  writeFileSync(at("hostile.jws"), hostile);
});
afterAll(() => rmSync(folder, { recursive: true }));

const verified = (file: string, ...args: string[]) => verify([at(file), "--key", at("key.pub"), ...args], now);

test("prints what a certificate states, what weakened the run, and what was not checked", async () => {
  const { exitCode, text } = await verified("certificate.jws", "--target", "https://sandbox.example");
  expect(exitCode).toBe(0);
  expect(text).toMatch(/^VALID {2}certificate.jws\nTarget +https:\/\/sandbox.example\nScope +core · effects money/);
  expect(text).toMatch(/^Weakened by headers were added to every request: x-pilot$/m);
  expect(text).toMatch(/^Weakened by webhook.failed \(§4.1\) was not judged: The target has no payment page/m);
  const [, open = ""] = text.split("Not checked. Each option would check the statement after it:\n");
  expect(
    open
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/ {2,}/)[0]),
  ).toEqual([
    "--report FILE",
    "--profile NAME",
    "--contract FILE|SHA256",
    "--max-age DURATION",
    "--challenge TEXT",
    "--require full",
  ]);
});

test("compares with a report, a file of the contract and an age", async () => {
  const args = ["--report", at("report.json"), "--contract", openapiFile, "--max-age", "12h", "--profile", "core"];
  const { exitCode, text } = await verified("certificate.jws", ...args);
  expect([exitCode, text]).toEqual([0, expect.stringContaining("(matches the given report)")]);
});

test.each([
  [["--max-age", "90m"], "--max-age: it states a run that ended at 2026-11-20T10:00:18.500Z"],
  [["--require", "full"], "--require: it states headers were added"],
  [["--profile", "extended", "--target", "https://live.example"], "expected: https://live.example\n--profile: "],
])("refuses a certificate that is not as expected with %j", async (args, reason) => {
  const { exitCode, text } = await verified("certificate.jws", ...args);
  expect([exitCode, text]).toEqual([1, expect.stringMatching(/^INVALID {2}certificate.jws\n/)]);
  expect(text).toContain(reason);
});

test("escapes control characters in a certificate", async () => {
  const { exitCode, text } = await verified("hostile.jws");
  expect(exitCode).toBe(1);
  expect(text.replaceAll("\n", "")).not.toMatch(/\p{Control}/u);
});
