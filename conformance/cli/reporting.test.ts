import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readPrivateKey, writeKeyPair } from "../certificate/keys.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { makeFolder, publish } from "./reporting.ts";
import { verify } from "./verify.ts";

const now = new Date("2026-11-20T12:00:00Z");
let folder: string;
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
  writeKeyPair(at("key"));
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  for (const name of ["log", "error"] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const signing = () => {
  const reporting = { folder: at("report"), signingKey: readPrivateKey(at("key")) };
  makeFolder(reporting);
  return reporting;
};
const texts = ["junit.xml", "report.html", "report.json", "summary.md"];

test("writes every file, and a certificate that verifies against the written report.json", async () => {
  expect(await publish(sampleReport([requirement("create.echo", "pass")]), signing(), now)).toBe(0);
  expect(readdirSync(at("report")).toSorted()).toEqual(["certificate.jws", ...texts]);
  const args = [at("report/certificate.jws"), "--key", at("key.pub"), "--report", at("report/report.json")];
  const text = expect.stringContaining(" to 2027-02-18T12:00:00.000Z");
  expect(await verify(args, now)).toEqual({ exitCode: 0, text });
});

test.each([
  ["passed in part", sampleReport([], { verdict: "passed-partially" }), 1],
  ["failed", sampleReport([requirement("create.echo", "fail")]), 1],
  ["was not completed", sampleReport([], { verdict: "error" }), 2],
] as const)("a run that %s leaves no certificate, not even an earlier one", async (_what, report, exitCode) => {
  const reporting = signing();
  writeFileSync(at("report/certificate.jws"), "of an earlier run");
  expect(await publish(report, reporting, now)).toBe(exitCode);
  expect(vi.mocked(console.error).mock.calls).toEqual([[expect.stringMatching(/^No certificate: the verdict is/)]]);
  expect(readdirSync(at("report")).toSorted()).toEqual(texts);
});

test("refuses a folder that cannot be created", () => {
  expect(() => makeFolder({ folder: at("key/report") })).toThrow("--report: ENOTDIR");
});
