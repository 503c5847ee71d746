import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readPrivateKey, readPublicKey, writeKeyPair } from "../certificate/keys.ts";
import { verifyCertificate } from "../certificate/verify.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { makeFolder, publish } from "./reporting.ts";

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
  const reporting = { folder: at("report"), baseline: [], signing: { key: readPrivateKey(at("key")), validDays: 90 } };
  makeFolder(reporting);
  return reporting;
};
const texts = ["junit.xml", "report.html", "report.json", "summary.md"];

test("writes every file, and a certificate that verifies against the written report.json", async () => {
  expect(await publish(sampleReport([requirement("create.echo", "pass")]), signing(), now)).toBe(0);
  expect(readdirSync(at("report")).toSorted()).toEqual(["certificate.jws", ...texts]);
  const jws = readFileSync(at("report/certificate.jws"), "utf8").trim();
  const reportJson = readFileSync(at("report/report.json"));
  const verification = await verifyCertificate({ jws, key: readPublicKey(at("key.pub")), now, reportJson });
  expect(verification).toMatchObject({ valid: true, certificate: { exp: now.getTime() / 1000 + 90 * 86_400 } });
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
  expect(() => makeFolder({ folder: at("key/report"), baseline: [] })).toThrow("--report: ENOTDIR");
});
