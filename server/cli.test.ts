import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommandProcess } from "./testing/process.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-"));
});
afterEach(() => rmSync(folder, { recursive: true }));
const database = (name: string) => ({ DATABASE_URL: `sqlite:${join(folder, name)}` });

test.each([[[]], [["help"]], [["toString"]]])("%j prints the usage and exits with 2", async (args) => {
  const { code, stdout, stderr } = await runCommandProcess({}, ...args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^Usage: npx --no -- disbursement-checkout COMMAND\n[^]+ serve [^]+ keys [^]+ db /);
});

test("serve starts the server: an invalid configuration ends it with 1", async () => {
  const { code, stderr } = await runCommandProcess({ PORT: "none" }, "serve");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Invalid configuration:\n {2}- PORT must be /)]);
});

test("a backup is a complete database that only its owner may read, and replaces no file", async () => {
  const env = database("server.db");
  const created = await runCommandProcess(env, "keys", "create-merchant", "Ada Stores");
  const [, id] = /^Merchant (\S+)\n/.exec(created.stdout)!;
  const file = join(folder, "backup.db");
  expect(await runCommandProcess(env, "db", "backup", file)).toMatchObject({ code: 0, stderr: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await runCommandProcess(database("backup.db"), "keys", "merchants")).stdout).toBe(`${id}  Ada Stores\n`);

  writeFileSync(file, "something else");
  const refused = await runCommandProcess(env, "db", "backup", file);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/^Cannot create .+\. Choose another file\.\n$/),
  ]);
  expect(statSync(file).size).toBe("something else".length);
});
