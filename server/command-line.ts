// The commands of `disbursement-checkout`. Each loads only what it needs.
import { inspect } from "node:util";
import { PROGRAM, UsageError, type Printer } from "./commands/command.ts";
import { printableLines } from "./commands/printable.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve    start the server
  keys     manage merchants, their keys and their webhooks; list what was done
  db       migrate, inspect, back up and restore the database
  balances see and change what merchants can pay out
  rails    see and pause what carries the money; decide about payments that need a person
  listen   bring a sandbox's webhooks to a receiver on this machine
  trigger  make an event happen in a sandbox

Without a further command, keys, balances, rails and db list their commands. DATABASE_URL selects
the database of these four commands and of serve.`;

type Run = (args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer) => Promise<number | undefined>;

const COMMANDS: Readonly<Record<string, () => Promise<Run>>> = {
  serve: async () => async (args) => {
    if (args.length > 0) throw new UsageError(USAGE);
    await import("./main.ts");
    return undefined;
  },
  keys: async () => (await import("./commands/groups.ts")).keys,
  db: async () => (await import("./commands/groups.ts")).db,
  balances: async () => (await import("./commands/groups.ts")).balances,
  rails: async () => (await import("./commands/groups.ts")).rails,
  listen: async () => (await import("./commands/listen.ts")).listen,
  trigger: async () => (await import("./commands/trigger.ts")).trigger,
};

/**
 * Errors whose message tells the caller of a command what to do. They are recognised by name, so that their modules
 * need not be loaded.
 */
const EXPECTED = new Set([
  "UsageError",
  "FailedAfterChange",
  "ConfigError",
  "StorageError",
  "ServiceError",
  "ResponseError",
  "Unreachable",
]);

/** Runs `disbursement-checkout ARGS`. Resolves with the exit code, or undefined while a server runs. */
export async function runCommandLine(
  [name = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  printer: Printer,
): Promise<number | undefined> {
  try {
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!load) throw new UsageError(USAGE);
    const run = await load();
    return await run(args, env, printer);
  } catch (error) {
    const isExpected = error instanceof Error && EXPECTED.has(error.name);
    printer.error(printableLines(isExpected ? error.message : inspect(error)));
    // 2 promises that the command was refused. It may still have recorded something before 1.
    return isExpected && error.name !== "FailedAfterChange" ? 2 : 1;
  }
}
