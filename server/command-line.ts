// The command line, `disbursement-checkout`. A server that starts loads no command.
import { inspect } from "node:util";
import { isExpected, PROGRAM, UsageError, printableLines, usageOf, type Printer } from "./commands/command.ts";
import type { Command } from "./commands/run.ts";

const USAGE = `Usage: ${PROGRAM} COMMAND

  serve    start the server
  sandbox  start a sandbox in memory, for the tests of a program in any language
  keys     manage merchants, their keys and their webhooks; list what was done
  db       migrate, inspect, back up and restore the database
  balances see and change what merchants can pay out
  rails    see and pause what carries the money; decide about payments that need a person
  listen   bring a sandbox's webhooks to a receiver on this machine
  trigger  make an event happen in a sandbox

Each explains itself with --help, and so do the commands of keys, balances, rails and db. DATABASE_URL selects the
database of these four and of serve.`;

const SERVE_USAGE = `Usage: ${PROGRAM} serve

Start the server. Its settings are environment variables, which /docs/settings lists.`;

/** Runs `disbursement-checkout ARGS`. Resolves with the exit code, or undefined while a server runs. */
export async function runCommandLine(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  printer: Printer,
): Promise<number | undefined> {
  try {
    return await run(args, env, printer);
  } catch (error) {
    printer.error(printableLines(isExpected(error) ? error.message : inspect(error)));
    // With 2 the command was refused and recorded nothing. With 1 it may have recorded something.
    return isExpected(error) && error.name !== "FailedAfterChange" ? 2 : 1;
  }
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<number | undefined> {
  const [name = "", ...more] = args;
  // Its arguments include another command, which may have options of its own.
  if (name === "sandbox") return (await import("./sandbox/command.ts")).runSandbox(more, env, printer);
  const asksForHelp = args.includes("--help") || args.includes("-h");
  const explain = (usage: string) => (printer.log(usage), 0);
  if (name === "serve") {
    if (asksForHelp) return explain(SERVE_USAGE);
    if (more.length > 0) throw new UsageError(SERVE_USAGE);
    await import("./start.ts");
    return undefined;
  }
  if (asksForHelp && name.startsWith("-")) return explain(USAGE);
  const [{ GROUPS }, { runCommand }] = await Promise.all([import("./commands/table.ts"), import("./commands/run.ts")]);
  const isGroup = name !== "" && Object.hasOwn(GROUPS, name);
  const group = isGroup ? (name as keyof typeof GROUPS) : "";
  const [commands, words]: [Record<string, Command>, readonly string[]] = [GROUPS[group], isGroup ? more : args];
  if (!isGroup && !Object.hasOwn(commands, name)) throw new UsageError(USAGE);
  return asksForHelp ? explain(usageOf(group, commands, words[0])) : runCommand(group, commands, words, env, printer);
}
