import { describe, expect, test } from "vitest";
import { GROUPS } from "./commands/table.ts";
import { runCommand, runCommandProcess } from "./testing/process.ts";

/** No command that prints its help opens this database. */
const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
const commands = [
  ["serve"],
  ["listen"],
  ["trigger"],
  ...Object.entries(GROUPS).flatMap(([group, table]) => [
    [group],
    ...Object.keys(table.commands).map((name) => [group, name]),
  ]),
];

describe.each(["--help", "-h"])("%s explains", (flag) => {
  test("the program", async () => {
    const { code, stdout, stderr } = await runCommand(env, flag);
    expect([code, stderr, stdout]).toEqual([
      0,
      "",
      expect.stringMatching(/^Usage: npx --no -- disbursement-checkout COMMAND\n/),
    ]);
  });

  test.each(commands)("%s %s", async (...command) => {
    const args = command.filter((each) => typeof each === "string");
    for (const given of [
      [...args, flag],
      [...args, "--nonsense", flag, "more"],
    ]) {
      const { code, stdout, stderr } = await runCommand(env, ...given);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout.startsWith(`Usage: npx --no -- disbursement-checkout ${args.join(" ")}`)).toBe(true);
    }
  });
});

test.each([[[]], [["help"]], [["toString"]]])("%j prints the usage and exits with 2", async (args) => {
  const { code, stdout, stderr } = await runCommand(env, ...args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^Usage: npx --no -- disbursement-checkout COMMAND\n[^]+ serve [^]+ keys [^]+ db /);
});

test("serve starts the server: an invalid configuration ends it with 1", async () => {
  const { code, stderr } = await runCommandProcess({ PORT: "none" }, "serve");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Invalid configuration:\n {2}- PORT must be /)]);
});
