import { parseArgs } from "node:util";
import { OPTIONS, type Options } from "./options.ts";

/** A command was called in a wrong way. The message says what to do. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The result of a command. It is printed as lines, or as JSON if the command has the option `json` and it is set. */
export interface Output {
  lines: string[];
  json?: unknown;
  /** True if a check found what it looks for. The exit code is then 1. */
  found?: boolean;
}

/** A command. It gets what it works with, such as the storage, as its context. */
export interface Command<Context> {
  /** The names of the positional arguments; a name in brackets is optional. */
  args: readonly string[];
  options: readonly (keyof Options)[];
  summary: string;
  /** True if the command may create the database. The others expect one. */
  creates?: boolean;
  run(context: Context, args: readonly string[], options: Options): Promise<Output>;
}

export type Commands<Context> = Readonly<Record<string, Command<Context>>>;
type Syntax = Pick<Command<never>, "args" | "options">;

/** How to call the program, in the repository and wherever the package is installed. */
export const PROGRAM = "npx disbursement-checkout";

/** `deliveries MERCHANT [--status STATUS] …` */
function synopsis(name: string, { args, options }: Syntax): string {
  const flags = options.map(
    (option) => `[--${option}${"value" in OPTIONS[option] ? ` ${OPTIONS[option].value}` : ""}]`,
  );
  return [name, ...args, ...flags].join(" ");
}

export function usageOf(group: string, commands: Commands<never>): string {
  const entries = Object.entries(commands).map(
    ([name, command]) => `  ${synopsis(name, command)}\n      ${command.summary}`,
  );
  const used = new Set(Object.values(commands).flatMap(({ options }) => options));
  const meanings = [...used].map((name) => `  --${name.padEnd(12)} ${OPTIONS[name].meaning}`);
  const parts = [`Usage: ${PROGRAM} ${group} COMMAND`, entries.join("\n"), meanings.join("\n")];
  return parts.filter((part) => part !== "").join("\n\n");
}

/**
 * Parses the arguments of a command.
 * @throws UsageError if they do not fit the command
 */
export function parseCommand<Context>(
  group: string,
  commands: Commands<Context>,
  [name = "", ...rest]: readonly string[],
) {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new UsageError(usageOf(group, commands));
  if (rest.some((text) => /^(sk|whsec)_/.test(text))) {
    throw new UsageError("An argument is a key or secret. Every user of this machine can read arguments; pass the id.");
  }
  if (rest.some((text) => /postgres(ql)?:\/\//i.test(text))) {
    throw new UsageError(
      "An argument is the URL of a database. Every user of this machine can read arguments, also a password in them; " +
        "set DATABASE_URL, or for the destination of a copy DATABASE_URL_TO.",
    );
  }
  const usage = `Usage: ${PROGRAM} ${group} ${synopsis(name, command)}`;
  const required = command.args.filter((arg) => !arg.startsWith("["));
  const { positionals, values } = parsed(command, rest, usage);
  if (positionals.length < required.length || positionals.length > command.args.length) throw new UsageError(usage);
  return { command, args: positionals, options: values };
}

function parsed({ options }: Syntax, args: string[], usage: string): { positionals: string[]; values: Options } {
  const types = options.map((name) => [name, { type: "value" in OPTIONS[name] ? "string" : "boolean" }] as const);
  try {
    const { positionals, values } = parseArgs({ args, options: Object.fromEntries(types), allowPositionals: true });
    const read = Object.entries(values).map(([name, text]) => [
      name,
      OPTIONS[name as keyof Options].parse(text as never),
    ]);
    return { positionals, values: Object.fromEntries(read) as Options };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}
