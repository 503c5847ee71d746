import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPrivateKey, writeKeyPair } from "../certificate/keys.ts";
import { signCertificate } from "../certificate/sign.ts";
import type { Report } from "../results.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { runSubcommand } from "./subcommands.ts";

const now = new Date("2026-11-20T12:00:00Z");
let folder: string;
const at = (name: string) => join(folder, name);
const write = (name: string, value: unknown) =>
  writeFileSync(at(name), typeof value === "string" ? value : JSON.stringify(value));

/** Writes a certificate and the report that it is about. */
async function certify(name: string, over: Partial<Report> = {}) {
  const report = sampleReport([requirement("create.echo", "pass")], over);
  const json = JSON.stringify(report);
  write(`${name}.json`, json);
  write(`${name}.jws`, await signCertificate(report, json, { key: readPrivateKey(at("acme")), now, validDays: 90 }));
}

const acme = { file: "acme.jws", key: "acme.pub", target: "https://sandbox.example", profile: "core" };
const bolt = { ...acme, file: "bolt.jws", target: "https://bolt.example", report: "bolt.json" };
const list = (...certificates: object[]) => write("index.json", { certificates });
const idOf = (name: string) =>
  (JSON.parse(Buffer.from(readFileSync(at(name), "utf8").split(".")[1]!, "base64url").toString()) as { jti: string })
    .jti;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "registry-"));
  writeKeyPair(at("acme"));
  await certify("acme");
  await certify("bolt", { baseUrl: bolt.target, declared: { largestAmount: 1_000_000 } });
  list(acme, bolt);
  write("revocations.json", { revoked: [] });
});
afterEach(() => rmSync(folder, { recursive: true }));

const check = (time = now) => runSubcommand("registry", [folder], time);

test("a folder whose certificates are what the index says is valid", async () => {
  expect(await check()).toEqual({
    exitCode: 0,
    text:
      "VALID    acme.jws  https://sandbox.example, core · effects money · 1 of 1 musts, until 2027-02-18T12:00:00.000Z\n" +
      "VALID    bolt.jws  https://bolt.example, core · effects money · 1 of 1 musts, until 2027-02-18T12:00:00.000Z\n" +
      "2 certificates, 0 invalid; 0 revocations.\n",
  });
});

test.each<[string, () => unknown, RegExp]>([
  [
    "that was revoked",
    () =>
      write("revocations.json", {
        revoked: [{ id: idOf("acme.jws"), revokedAt: "2026-11-20T11:00:00Z", reason: "A report was wrong." }],
      }),
    /INVALID {2}acme.jws\n +It was revoked at 2026-11-20T11:00:00Z: A report was wrong.\n/,
  ],
  ["of another target", () => list({ ...acme, target: "https://live.example" }, bolt), /--target: it states https/],
  ["of another profile", () => list({ ...acme, profile: "extended" }, bolt), /it states core; expected: extended/],
  ["that is too weak", () => list(acme, { ...bolt, require: ["no-limits"] }), /it states amounts up to 1000000; /],
  ["that is too old", () => list({ ...acme, maxAge: "1h" }, bolt), /--max-age: .* expected: at most 1 h 0 min ago/],
  ["whose report was edited", () => write("bolt.json", "{}"), /bolt.jws\n +The report is not the certified report/],
  [
    "that was replaced by another",
    () => write("bolt.jws", readFileSync(at("acme.jws"), "utf8")),
    /INVALID {2}bolt.jws/,
  ],
  ["that was edited", () => write("acme.jws", readFileSync(at("acme.jws"), "utf8").replace(".", ".e")), /acme.jws\n/],
  ["that is missing", () => rmSync(at("acme.jws")), /INVALID {2}acme.jws\n +Cannot read .*acme.jws: ENOENT/],
  ["whose key is missing", () => list({ ...acme, key: "gone.pub" }, bolt), /Cannot read the public key: ENOENT/],
  ["that the index does not list", () => list(acme), /INVALID {2}bolt.jws\n +index.json does not list it.\n/],
  [
    "in a deeper folder that the index does not list",
    () => (mkdirSync(at("old")), write("old/acme.jws", "x")),
    /INVALID {2}old\/acme.jws\n/,
  ],
  [
    "that is listed under two names",
    () => (write("copy.jws", readFileSync(at("acme.jws"), "utf8")), list(acme, bolt, { ...acme, file: "copy.jws" })),
    /INVALID {2}acme.jws\n +The same certificate is in acme.jws and copy.jws.\n/,
  ],
])("a certificate %s fails the check", async (_what, change, reason) => {
  await change();
  const { exitCode, text } = await check();
  expect([exitCode, text]).toEqual([1, expect.stringMatching(reason)]);
});

test("a certificate that has expired fails the check", async () => {
  const { exitCode, text } = await check(new Date("2027-03-01T00:00:00Z"));
  expect([exitCode, text]).toEqual([1, expect.stringContaining("It expired on 2027-02-18T12:00:00.000Z.")]);
});

test.each<[string, () => unknown, RegExp]>([
  ["without an index", () => rmSync(at("index.json")), /index.json cannot be read as JSON: ENOENT/],
  ["without revocations", () => rmSync(at("revocations.json")), /revocations.json cannot be read as JSON: ENOENT/],
  ["with an index that is not JSON", () => write("index.json", "{"), /index.json cannot be read as JSON: /],
  ["with an unknown field", () => list({ ...acme, owner: "Acme" }), /additional properties: "owner"/],
  ["with an entry without a target", () => list({ file: "acme.jws", key: "k", profile: "core" }), /property 'target'/],
  ["with an unknown profile", () => list({ ...acme, profile: "all" }), /acme.jws: profile must be core or extended/],
  ["with an unknown requirement", () => list({ ...acme, require: ["strict"] }), /acme.jws: require knows no-limits/],
  ["with a file listed twice", () => list(acme, { ...acme, file: "./acme.jws" }), /acme.jws: is listed more than once/],
  ["with a path that leads out", () => list({ ...acme, key: "../acme.pub" }), /\.\.\/acme.pub is outside the folder/],
  [
    "with a revocation that is not dated",
    () => write("revocations.json", { revoked: [{ id: "0".repeat(32), revokedAt: "yesterday", reason: "r" }] }),
    /revocations.json: \/revoked\/0\/revokedAt must match pattern/,
  ],
])("a folder %s is invalid input", async (_what, change, reason) => {
  await change();
  const { exitCode, text } = await check();
  expect([exitCode, text]).toEqual([2, expect.stringMatching(reason)]);
});

test("without a folder, the usage is shown", async () => {
  const { exitCode, text } = await runSubcommand("registry", [], now);
  expect([exitCode, text]).toEqual([2, expect.stringContaining("Usage: certify registry FOLDER")]);
});
