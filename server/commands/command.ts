import { parseArgs } from "node:util";
import type { Merchant } from "../domain/merchants.ts";
import { ARGUMENTS, OPTIONS } from "./options.ts";

/** An option of the command line. Only an option with a `value` takes one. */
export interface Option {
  value?: string;
  /** True if the option may be repeated. Its values form a list. */
  multiple?: boolean;
  meaning: string;
  /** @param name as it is written on the command line @throws Error if the value is invalid */
  parse?(text: string, name: string): unknown;
  /** The value if none is given. */
  otherwise?(): unknown;
}
type Table = Readonly<Record<string, Option>>;
type ValueOf<O> = O extends { parse(text: string, name: string): infer Value }
  ? Value
  : O extends { value: string }
    ? string
    : true;
/** The values of the options that were given. */
export type OptionValues<T extends Table> = {
  readonly [Name in keyof T]?: T[Name] extends { multiple: true } ? ValueOf<T[Name]>[] : ValueOf<T[Name]>;
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

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;
type Camel<Text extends string> = Text extends `${infer First}${"-" | "_"}${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Text;
type NameOf<Word> = Word extends `[${infer Inner}]`
  ? NameOf<Inner>
  : Word extends `--${infer Name}`
    ? Camel<Name>
    : Camel<Lowercase<Word & string>>;
type Meant<Word> = Word extends `[${infer Inner}]`
  ? Meant<Inner>
  : Word extends `--${infer Name extends keyof typeof OPTIONS}`
    ? (typeof OPTIONS)[Name]
    : Word extends keyof typeof ARGUMENTS
      ? { parse: (typeof ARGUMENTS)[Word] }
      : Word extends "MERCHANT"
        ? { parse(): Merchant }
        : { value: string };
type Optional<Word> = Word extends `[${string}]`
  ? Meant<Word> extends { otherwise(): unknown }
    ? never
    : Word
  : never;
/** What a command gets, from how it is called: `MERCHANT [--dry-run]` becomes `{ merchant, dryRun? }`. */
export type Input<Takes extends string> = {
  readonly [Word in Exclude<Words<Takes>, "" | Optional<Words<Takes>>> as NameOf<Word>]: ValueOf<Meant<Word>>;
} & { readonly [Word in Optional<Words<Takes>> as NameOf<Word>]?: ValueOf<Meant<Word>> };

/** How a command is called, and what its help says. */
export interface Syntax {
  /** The arguments, then the options, such as `MERCHANT [URL] --reason [--json]`. What is in brackets is optional. */
  takes: string;
  summary: string;
}
export type SyntaxTable = Readonly<Record<string, Syntax>>;

/** How to call the program, in the repository and wherever the package is installed. */
export const PROGRAM = "npx --no -- disbursement-checkout";

const flag = (name: string, { value }: Option): string => `--${name}${value === undefined ? "" : ` ${value}`}`;

function wordsOf({ takes }: Syntax) {
  return (takes === "" ? [] : takes.split(" ")).map((word) => {
    const bare = word.replaceAll(/[[\]]/g, "");
    const isOption = bare.startsWith("--");
    const name = isOption ? bare.slice(2) : bare;
    const parse = Object.hasOwn(ARGUMENTS, name) && { parse: ARGUMENTS[name as keyof typeof ARGUMENTS] };
    const meant: Option = isOption ? OPTIONS[name as keyof typeof OPTIONS] : { value: name, meaning: "", ...parse };
    const text = isOption ? flag(name, meant) : name;
    return { name, isOption, meant, isOptional: word !== bare, text: word === bare ? text : `[${text}]` };
  });
}
const optionsOf = (syntax: Syntax): Record<string, Option> =>
  Object.fromEntries(
    wordsOf(syntax)
      .filter(({ isOption }) => isOption)
      .map(({ name, meant }) => [name, meant]),
  );

/** `deliveries MERCHANT [--status STATUS] …` */
export const synopsis = (name: string, syntax: Syntax): string =>
  [name, ...wordsOf(syntax).map(({ text }) => text)].join(" ");

/** The lines that explain the options of a table. */
export function meaningsOf(table: Table): string {
  const flags = Object.entries(table).map(([name, option]) => [flag(name, option), option.meaning] as const);
  const width = Math.max(...flags.map(([text]) => text.length));
  return flags.map(([text, meaning]) => `  ${text.padEnd(width)}  ${meaning}`).join("\n");
}

/** What `--help` prints after a group, or after one of its commands. */
export function usageOf(group: string, commands: SyntaxTable, one = ""): string {
  const explained = Object.hasOwn(commands, one) ? [commands[one]!] : Object.values(commands);
  const options = Object.assign({}, ...explained.map(optionsOf)) as Record<string, Option>;
  const entries = Object.entries(commands).map(([name, each]) => `  ${synopsis(name, each)}\n      ${each.summary}`);
  const parts = Object.hasOwn(commands, one)
    ? [`Usage: ${PROGRAM} ${group} ${synopsis(one, commands[one]!)}`, commands[one]!.summary]
    : [`Usage: ${PROGRAM} ${group} COMMAND`, entries.join("\n")];
  return [...parts, ...(Object.keys(options).length === 0 ? [] : [meaningsOf(options)])].join("\n\n");
}

/**
 * Parses the arguments of a command.
 * @throws UsageError if they do not fit the command
 */
export function parseCommand<C extends Syntax>(
  group: string,
  commands: Readonly<Record<string, C>>,
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
  const { positionals, values } = parseOptions(optionsOf(command), rest, usage);
  const words = wordsOf(command);
  const places = words.filter(({ isOption }) => !isOption);
  const required = places.filter(({ isOptional }) => !isOptional);
  if (positionals.length < required.length || positionals.length > places.length) throw new UsageError(usage);
  const given = places.slice(0, positionals.length).map((place, at) => {
    return [place.name.toLowerCase(), parsed(place.meant, positionals[at]!, place.name, usage)] as const;
  });
  const missing = words.find((word) => word.isOption && !word.isOptional && !(word.name in values));
  if (missing) throw new UsageError(`Give ${missing.text}: ${missing.meant.meaning}.\n${usage}`);
  const added = words.flatMap(({ name: option, meant: { otherwise } }) => (otherwise ? [[option, otherwise()]] : []));
  const input = Object.entries({ ...Object.fromEntries(added), ...values, ...Object.fromEntries(given) }).map(
    ([word, value]) => [word.replace(/[-_](.)/g, (_, letter: string) => letter.toUpperCase()), value],
  );
  return { command, input: Object.fromEntries(input) as Record<string, unknown> };
}

function parsed({ value, parse }: Option, given: unknown, name: string, usage: string): unknown {
  if (!parse) return value === undefined ? true : given;
  try {
    return Array.isArray(given) ? given.map((text: string) => parse(text, name)) : parse(given as string, name);
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`, { cause: error });
  }
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
  if (args.some((text) => /(^|[=\s])((sk|whsec)_|(test|live)_[0-9a-z]{16})/.test(text))) {
    throw new UsageError("An argument is a key or secret. Every user of this machine can read arguments; pass the id.");
  }
  const types = Object.entries(table).map(([name, { value, multiple = false }]) => {
    return [name, { type: value === undefined ? "boolean" : "string", multiple }] as const;
  });
  let result;
  try {
    result = parseArgs({ args: [...args], options: Object.fromEntries(types), allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`, { cause: error });
  }
  const values = Object.entries(result.values).map(([name, given]) => [
    name,
    parsed(table[name]!, given, `--${name}`, usage),
  ]);
  return { positionals: result.positionals, values: Object.fromEntries(values) as OptionValues<T> };
}

// Makes texts from outside safe to print. Merchants, receivers and servers choose them, and a terminal obeys the escape
// sequences in them.

/** Control and format characters, such as escape sequences and marks that reverse text; line separators; half characters. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const longestText = 2_048;

/** Replaces what could change how a terminal shows a line. */
export const printable = (line: string): string => line.replaceAll(unsafe, "\u{fffd}");

/** Makes each line of a text printable. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** Makes a text printable, on one line, and truncates a long text. */
export function printableStart(text: string): string {
  return printable(text.length > longestText ? `${text.slice(0, longestText)}…` : text);
}

const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** Returns a value as JSON whose text a terminal shows as it is. Parsed, the JSON gives the same value. */
export const printableJson = (
  value: unknown,
  indent?: number,
  replacer?: (name: string, value: unknown) => unknown,
): string =>
  JSON.stringify(value, replacer, indent).replaceAll(unsafe, (text) => (text === "\n" ? text : escaped(text)));
