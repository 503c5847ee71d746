#!/usr/bin/env node
// The command line: `disbursement-checkout serve|keys|db|listen|trigger`. Each command loads only what it needs.
import { inspect } from "node:util";
import { PROGRAM, UsageError } from "./commands/command.ts";
import { printableLines } from "./commands/printable.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve    start the server
  keys     manage merchants, their keys and their webhooks; list what was done
  db       migrate, inspect, back up and restore the database
  listen   bring a sandbox's webhooks to a receiver on this machine
  trigger  make an event happen in a sandbox

Without a command, keys and db print theirs. DATABASE_URL selects the database of serve, keys and db.`;

type Run = (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<number | undefined>;

const COMMANDS: Readonly<Record<string, () => Promise<Run>>> = {
  serve: async () => async (args) => {
    if (args.length > 0) throw new UsageError(USAGE);
    await import("./main.ts");
    return undefined;
  },
  keys: async () => (await import("./commands/groups.ts")).keys,
  db: async () => (await import("./commands/groups.ts")).db,
  listen: async () => (await import("./commands/listen.ts")).listen,
  trigger: async () => (await import("./commands/trigger.ts")).trigger,
};

async function main([name = "", ...args]: readonly string[]): Promise<void> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!load) throw new UsageError(USAGE);
  const run = await load();
  process.exitCode = await run(args, process.env);
}

/** Errors whose message tells the caller of a command what to do. By name, so that none of them has to be loaded. */
const EXPECTED = ["UsageError", "ConfigError", "StorageError", "ServiceError", "ResponseError", "Unreachable"];

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isExpected = error instanceof Error && EXPECTED.includes(error.name);
  console.error(printableLines(isExpected ? error.message : inspect(error)));
  process.exitCode = isExpected ? 2 : 1;
}
