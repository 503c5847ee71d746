import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPrivateKey } from "../certificate/keys.ts";
import { signCertificate } from "../certificate/sign.ts";
import { hostile, sampleReport, requirement } from "../testing/sample-report.ts";
import { isSubcommand, runSubcommand, unknownCommand } from "./subcommands.ts";

const now = new Date("2026-11-20T12:00:00Z");
let folder: string;
const at = (name: string) => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a key, a report and a certificate, as `keygen` and a run with `--sign` do. */
async function certified() {
  await runSubcommand("keygen", [at("key")], now);
  const report = sampleReport([requirement("create.echo", "pass"), requirement("webhook.failed", "not-applicable")]);
  const json = JSON.stringify(report);
  writeFileSync(at("report.json"), json);
  const options = { key: readPrivateKey(at("key")), now, validDays: 90 };
  writeFileSync(at("certificate.jws"), `${await signCertificate(report, json, options)}\n`);
}

const verify = (...args: string[]) => runSubcommand("verify", [at("certificate.jws"), ...args], now);

test("keygen writes a private key that only its owner can read, and the public key next to it", async () => {
  expect(await runSubcommand("keygen", [at("key")], now)).toMatchObject({ exitCode: 0 });
  expect(statSync(at("key")).mode & 0o777).toBe(0o600);
  expect(readFileSync(at("key"), "utf8")).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(readFileSync(at("key.pub"), "utf8")).toMatch(/^-----BEGIN PUBLIC KEY-----/);
});

test.each(["key", "key.pub"])("keygen never overwrites: %s exists", async (name) => {
  writeFileSync(at(name), "mine");
  const result = await runSubcommand("keygen", [at("key")], now);
  expect(result).toMatchObject({ exitCode: 2, text: expect.stringContaining(`${name} already exists`) });
  expect(readFileSync(at(name), "utf8")).toBe("mine");
  expect(() => statSync(at(name === "key" ? "key.pub" : "key"))).toThrow("ENOENT");
});

test("verify prints what a certificate states, including what was not judged", async () => {
  await certified();
  const { exitCode, text } = await verify("--key", at("key.pub"), "--report", at("report.json"));
  expect(exitCode).toBe(0);
  expect(text).toMatch(
    /^VALID {2}certificate.jws\nTarget +https:\/\/sandbox.example\nScope +core · effects money · .*not applicable: webhook.failed\nProfile +core\n/,
  );
  expect(text).toMatch(/Not judged +webhook.failed \(§4.1\): The target has no payment page to finish.\n/);
  expect(text).toContain("(matches the given report)");
});

test("verify says if no report was compared", async () => {
  await certified();
  expect((await verify("--key", at("key.pub"))).text).toMatch(
    /Not checked[^]*--report FILE +the report was not compared/,
  );
});

test("verify rejects a changed report and says why", async () => {
  await certified();
  writeFileSync(at("report.json"), readFileSync(at("report.json"), "utf8").replace("create.echo", "create.other"));
  const result = await verify("--key", at("key.pub"), "--report", at("report.json"));
  expect(result).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^INVALID.*\nThe report is not the certified report/),
  });
});

test.each([
  ["the private key", () => "key", /is a private key/],
  ["no key", () => "report.json", /is not a public key/],
  ["a missing file", () => "nothing", /Cannot read the public key/],
  [
    "an RSA key",
    () => {
      const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      writeFileSync(at("rsa.pub"), publicKey.export({ type: "spki", format: "pem" }));
      return "rsa.pub";
    },
    /type rsa; certificates need Ed25519/,
  ],
])("verify rejects %s as --key", async (_what, name, message) => {
  await certified();
  expect(await verify("--key", at(name()))).toMatchObject({ exitCode: 2, text: expect.stringMatching(message) });
});

test("verify escapes terminal control sequences in a certificate", async () => {
  await certified();
  writeFileSync(at("certificate.jws"), hostile);
  const { exitCode, text } = await verify("--key", at("key.pub"));
  expect(exitCode).toBe(1);
  expect(text.replaceAll("\n", "")).not.toMatch(/\p{Control}/u);
});

test.each([
  ["same", sampleReport([requirement("a", "pass")]), 0, /No differences/],
  ["different", sampleReport([requirement("a", "fail")]), 1, /1 difference;/],
] as const)("diff of two reports that are %s", async (_what, other, exitCode, text) => {
  writeFileSync(at("a.json"), JSON.stringify(sampleReport([requirement("a", "pass")])));
  writeFileSync(at("b.json"), JSON.stringify(other));
  expect(await runSubcommand("diff", [at("a.json"), at("b.json")], now)).toEqual({
    exitCode,
    text: expect.stringMatching(text),
  });
});

test.each([
  ["not there", undefined, /is not a readable report: ENOENT/],
  ["not JSON", "{", /is not a readable report/],
  ["another kind of file", "{}", /is not a report of certify: the document must have required property 'verdict'/],
  [
    "a report with a verdict that does not exist",
    JSON.stringify(sampleReport([requirement("a", "ok" as never)])),
    /\/requirements\/0/,
  ],
])("diff of a file that is %s is bad input", async (_what, content, message) => {
  writeFileSync(at("a.json"), JSON.stringify(sampleReport([])));
  if (content !== undefined) writeFileSync(at("b.json"), content);
  const result = await runSubcommand("diff", [at("a.json"), at("b.json")], now);
  expect(result).toMatchObject({ exitCode: 2, text: expect.stringMatching(message) });
});

test.each([
  ["keygen", [], /Expected 1 file, received 0/],
  ["verify", ["certificate.jws"], /--key is missing/],
  ["verify", ["nothing", "--key", "k", "--force"], /Unknown option '--force'/],
  ["diff", ["a"], /Expected 2 files, received 1/],
] as const)("%s %j is bad input, and the usage is shown", async (name, args, message) => {
  const result = await runSubcommand(name, [...args], now);
  expect(result).toMatchObject({ exitCode: 2, text: expect.stringMatching(message) });
  expect(result.text).toContain(`Usage: certify ${name}`);
});

test("an unknown command suggests the nearest one", () => {
  expect(unknownCommand("verfy")).toBe('There is no command "verfy". Did you mean verify?');
  expect(unknownCommand("frobnicate")).toBe('There is no command "frobnicate".');
});

test.each([
  ["list", true],
  ["explain", true],
  ["keygen", true],
  ["verify", true],
  ["registry", true],
  ["diff", true],
  ["--base-url", false],
  ["toString", false],
  [undefined, false],
])("%s is a subcommand: %s", (name, expected) => {
  expect(isSubcommand(name)).toBe(expected);
});
