import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { commandOf, commands, fullHelp } from "./commands.ts";
import { readOptions } from "./options.ts";

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (name: string, ...args: string[]) =>
  commandOf(name)!.run(args, { env: {}, now: new Date("2026-11-20T12:00:00Z"), newSeed: () => 1 });

test.each(Object.keys(commands))(
  "certify %s --help explains this command, and certify --help names it",
  async (name) => {
    expect(await fullHelp(name)).toMatch(new RegExp(`^Usage: certify ${name}\\b`));
    expect(await fullHelp(undefined)).toContain(`\n  certify ${name} `);
  },
);

test("certify --help explains the options of a run", async () => {
  for (const name of [undefined, "--base-url", "constructor"])
    expect(await fullHelp(name)).toMatch(/^Usage: certify --base-url URL \[options\]\n\nTarget:\n {2}--base-url URL /);
});

test("a command line without a command starts a run, and an unknown command gets a suggestion", () => {
  expect([commandOf(undefined), commandOf("--base-url")]).toEqual([undefined, undefined]);
  expect(() => commandOf("verfy")).toThrow('There is no command "verfy". Did you mean verify?');
  expect(() => commandOf("toString")).toThrow("There is no command");
});

describe("list and explain", () => {
  test.each(["core", "extended"] as const)("list --profile %s names every requirement once", async (profile) => {
    const { exitCode, text } = await run("list", "--profile", profile);
    const ids = Array.from(text.matchAll(/^ {2}(\S+)/gm), ([, id]) => id);
    const expected = catalogue.filter((each) => inProfile(each, profile)).map(({ id }) => id);
    expect([exitCode, ids.toSorted()]).toEqual([0, expected.toSorted()]);
    expect(text).toMatch(/^auth \(\d+\)\n {2}auth\.create-needs-key +must +core +must-be-rejected\n {6}Creating/);
  });

  test("explain says for every requirement how it is checked, with a command that the suite accepts", async () => {
    for (const { id, text: promise } of catalogue) {
      const { text } = await run("explain", id);
      expect(text.replaceAll(/\s+/g, " ")).toContain(promise.replaceAll(/\s+/g, " "));
      expect(text).toMatch(/^source {4}\S/m);
      expect(text).toMatch(/^check {5}\S/m);
      const command = /^run {7}npx --no -- certify (.*(\n {10}.*)*)/m.exec(text)?.[1]?.split(/\s+/) ?? [];
      const args = command.map((word) => (word === "URL" ? "https://pay.example" : word));
      expect(readOptions(args, { API_KEY: "k" }, () => 1)).toMatchObject({ only: [id] });
    }
  });

  test("explain says what the checks cost, need and leave behind", async () => {
    const text = (await run("explain", "signature.rotation")).text.replaceAll(/\s+/g, " ");
    expect(text).toMatch(/at most \d+ payouts with a total of \d+/);
    expect(text).toContain("a second merchant's key (API_KEY_2)");
    expect(text).toContain("webhook secret of API_KEY_2's merchant is rotated");
  });
});

test("keygen writes a private key that only its owner can read, and never overwrites", async () => {
  expect(await run("keygen", at("key"))).toMatchObject({ exitCode: 0 });
  expect(statSync(at("key")).mode & 0o777).toBe(0o600);
  const [secret, open] = [readFileSync(at("key"), "utf8"), readFileSync(at("key.pub"), "utf8")];
  expect(secret).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(open).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  await expect(run("keygen", at("key"))).rejects.toThrow("already exists");
  rmSync(at("key"));
  await expect(run("keygen", at("key"))).rejects.toThrow("key.pub already exists");
  expect(readFileSync(at("key.pub"), "utf8")).toBe(open);
});

test.each([
  ["same", sampleReport([requirement("a", "pass")]), 0, /No differences/],
  ["different", sampleReport([requirement("a", "fail")]), 1, /1 difference;/],
] as const)("diff of two reports that are %s", async (_what, other, exitCode, text) => {
  writeFileSync(at("a.json"), JSON.stringify(sampleReport([requirement("a", "pass")])));
  writeFileSync(at("b.json"), JSON.stringify(other));
  expect(await run("diff", at("a.json"), at("b.json"))).toEqual({ exitCode, text: expect.stringMatching(text) });
});

test.each([
  ["not there", undefined, /is not a readable report: ENOENT/],
  ["not JSON", "{", /is not a readable report/],
  ["another kind of file", "{}", /is not a report of certify: the document must have required property 'verdict'/],
  [
    "a report with an unknown verdict",
    JSON.stringify(sampleReport([requirement("a", "ok" as never)])),
    /requirements\/0/,
  ],
])("diff of a file that is %s is refused", async (_what, content, message) => {
  writeFileSync(at("a.json"), JSON.stringify(sampleReport([])));
  rmSync(at("b.json"), { force: true });
  if (content !== undefined) writeFileSync(at("b.json"), content);
  await expect(run("diff", at("a.json"), at("b.json"))).rejects.toThrow(message);
});

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" });
test.each<[string, string[], string]>([
  ["keygen", [], "Expected 1 file, received 0."],
  ["diff", ["a"], "Expected 2 files, received 1."],
  ["explain", [], "Expected 1 id, received 0."],
  ["explain", ["create.acepted"], 'no requirement or scenario "create.acepted". Did you mean create.accepted?'],
  ["list", ["--profile", "all"], "--profile must be core or extended or client or receiver"],
  ["list", ["core"], "Unexpected argument 'core'"],
  ["verify", ["c.jws"], "--key is missing: give the signer's public key"],
  ["verify", ["c.jws", "--key", "nothing"], "--key: Cannot read the public key: ENOENT"],
  ["verify", ["c.jws", "--key", "private"], "is a private key. Keep it secret"],
  ["verify", ["c.jws", "--key", "rsa"], "is a key of type rsa; certificates need Ed25519."],
  ["verify", ["c.jws", "--key", "text"], "is not a public key in PEM format"],
  ["verify", ["nothing.jws", "--key", "public"], "Cannot read"],
  ["verify", ["c.jws", "--key", "public", "--force"], "Unknown option '--force'"],
  ["verify", ["c.jws", "--key", "public", "--profile", "all"], "--profile must be core or extended"],
  ["verify", ["c.jws", "--key", "public", "--max-age", "soon"], "--max-age must look like 30d, 12h or 90m"],
  ["verify", ["c.jws", "--key", "public", "--contract", "nothing.json"], "--contract: ENOENT"],
  ["verify", ["c.jws", "--key", "public", "--require", "most"], '--require must be full, not "most"'],
])("certify %s %j is refused", async (name, args, message) => {
  const pair = generateKeyPairSync("ed25519");
  writeFileSync(at("private"), pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  writeFileSync(at("public"), pair.publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(at("rsa"), rsa);
  writeFileSync(at("text"), "text");
  const named = args.map((arg, index) => (args[index - 1] === "--key" ? at(arg) : arg));
  await expect(run(name, ...named)).rejects.toThrow(message);
});
