import { parseArgs } from "node:util";
import { OPTIONS, type Options } from "./options.ts";

/** An option of the command line. An option with `value` takes a value, and `parse` refuses an invalid value. */
export interface Option {
  value?: string;
  /** True if the option may be repeated. Its values form a list. */
  multiple?: boolean;
  meaning: string;
  parse(text: never): unknown;
}
type Table = Readonly<Record<string, Option>>;
/** The values of the options that were given. */
export type OptionValues<T extends Table> = {
  readonly [Name in keyof T]?: T[Name] extends { multiple: true }
    ? ReturnType<T[Name]["parse"]>[]
    : ReturnType<T[Name]["parse"]>;
};

/** A command was called in a wrong way. The message says what to do. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A command failed after it had recorded something, or when it may have. The message says what. */
export class FailedAfterChange extends Error {
  override name = "FailedAfterChange";
}

/** Prints results with `log` and errors with `error`, each as a line. */
export type Printer = Pick<Console, "log" | "error">;

/** The result of a command. It is printed as lines, or as JSON if the command has the option `json` and it is set. */
export interface Output {
  lines: string[];
  json?: unknown;
  /** True if a check found a problem. The exit code is then 1. */
  found?: boolean;
}

/** A command. Its context has its dependencies, such as the storage. */
export interface Command<Context> {
  /** The names of the positional arguments; a name in brackets is optional. */
  args: readonly string[];
  options: readonly (keyof Options)[];
  summary: string;
  /** True if the command may create the database. Other commands expect an existing database. */
  creates?: boolean;
  /** True if the command does not connect to a PostgreSQL database: it prints which programs to use instead. */
  onlyAdvises?: boolean;
  run(context: Context, args: readonly string[], options: Options): Promise<Output>;
}

export type Commands<Context> = Readonly<Record<string, Command<Context>>>;
type Syntax = Pick<Command<never>, "args" | "options">;

/** How to call the program, in the repository and wherever the package is installed. */
export const PROGRAM = "npx --no -- disbursement-checkout";

const flag = (name: string, { value }: Option): string => `--${name}${value === undefined ? "" : ` ${value}`}`;

/** `deliveries MERCHANT [--status STATUS] …` */
function synopsis(name: string, { args, options }: Syntax): string {
  return [name, ...args, ...options.map((option) => `[${flag(option, OPTIONS[option])}]`)].join(" ");
}

/** The lines that explain the options of a table. */
export function meaningsOf(table: Table): string {
  const flags = Object.entries(table).map(([name, option]) => [flag(name, option), option.meaning] as const);
  const width = Math.max(...flags.map(([text]) => text.length));
  return flags.map(([text, meaning]) => `  ${text.padEnd(width)}  ${meaning}`).join("\n");
}

/** What `--help` prints after a group, or after one of its commands. */
export function usageOf(group: string, commands: Commands<never>, one = ""): string {
  const explained = Object.hasOwn(commands, one) ? commands[one] : undefined;
  if (explained) {
    const table = Object.fromEntries(explained.options.map((option) => [option, OPTIONS[option]]));
    const usage = `Usage: ${PROGRAM} ${group} ${synopsis(one, explained)}\n\n${explained.summary}`;
    return explained.options.length === 0 ? usage : `${usage}\n\n${meaningsOf(table)}`;
  }
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
  if (rest.some((text) => /postgres(ql)?:\/\//i.test(text))) {
    throw new UsageError(
      "An argument is the URL of a database. Every user of this machine can read arguments, also a password in them; " +
        "set DATABASE_URL, or for the destination of a copy DATABASE_URL_TO.",
    );
  }
  const usage = `Usage: ${PROGRAM} ${group} ${synopsis(name, command)}`;
  const required = command.args.filter((arg) => !arg.startsWith("["));
  const table = Object.fromEntries(command.options.map((option) => [option, OPTIONS[option]]));
  const { positionals, values } = parseOptions(table, rest, usage);
  if (positionals.length < required.length || positionals.length > command.args.length) throw new UsageError(usage);
  return { command, args: positionals, options: values as Options };
}

/**
 * Parses arguments with the options of a table.
 * @throws UsageError if an option is unknown or its value invalid, or an argument is a secret
 */
export function parseOptions<T extends Table>(
  table: T,
  args: readonly string[],
  usage: string,
): { positionals: string[]; values: OptionValues<T> } {
  if (args.some((text) => /^((sk|whsec)_|(test|live)_[0-9a-z]{16})/.test(text))) {
    throw new UsageError("An argument is a key or secret. Every user of this machine can read arguments; pass the id.");
  }
  const types = Object.entries(table).map(([name, { value, multiple = false }]) => {
    return [name, { type: value === undefined ? "boolean" : "string", multiple }] as const;
  });
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(types),
      allowPositionals: true,
    });
    const read = Object.entries(values).map(([name, given]) => {
      const parse = (text: unknown) => table[name]!.parse(text as never);
      return [name, Array.isArray(given) ? given.map(parse) : parse(given)];
    });
    return { positionals, values: Object.fromEntries(read) as OptionValues<T> };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}
