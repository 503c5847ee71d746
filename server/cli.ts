#!/usr/bin/env node
// The command line: `disbursement-checkout serve|keys|db`.
import { auditCommands } from "./commands/audit.ts";
import { PROGRAM, UsageError, type Commands } from "./commands/command.ts";
import { databaseCommands } from "./commands/database.ts";
import { keyCommands } from "./commands/keys.ts";
import { isExpected, runCommand } from "./commands/run.ts";
import { webhookCommands } from "./commands/webhooks.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve   start the server
  keys    manage merchants, their keys and their webhooks; list what was done
  db      back up the database

Without a command, keys and db print theirs. DATABASE_URL selects the database.`;

const GROUPS: Readonly<Record<string, Commands>> = {
  keys: { ...keyCommands, ...webhookCommands, ...auditCommands },
  db: databaseCommands,
};

async function main([name = "", ...args]: readonly string[]): Promise<void> {
  if (name === "serve" && args.length === 0) return void (await import("./main.ts"));
  const commands = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
  if (!commands) throw new UsageError(USAGE);
  console.log(await runCommand(name, commands, args));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(isExpected(error) ? error.message : error);
  process.exitCode = isExpected(error) ? 2 : 1;
}
