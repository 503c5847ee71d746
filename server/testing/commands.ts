// Commands as a table: what is typed, the exit code, and what is printed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { ruled, type Storage, type TwoPeopleRules } from "../domain/storage.ts";
import { serveStorage } from "../storage/socket.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { runCommand } from "./process.ts";
import { startServer, type TestServerOptions } from "./server.ts";

/**
 * A text must be contained in what is printed, and a pattern must match it. Texts that a pattern names stand for
 * `{name}` in later rows. Exit code 2 prints errors, 0 and 1 print results, and none prints both.
 */
export type Row = readonly [typed: string, code: number, ...printed: readonly (string | RegExp)[]];

/** Runs commands with these environment variables. @param known texts that stand for `{name}` */
export function createTerminal(env: Record<string, string>, known: Record<string, string> = {}) {
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (all, name: string) => known[name] ?? all);

  /** Runs a command and returns what it printed. */
  async function run(typed: string, code: number = 0): Promise<string> {
    const args = typed.match(/"[^"]*"|[^\s"]+/g)!.map((word) => filled(word.replaceAll('"', "")));
    const ended = await runCommand(env, ...args);
    const [said, silent] = code === 2 ? [ended.stderr, ended.stdout] : [ended.stdout, ended.stderr];
    expect([args, ended.code, silent, said]).toEqual([args, code, "", said]);
    return said.trimEnd();
  }
  async function rows(...table: readonly Row[]): Promise<void> {
    for (const [typed, code, ...printed] of table) {
      const said = await run(typed, code);
      for (const each of printed) {
        const expected = typeof each === "string" ? expect.stringContaining(filled(each)) : expect.stringMatching(each);
        expect([typed, said]).toEqual([typed, expected]);
        if (typeof each !== "string") Object.assign(known, each.exec(said)!.groups);
      }
    }
  }
  return { run, rows, known, json: async (typed: string) => JSON.parse(await run(`${typed} --json`)) };
}

/** Starts a live server in this process, and a terminal whose commands use its storage. */
export async function startWithTerminal(
  options: Omit<TestServerOptions, "openStorage"> & { wrap?: (storage: Storage) => Storage } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "commands-"));
  const path = join(folder, "server.db");
  const env: Record<string, string> = { DATABASE_URL: `sqlite:${path}`, SANDBOX: "false", ...options.env };
  const { wrap = (storage: Storage) => storage } = options;
  const server = await startServer({
    ...options,
    env,
    openStorage: (how) => wrap(openSqlite(path, { ...how, mode: "live" })),
  });
  const rules: TwoPeopleRules = { oneOperatorDecides: false };
  const serve = () => serveStorage(path, ruled(server.storage, rules));
  let stopServing = await serve();
  return {
    ...createTerminal(env, { M: server.merchant.id }),
    env,
    /** The server's settings, which the terminal does not have. */
    rules,
    folder,
    server,
    /** Ends the connections of commands, as if the server had ended. */
    cut: () => stopServing(),
    async reconnect() {
      stopServing = await serve();
    },
    async close() {
      stopServing();
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}
