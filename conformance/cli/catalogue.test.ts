import { expect, test } from "vitest";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { readOptions } from "./options.ts";
import { runSubcommand } from "./subcommands.ts";

const now = new Date(0);
const run = (name: "list" | "explain", ...args: string[]) => runSubcommand(name, args, now);

test.each(["core", "extended"] as const)(
  "list --profile %s names every requirement once, in groups",
  async (profile) => {
    const { exitCode, text } = await run("list", "--profile", profile);
    const ids = Array.from(text.matchAll(/^ {2}(\S+)/gm), ([, id]) => id);
    const expected = catalogue.filter((requirement) => inProfile(requirement, profile)).map(({ id }) => id);
    expect([exitCode, ids.toSorted()]).toEqual([0, expected.toSorted()]);
    expect(text).toMatch(/^auth \(\d+\)\n {2}auth\.create-needs-key +must +core +must-be-rejected\n {6}Creating/);
    expect(text).toContain(`${expected.length} requirements in profile ${profile}.`);
  },
);

test("list shows every requirement by default", async () => {
  expect((await run("list")).text).toBe((await run("list", "--profile", "extended")).text);
});

test.each(catalogue)(
  "explain $id names its source, how it is checked, and a command that the suite accepts",
  async (one) => {
    const { exitCode, text } = await run("explain", one.id);
    expect(exitCode).toBe(0);
    expect(text.replaceAll(/\s+/g, " ")).toContain(one.text.replaceAll(/\s+/g, " "));
    expect(text).toMatch(/^source {4}\S+ \S/m);
    expect(text).toMatch(/^check {5}\S/m);
    const command = /^run {7}npx --no -- certify (.*(\n {10}.*)*)/m.exec(text)?.[1]?.split(/\s+/) ?? [];
    const args = command.map((word) => (word === "URL" ? "https://pay.example" : word));
    expect(readOptions(args, { API_KEY: "k" }, () => 1)).toMatchObject({ only: [one.id] });
  },
);

test("explain says what the checks cost and need", async () => {
  const text = (await run("explain", "signature.rotation")).text.replaceAll(/\s+/g, " ");
  expect(text).toMatch(/at most \d+ payouts with a total of \d+/);
  expect(text).toContain("a second merchant's key (API_KEY_2)");
  expect(text).toContain("webhook secret of API_KEY_2's merchant is rotated");
});

test.each([
  ["explain", ["create.acepted"], 'no requirement or scenario "create.acepted". Did you mean create.accepted?'],
  ["explain", [], "Expected 1 id, received 0."],
  ["list", ["--profile", "all"], '--profile must be core or extended or client or receiver, not "all"'],
  ["list", ["--profil", "core"], "Unknown option '--profil'. Did you mean --profile?"],
  ["list", ["core"], "Expected 0 arguments, received 1."],
] as const)("%s %j is invalid, with a suggestion", async (name, args, message) => {
  const result = await run(name, ...args);
  expect(result).toMatchObject({ exitCode: 2, text: expect.stringContaining(message) });
});
