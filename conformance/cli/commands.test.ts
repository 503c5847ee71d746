// Tests the commands that need no target, as `certify COMMAND …` runs them.
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { useFolder } from "../../server/testing/resources.ts";
import { writeKeyPair } from "../certificate/keys.ts";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { requirement, sampleReport } from "../testing/sample-report.ts";
import { commandOf, commands, fullHelp } from "./commands.ts";
import { readOptions } from "./options.ts";

const now = new Date("2026-11-20T12:00:00Z");
const at = useFolder();

const run = (name: string, ...args: string[]) => commandOf(name)!.run(args, { env: {}, now, newSeed: () => 1 });

test("--help explains each command, and the options of a run, which needs no command", async () => {
  for (const name of Object.keys(commands)) expect(await fullHelp(name)).toMatch(`Usage: certify ${name} `);
  expect(commandOf(undefined) ?? commandOf("--base-url")).toBeUndefined();
  expect(await fullHelp("constructor")).toMatch(
    /^Usage: certify --base-url URL \[options\]\n[^]*\n {2}--timeout MS {16}time limit for a response \(default: 10000\)\n[^]*certify explain ID/,
  );
});

test.each([
  ["verfy", "Did you mean verify?"],
  ["toString", "There is no command"],
])("the command %s is unknown: %s", (name, message) => {
  expect(() => commandOf(name)).toThrow(message);
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
    for (const { id, text: requirementText, fix = "" } of catalogue) {
      const { text } = await run("explain", id);
      for (const part of [requirementText, fix, `/docs/requirements/${id}`])
        expect(text.replaceAll(/\s+/g, " ")).toContain(part.replaceAll(/\s+/g, " "));
      expect(text).toMatch(/^source {4}\S[^]*^check {5}\S/m);
      const command = /^run {7}npx --no -- certify (.*(\n {10}.*)*)/m.exec(text)?.[1]?.split(/\s+/) ?? [];
      const args = command.map((word) => (word === "URL" ? "https://pay.example" : word));
      expect(readOptions(args, { API_KEY: "k" }, () => 1)).toMatchObject({ only: [id] });
    }
  });

  test("explain says what the checks cost, need and leave behind", async () => {
    const text = (await run("explain", "signature.rotation")).text.replaceAll(/\s+/g, " ");
    expect(text).toMatch(/at most \d+ payouts with a total of \d+.*a second merchant's key \(API_KEY_2\)/);
    expect(text).toContain("webhook secret of API_KEY_2's merchant is rotated");
  });
});

test("keygen writes a private key that only its owner can read, and never overwrites", async () => {
  expect(await run("keygen", at("key"))).toMatchObject({ exitCode: 0 });
  expect(statSync(at("key")).mode & 0o777).toBe(0o600);
  const [privateKey, publicKey] = [readFileSync(at("key"), "utf8"), readFileSync(at("key.pub"), "utf8")];
  expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  await expect(run("keygen", at("key"))).rejects.toThrow("already exists");
  rmSync(at("key"));
  await expect(run("keygen", at("key"))).rejects.toThrow("key.pub already exists");
  expect(readFileSync(at("key.pub"), "utf8")).toBe(publicKey);
});

const passes = sampleReport([requirement("a", "pass")]);
test.each<[string, string | undefined, number, RegExp]>([
  ["the same report", JSON.stringify(passes), 0, /No differences/],
  ["another report", JSON.stringify(sampleReport([requirement("a", "fail")])), 1, /1 difference;/],
  ["no file", undefined, 2, /is not a readable report: ENOENT/],
  ["a file that is not JSON", "{", 2, /is not a readable report/],
  ["another kind of file", "{}", 2, /is not a report of certify/],
])("diff of a report and %s", async (_, content, exitCode, message) => {
  writeFileSync(at("a.json"), JSON.stringify(passes));
  rmSync(at("b.json"), { force: true });
  if (content !== undefined) writeFileSync(at("b.json"), content);
  const compared = run("diff", at("a.json"), at("b.json"));
  if (exitCode === 2) await expect(compared).rejects.toThrow(message);
  else expect(await compared).toEqual({ exitCode, text: expect.stringMatching(message) });
});

test.each<[string, string[], string]>([
  ["keygen", [], "Expected 1 file, received 0."],
  ["diff", ["a"], "Expected 2 files, received 1."],
  ["explain", [], "Expected 1 id, received 0."],
  ["explain", ["create.acepted"], 'no requirement or scenario "create.acepted". Did you mean create.accepted?'],
  ["list", ["--profile", "all"], "--profile: must be core or extended or client or receiver"],
  ["verify", ["c.jws"], "--key is missing: give the signer's public key"],
  ["verify", ["c.jws", "--key", "nothing"], "--key: ENOENT"],
  ["verify", ["c.jws", "--key", "signing"], "is a private key. Keep it secret"],
  ["verify", ["c.jws", "--key", "elliptic"], "is a key of type ec; certificates need Ed25519."],
  ["verify", ["c.jws", "--key", "text"], "is not a public key in PEM format"],
  ["verify", ["nothing.jws", "--key", "signing.pub"], "ENOENT"],
  ["verify", ["c.jws", "--key", "signing.pub", "--max-age", "soon"], "--max-age: must look like 30d, 12h or 90m"],
  ["verify", ["c.jws", "--key", "signing.pub", "--contract", "nothing.json"], "--contract: ENOENT"],
])("certify %s %j is refused", async (name, args, message) => {
  writeKeyPair(at("signing"));
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(at("elliptic"), publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(at("text"), "text");
  const named = args.map((arg, index) => (args[index - 1] === "--key" ? at(arg) : arg));
  await expect(run(name, ...named)).rejects.toThrow(message);
});
