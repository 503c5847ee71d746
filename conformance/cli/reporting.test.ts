import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPublicKey, writeKeyPair } from "../certificate/keys.ts";
import { verifyCertificate } from "../certificate/verify.ts";
import { sampleReport, requirement } from "../testing/sample-report.ts";
import { writeReports, makeFolder, readReporting } from "./reporting.ts";

const now = new Date("2026-11-20T12:00:00Z");
const ids = ["create.echo"];
let folder: string;
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
  writeKeyPair(at("key"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const signing = () => readReporting({ folder: at("report"), keyFile: at("key"), validDays: 90, ids }, []);

test("writes every file, and a certificate that verifies against the written report.json", async () => {
  const reporting = signing();
  makeFolder(reporting);
  const { files, exitCode, refusal } = await writeReports(
    sampleReport([requirement("create.echo", "pass")]),
    reporting,
    now,
  );
  expect({ exitCode, refusal }).toEqual({ exitCode: 0, refusal: undefined });
  expect(files).toEqual(
    ["report.html", "report.json", "junit.xml", "badge.svg", "test-result.json", "certificate.jws"].map((name) =>
      join(at("report"), name),
    ),
  );
  const jws = readFileSync(join(at("report"), "certificate.jws"), "utf8").trim();
  const reportJson = readFileSync(join(at("report"), "report.json"));
  const verification = await verifyCertificate({ jws, key: readPublicKey(at("key.pub")), now, reportJson });
  expect(verification).toMatchObject({ valid: true, certificate: { exp: now.getTime() / 1000 + 90 * 86_400 } });
});

test.each([
  ["passed in part", sampleReport([], { verdict: "passed-partially" }), 1],
  ["failed", sampleReport([requirement("create.echo", "fail")]), 1],
  ["was not completed", sampleReport([], { verdict: "error" }), 2],
] as const)("a run that %s leaves no certificate, not even an earlier one", async (_what, report, exitCode) => {
  const reporting = signing();
  makeFolder(reporting);
  writeFileSync(join(at("report"), "certificate.jws"), "of an earlier run");
  const finished = await writeReports(report, reporting, now);
  expect(finished).toMatchObject({ exitCode, refusal: expect.stringMatching(/^No certificate: the verdict is/) });
  expect(readdirSync(at("report")).toSorted()).toEqual([
    "badge.svg",
    "junit.xml",
    "report.html",
    "report.json",
    "test-result.json",
  ]);
});

test("tolerates a known failure in report.json too", async () => {
  writeFileSync(at("known.yaml"), "- {id: create.echo, reason: Repaired in 4.2, expires: 2026-12-31}");
  const reporting = readReporting({ folder: at("report"), baselineFile: at("known.yaml"), validDays: 90, ids }, []);
  makeFolder(reporting);
  const { exitCode } = await writeReports(sampleReport([requirement("create.echo", "fail")]), reporting, now);
  expect(exitCode).toBe(0);
  const written = JSON.parse(readFileSync(join(at("report"), "report.json"), "utf8"));
  expect(written).toMatchObject({
    verdict: "passed-partially",
    requirements: [{ knownFailure: { reason: "Repaired in 4.2" } }],
  });
});

test("reports all problems with the given files together, before the run", () => {
  writeFileSync(at("known.yaml"), "- {id: nope, expires: tomorrow}");
  const faults: string[] = [];
  readReporting(
    { folder: at("report"), baselineFile: at("known.yaml"), keyFile: at("key.pub"), validDays: 90, ids },
    faults,
  );
  expect(faults).toEqual([
    '--baseline: Entry 1 (nope): there is no requirement "nope".',
    "--baseline: Entry 1 (nope): reason is missing: say why the failure is tolerated.",
    '--baseline: Entry 1 (nope): expires must be a day such as "2026-12-31".',
    expect.stringContaining("--sign: "),
  ]);
  expect(existsSync(at("report"))).toBe(false);
});

test.each([
  ["baseline", { baselineFile: "/nowhere/known.yaml" }],
  ["sign", { keyFile: "/nowhere/key" }],
])("a file for --%s that is not there is a fault", (flag, given) => {
  const faults: string[] = [];
  readReporting({ folder: at("report"), validDays: 90, ids, ...given }, faults);
  expect(faults).toEqual([expect.stringMatching(`^--${flag}: .*ENOENT`)]);
});

test("rejects a folder that cannot be created", () => {
  expect(() => makeFolder({ folder: at("key/report"), baseline: [] })).toThrow("ENOTDIR");
});
