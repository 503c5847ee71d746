#!/usr/bin/env node
// The command line: `disbursement-checkout serve|keys|db`.
import { auditCommands } from "./commands/audit.ts";
import { PROGRAM, UsageError } from "./commands/command.ts";
import { withDatabase, withStorage } from "./commands/context.ts";
import { dashboardCommands } from "./commands/dashboard.ts";
import { databaseCommands } from "./commands/database.ts";
import { keyCommands } from "./commands/keys.ts";
import { replayCommands } from "./commands/replays.ts";
import { commandGroup, isExpected, type Printed } from "./commands/run.ts";
import { webhookCommands } from "./commands/webhooks.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve   start the server
  keys    manage merchants, their keys and their webhooks; list what was done
  db      migrate, inspect, back up and restore the database

Without a command, keys and db print theirs. DATABASE_URL selects the database.`;

const GROUPS: Readonly<Record<string, (args: readonly string[]) => Promise<Printed>>> = {
  keys: commandGroup(
    "keys",
    { ...keyCommands, ...webhookCommands, ...replayCommands, ...auditCommands, ...dashboardCommands },
    withStorage,
  ),
  db: commandGroup("db", databaseCommands, withDatabase),
};

async function main([name = "", ...args]: readonly string[]): Promise<void> {
  if (name === "serve" && args.length === 0) return void (await import("./main.ts"));
  const run = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
  if (!run) throw new UsageError(USAGE);
  const { text, exitCode } = await run(args);
  console.log(text);
  process.exitCode = exitCode;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(isExpected(error) ? error.message : error);
  process.exitCode = isExpected(error) ? 2 : 1;
}
