import { parseArgs } from "node:util";
import type { Merchant } from "../domain/merchants.ts";
import { OPTIONS } from "./options.ts";

/** An option of the command line. Only an option with a `value` takes one. */
export interface Option {
  value?: string;
  /** True if the option may be repeated. Its values form a list. */
  multiple?: boolean;
  meaning: string;
  /** Returns undefined if the text is not what `meaning` says. */
  parse?(text: string): unknown;
  /** The value if none is given. */
  otherwise?(): unknown;
}
type ValueOf<O> = O extends { multiple: true }
  ? string[]
  : O extends { parse(text: string): infer Value }
    ? Exclude<Value, undefined>
    : O extends { value: string }
      ? string
      : true;

/** A command was called in a wrong way. The message says what to do. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A command failed after it had recorded something, or when it may have. The message says what. */
export class FailedAfterChange extends Error {
  override name = "FailedAfterChange";
}

/** The names of errors whose message tells the person who called a command, or started a server, what to do. */
const EXPECTED = new Set([
  "ListenError",
  "RailsError",
  "UsageError",
  "FailedAfterChange",
  "ConfigError",
  "StorageError",
  "ServiceError",
  "Refused",
  "RemoteError",
]);
export const isExpected = (error: unknown): error is Error => error instanceof Error && EXPECTED.has(error.name);

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
type OptionOf<Word> = Word extends `[${infer Inner}]`
  ? OptionOf<Inner>
  : Word extends `--${infer Name}`
    ? Name extends keyof typeof OPTIONS
      ? (typeof OPTIONS)[Name]
      : never
    : Word extends "MERCHANT"
      ? { parse(): Merchant }
      : { value: string };
type Optional<Word> = Word extends `[${string}]`
  ? OptionOf<Word> extends { otherwise(): unknown }
    ? never
    : Word
  : never;
/** What a command gets, from how it is called: `MERCHANT [--yes]` becomes `{ merchant, yes?, json? }`. */
export type Input<Takes extends string> = {
  readonly [Word in Exclude<Words<Takes>, "" | Optional<Words<Takes>>> as NameOf<Word>]: ValueOf<OptionOf<Word>>;
} & { readonly [Word in Optional<Words<Takes> | "[--json]"> as NameOf<Word>]?: ValueOf<OptionOf<Word>> };

/** How a command is called, and what its help says. */
export interface Syntax {
  /**
   * The arguments, then the options, such as `MERCHANT [URL] --reason [--id]`. What is in brackets is optional. Every
   * command takes `--json`, too.
   */
  takes: string;
  summary: string;
}
type SyntaxTable = Readonly<Record<string, Syntax>>;

/** How to call the program, in the repository and wherever the package is installed. */
export const PROGRAM = "npx --no -- disbursement-checkout";

const flag = (name: string, { value }: Option): string => `--${name}${value === undefined ? "" : ` ${value}`}`;

function wordsOf({ takes }: Syntax) {
  const all: Readonly<Record<string, Option>> = OPTIONS;
  return [...takes.split(" "), "[--json]"].filter(Boolean).map((word) => {
    const bare = word.replaceAll(/[[\]]/g, "");
    const isOption = bare.startsWith("--");
    const name = isOption ? bare.slice(2) : bare;
    const key = (isOption ? name : name.toLowerCase()).replace(/[-_](.)/g, (_, letter: string) => letter.toUpperCase());
    const option: Option = isOption ? all[name]! : { value: name, meaning: "" };
    const text = isOption ? flag(name, option) : name;
    return { name, key, isOption, option, isOptional: word !== bare, text: word === bare ? text : `[${text}]` };
  });
}

/** `deliveries MERCHANT [--status STATUS] …`, without `--json`, which every command takes. */
const synopsis = (name: string, syntax: Syntax): string =>
  [name, ...wordsOf(syntax).map(({ text }) => text)].slice(0, -1).join(" ");

const usageLine = (group: string, rest: string) => ["Usage:", PROGRAM, group, rest].filter(Boolean).join(" ");

