import { expect, test } from "vitest";
import { GROUPS } from "./commands/table.ts";
import { runCommand, runCommandProcess } from "./testing/process.ts";

/** Does not exist: printing help opens no database. */
const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
const commands = [
  ["serve"],
  ["sandbox"],
  ...Object.entries(GROUPS).flatMap(([group, table]) => {
    const words = group === "" ? [] : [group];
    return [words, ...Object.keys(table).map((name) => [...words, name])];
  }),
];

test.each(commands.map((command) => ({ typed: command.join(" "), command })))(
  "$typed explains itself, whatever else is typed",
  async ({ typed, command }) => {
    const rest = command.length === 0 ? ["--help", "-h"] : ["--help", "-h", "--nonsense --help more"];
    for (const more of rest) {
      const { code, stdout, stderr } = await runCommand(env, ...command, ...more.split(" "));
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout.startsWith(`Usage: npx --no -- disbursement-checkout ${typed}`)).toBe(true);
    }
  },
);

const USAGE = /^Usage: npx --no -- disbursement-checkout COMMAND\n[^]+ serve [^]+ keys [^]+ db /;
test.each([
  [[], USAGE],
  [["help"], USAGE],
  [["toString"], USAGE],
  [["serve", "more"], /^Usage: .+ serve\n\nStart the server\./],
])("%j prints the usage and exits with 2", async (args, usage) => {
  const { code, stdout, stderr } = await runCommand(env, ...args);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(usage)]);
});

test("serve starts the server: an invalid configuration ends it with 1", async () => {
  const { code, stderr } = await runCommandProcess({ PORT: "none" }, "serve");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Invalid configuration:\n {2}- PORT must be /)]);
});
