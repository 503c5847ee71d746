import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommand, startProcess } from "../testing/process.ts";

let folder: string;
let env: { DATABASE_URL: string; SANDBOX?: string };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "restore-"));
  env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX: "true" };
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(env, ...args);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

test("restores a backup after the server has stopped, and a server starts on it", async () => {
  const backup = join(folder, "backup.db");
  await run("keys", "create-merchant", "Before");
  await run("db", "backup", backup);
  await run("keys", "create-merchant", "After");
  const server = await startProcess(env);
  const inUse = await runCommand(env, "db", "restore", backup, "--replace");
  expect([inUse.code, inUse.stderr]).toEqual([
    2,
    expect.stringMatching(/^Another server or command is using .+ Stop it/),
  ]);
  server.kill("SIGTERM");
  await server.ended;

  const unconfirmed = await runCommand(env, "db", "restore", backup);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    2,
    expect.stringMatching(/ has data\. Add --replace to put /),
  ]);
  const restored = await run("db", "restore", backup, "--replace");
  const [, kept] = /^Restored .+backup\.db, of version \d+\..+\nThe old database is kept: (.+)\n/.exec(restored)!;
  expect(readdirSync(folder)).toContain(kept!.slice(folder.length + 1));
  expect(kept).toMatch(/server\.db\.replaced-\d{8}T\d{9}Z$/);
  const again = await startProcess(env);
  again.kill("SIGTERM");
  await again.ended;
  expect(await run("keys", "merchants")).toMatch(/^\S+ {2}Before\n$/);
});

test("with PostgreSQL it prints the commands to use, without the password", async () => {
  env = { DATABASE_URL: "postgres://ada:hunter2@db.example:5433/shop?sslmode=verify-full&password=hunter2" };
  const restored = await runCommand(env, "db", "restore", "it's.dump");
  expect([restored.code, restored.stdout, restored.stderr.split("\n")]).toEqual([
    2,
    "",
    [
      "Restore PostgreSQL with its own programs, into a new database. Stop the servers, then run:",
      "  createdb --maintenance-db='postgres://ada@db.example:5433/shop?sslmode=verify-full' restored",
      "  pg_restore --exit-on-error --single-transaction --no-owner " +
        String.raw`--dbname='postgres://ada@db.example:5433/restored?sslmode=verify-full' 'it'\''s.dump'`,
      "  psql --dbname='postgres://ada@db.example:5433/restored?sslmode=verify-full' --command='UPDATE handovers SET " +
        String.raw`asked_real = 1000 * extract(epoch FROM now())::bigint WHERE state = '\''waiting'\'''`,
      "Pass the password in PGPASSWORD or ~/.pgpass, because others can read arguments. Then set DATABASE_URL to the " +
        "new database.",
      "",
    ],
  ]);
  const dumped = await runCommand(env, "db", "backup", "copy");
  expect([dumped.code, dumped.stderr]).toEqual([
    2,
    expect.stringContaining(
      "\n  pg_dump --format=custom --file=FILE 'postgres://ada@db.example:5433/shop?sslmode=verify-full'\n",
    ),
  ]);
  expect(dumped.stderr + restored.stderr).not.toContain("hunter2");
});
