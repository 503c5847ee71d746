// Every command. Its parser, its help and its line in the guides come from here.
import { balanceCommands } from "./balances.ts";
import { databaseCommands } from "./database.ts";
import { keyCommands } from "./keys.ts";
import { listenCommand } from "./listen.ts";
import { railCommands } from "./rails.ts";
import type { Command } from "./run.ts";
import { triggerCommand } from "./trigger.ts";

/** The commands by group; `""`: no group. */
export const GROUPS = {
  keys: keyCommands,
  balances: balanceCommands,
  rails: railCommands,
  db: databaseCommands,
  "": { ...listenCommand, ...triggerCommand },
} satisfies Record<string, Record<string, Command>>;
