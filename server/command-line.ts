// The commands of `disbursement-checkout`. Each loads only what it needs.
import { inspect } from "node:util";
import { PROGRAM, UsageError, printableLines, type Printer } from "./commands/command.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve    start the server
  keys     manage merchants, their keys and their webhooks; list what was done
  db       migrate, inspect, back up and restore the database
  balances see and change what merchants can pay out
  rails    see and pause what carries the money; decide about payments that need a person
  listen   bring a sandbox's webhooks to a receiver on this machine
  trigger  make an event happen in a sandbox

Each explains itself with --help, and so do the commands of keys, balances, rails and db. DATABASE_URL selects the
database of these four and of serve.`;

const SERVE_USAGE = `Usage: ${PROGRAM} serve

Starts the server. Its settings are environment variables, which the guide "Operating the server" lists.`;

interface Command {
  run(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<number | undefined>;
  /** What `--help` prints, among these arguments. */
  usage(args: readonly string[]): string;
}

async function serve(args: readonly string[]): Promise<undefined> {
  if (args.length > 0) throw new UsageError(SERVE_USAGE);
  await import("./main.ts");
}

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => ({ run: serve, usage: () => SERVE_USAGE }),
  keys: async () => (await import("./commands/table.ts")).GROUPS.keys,
  db: async () => (await import("./commands/table.ts")).GROUPS.db,
  balances: async () => (await import("./commands/table.ts")).GROUPS.balances,
  rails: async () => (await import("./commands/table.ts")).GROUPS.rails,
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
  "Refused",
  "StatementError",
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
    const asksForHelp = [name, ...args].some((arg) => arg === "--help" || arg === "-h");
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!load && !(asksForHelp && name.startsWith("-"))) throw new UsageError(USAGE);
    const command = await load?.();
    if (!asksForHelp) return await command!.run(args, env, printer);
    printer.log(command?.usage(args) ?? USAGE);
    return 0;
  } catch (error) {
    const isExpected = error instanceof Error && EXPECTED.has(error.name);
    printer.error(printableLines(isExpected ? error.message : inspect(error)));
    // 2 promises that the command was refused. It may still have recorded something before 1.
    return isExpected && error.name !== "FailedAfterChange" ? 2 : 1;
  }
}