/** What `--help` prints after a group, or after one of its commands. @param group empty for a command without a group */
export function usageOf(group: string, commands: SyntaxTable, one = ""): string {
  const command = Object.hasOwn(commands, one) ? commands[one] : undefined;
  const words = (command ? [command] : Object.values(commands)).flatMap(wordsOf).filter(({ isOption }) => isOption);
  const meanings = new Map(words.map(({ name, option }) => [flag(name, option), option.meaning]));
  const width = Math.max(...[...meanings.keys()].map((text) => text.length));
  const options = [...meanings].map(([text, meaning]) => `  ${text.padEnd(width)}  ${meaning}`).join("\n");
  const entries = Object.entries(commands).map(([name, each]) => `  ${synopsis(name, each)}\n      ${each.summary}`);
  const parts = command
    ? [usageLine(group, synopsis(one, command)), command.summary, options]
    : [usageLine(group, "COMMAND"), entries.join("\n"), options];
  return parts.filter((part) => part !== "").join("\n\n");
}

/**
 * Parses the arguments of a command.
 * @throws UsageError if they do not fit the command, or are secret
 */
export function parseCommand<C extends Syntax>(
  group: string,
  commands: Readonly<Record<string, C>>,
  [name = "", ...args]: readonly string[],
) {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new UsageError(usageOf(group, commands));
  refuseSecrets(args);
  try {
    return { command, input: inputOf(wordsOf(command), args) };
  } catch (error) {
    const problem = (error as Error).message;
    throw new UsageError([problem, usageLine(group, synopsis(name, command))].filter(Boolean).join("\n"));
  }
}

/** @throws Error that says what is wrong, with no text for a wrong number of arguments */
function inputOf(words: ReturnType<typeof wordsOf>, args: string[]): Record<string, unknown> {
  const [options, positions] = [words.filter(({ isOption }) => isOption), words.filter(({ isOption }) => !isOption)];
  const types = options.map(({ name, option: { value, multiple = false } }) => {
    return [name, { type: value === undefined ? "boolean" : "string", multiple }] as const;
  });
  const { positionals, values } = parseArgs({ args, options: Object.fromEntries(types), allowPositionals: true });
  const required = positions.filter(({ isOptional }) => !isOptional);
  if (positionals.length < required.length || positionals.length > positions.length) throw new Error("");
  const given = { ...values, ...Object.fromEntries(positionals.map((text, at) => [positions[at]!.name, text])) };
  const input = words.flatMap(({ name, key, text, isOptional, isOption, option: { parse, otherwise, meaning } }) => {
    const typed = given[name];
    if (typed === undefined && isOption && !isOptional) throw new Error(`Give ${text}: ${meaning}.`);
    if (typed === undefined) return otherwise ? [[key, otherwise()]] : [];
    const known = parse ? parse(typed as string) : typed;
    if (known === undefined) throw new Error(`--${name} is not valid: ${meaning}.`);
    return [[key, known]];
  });
  return Object.fromEntries(input) as Record<string, unknown>;
}

function refuseSecrets(args: readonly string[]): void {
  const has = (pattern: RegExp) => args.some((text) => pattern.test(text));
  if (has(/postgres(ql)?:\/\//i))
    throw new UsageError(
      "An argument is the URL of a database. Every user of this machine can read arguments, also a password in them; " +
        "set DATABASE_URL, or for the destination of a copy DATABASE_URL_TO.",
    );
  if (has(/(^|[=\s])((sk|whsec)_|(test|live)_[0-9a-z]{16})/))
    throw new UsageError("An argument is a key or secret. Every user of this machine can read arguments; pass the id.");
}

// Makes texts from outside safe to print. Merchants, receivers and servers choose them, and a terminal obeys the escape
// sequences in them.

/** Control and format characters, such as escape sequences and marks that reverse text; line separators; half characters. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Replaces what could change how a terminal shows a line. */
export const printable = (line: string): string => line.replaceAll(unsafe, "\u{fffd}");

/** Makes each line of a text printable. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** Returns a value as JSON whose text a terminal shows as it is. Parsed, the JSON gives the same value. */
export const printableJson = (
  value: unknown,
  indent?: number,
  replacer?: (name: string, value: unknown) => unknown,
): string =>
  JSON.stringify(value, replacer, indent).replaceAll(unsafe, (text) => (text === "\n" ? text : escaped(text)));
