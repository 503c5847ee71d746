import { approvalCommands } from "./approvals.ts";
import { auditCommands } from "./audit.ts";
import { balanceCommands } from "./balances.ts";
import { withDatabase, withStorage } from "./command-context.ts";
import { dashboardCommands } from "./dashboard-access.ts";
import { databaseCommands } from "./database.ts";
import { keyCommands } from "./keys.ts";
import { railCommands } from "./rails.ts";
import { replayCommands } from "./replays.ts";
import { commandGroup } from "./command-group.ts";
import { webhookCommands } from "./webhooks.ts";

export const keys = commandGroup(
  "keys",
  {
    ...keyCommands,
    ...approvalCommands,
    ...webhookCommands,
    ...replayCommands,
    ...auditCommands,
    ...dashboardCommands,
  },
  withStorage,
);
export const balances = commandGroup("balances", balanceCommands, withStorage);
export const rails = commandGroup("rails", railCommands, withStorage);
export const db = commandGroup("db", databaseCommands, withDatabase);
