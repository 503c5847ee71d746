// Every command on a database. Its parser, its help and its line in the guides come from here.
import { balanceCommands } from "./balances.ts";
import { databaseCommands } from "./database.ts";
import { keyCommands } from "./keys.ts";
import { railCommands } from "./rails.ts";
import { commandGroup } from "./run.ts";
import { webhookCommands } from "./webhooks.ts";

export const GROUPS = {
  keys: commandGroup("keys", { ...keyCommands, ...webhookCommands }),
  balances: commandGroup("balances", balanceCommands),
  rails: commandGroup("rails", railCommands),
  db: commandGroup("db", databaseCommands),
};
