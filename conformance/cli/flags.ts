// Tables of options. A command's parser, its --help, and the command that repeats a run are all derived from its table.
import { parseArgs } from "node:util";
import { distance } from "fastest-levenshtein";
import { wrapped } from "../report/visible.ts";
import { counted } from "../report/words.ts";
import { CannotRun } from "../results.ts";
import { quoted } from "../target/shell.ts";

export type Option = {
  /** A placeholder for the value in texts, such as "URL"; undefined for a switch. */
  value?: string;
  meaning: string;
  /** The value if the option is not given. */
  initial?: string;
  /** What happens if the option is not given, in words, where `initial` does not say it. */
  otherwise?: string;
  /** What to give, if the option must be given. */
  required?: string;
  /** True if the option may be given more than once. */
  many?: true;
  /** Parses the value, by default as a text. Throws `CannotRun`, a `SyntaxError` or an error of the file system. */
  read?: (value: string) => unknown;
  /**
   * Returns the shell word that gives the value to a command that repeats the run; by default the value itself. `false`
   * if the command needs no such option, because the report has its value or the option does not change the verdicts.
   */
  repeat?: false | ((value: string) => string);
};

export type Options = Readonly<Record<string, Option>>;

type Parsed<O> = O extends { read: (value: string) => infer T } ? T : string;
type Value<O> = O extends { value: string }
  ? O extends { many: true }
    ? Parsed<O>[] | undefined
    : O extends { initial: string } | { required: string }
      ? Parsed<O>
      : Parsed<O> | undefined
  : boolean;

/** The values of the options of a table. */
export type Values<T extends Options> = { -readonly [Name in keyof T]: Value<T[Name]> };

/** Thrown for invalid options, arguments or environment variables. The message has one line for each fault. */
export class OptionsError extends CannotRun {}

/** Returns true for an error of the operating system, such as a file that does not exist or a full disk. */
export const isFileError = (error: unknown): error is Error => error instanceof Error && "syscall" in error;

/**
 * Returns a question that names at most three names that a mistyped word may mean, with a leading space; "" if no name
 * is similar.
 */
export function didYouMean(word: string, known: readonly string[]): string {
  const wanted = word.toLowerCase();
  const most = Math.max(2, Math.floor(wanted.length / 4));
  const similar = known
    .map((name) => ({ name, away: distance(wanted, name) }))
    .filter(({ name, away }) => away <= most || (wanted.length > 3 && name.includes(wanted)))
    .toSorted((a, b) => a.away - b.away)
    .slice(0, 3);
  return similar.length === 0 ? "" : ` Did you mean ${similar.map(({ name }) => name).join(" or ")}?`;
}

/** The exit code of a command, and the text that it prints at its end. */
export type CommandResult = { exitCode: 0 | 1 | 2; text: string };

/** What was given for the options of a table, before it is read. */
type Given = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** @throws OptionsError that suggests the nearest option for an unknown one */
function parse(args: readonly string[], options: Options, allowPositionals: boolean) {
  const config = Object.entries(options).map(([name, { value, many = false }]) => {
    return [name, { type: value === undefined ? "boolean" : "string", multiple: many }] as const;
  });
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: Object.fromEntries(config),
      allowPositionals,
      strict: true,
    });
    return { given: values as Given, positionals };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [fault = message] = message.split(/\. To specify|\. This command/);
    const unknown = code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? /'(--?[^']+)'/.exec(message)?.[1] : undefined;
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new OptionsError(unknown === undefined ? fault : `${fault}.${didYouMean(unknown, known)}`);
  }
}

/**
 * Reads a command line.
 * @param count the number of arguments that are not options
 * @param noun what these arguments are
 * @returns the values, and what is wrong with them. An invalid value is undefined, so the caller must throw the faults
 * @throws OptionsError if an option is unknown or lacks its value, or if the number of arguments is wrong
 */
export function readFlags<T extends Options>(args: readonly string[], options: T, count = 0, noun = "file") {
  const { given, positionals } = parse(args, options, count > 0);
  if (positionals.length !== count)
    throw new OptionsError(`Expected ${counted(count, noun)}, received ${positionals.length}.`);
  const faults: string[] = [];
  function parsed(name: string, { read }: Option, value: string): unknown {
    try {
      return read ? read(value) : value;
    } catch (error) {
      if (!(error instanceof CannotRun || error instanceof SyntaxError || isFileError(error))) throw error;
      faults.push(...error.message.split("\n").map((problem) => `--${name}: ${problem}`));
      return undefined;
    }
  }
  const values = Object.entries<Option>(options).map(([name, option]) => {
    const value = given[name] ?? option.initial;
    if (option.value === undefined) return [name, value === true];
    if (value === undefined && option.required !== undefined) faults.push(`--${name} is missing: ${option.required}`);
    if (Array.isArray(value)) return [name, value.map((each) => parsed(name, option, String(each)))];
    return [name, typeof value === "string" ? parsed(name, option, value) : undefined];
  });
  return { values: Object.fromEntries(values) as Values<T>, given, positionals, faults };
}

/** @throws OptionsError if there are any faults */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new OptionsError(faults.join("\n"));
}

/** Returns the options, as shell words, of a command that repeats a run with the given options. */
export function repeatWords(options: Options, given: Given): string[] {
  return Object.entries(options).flatMap(([name, { initial, repeat = quoted }]) => {
    if (repeat === false) return [];
    return [given[name] ?? []]
      .flat()
      .filter((value) => value !== initial && value !== false)
      .flatMap((value) => (typeof value === "string" ? [`--${name}`, repeat(value)] : [`--${name}`]));
  });
}

/** Returns an option with its placeholder, such as "--base-url URL". */
export const labelOf = (name: string, { value }: Option) => `--${name}${value === undefined ? "" : ` ${value}`}`;
const withoutBackticks = (text: string) => text.replaceAll("`", "");
const defaultOf = ({ initial, otherwise }: Option) =>
  otherwise ?? (initial === undefined ? undefined : `\`${initial}\``);

const labelWidth = 30;
const textWidth = 88;

/** Renders a table of options for --help. */
export function helpOf(options: Options): string {
  const lines = Object.entries(options).flatMap(([name, option]) => {
    const label = `  ${labelOf(name, option)}`;
    const initial = defaultOf(option);
    const text = initial === undefined ? option.meaning : `${option.meaning} (default: ${initial})`;
    const [first = "", ...rest] = wrapped(withoutBackticks(text), textWidth);
    const start = label.length < labelWidth ? [label.padEnd(labelWidth) + first] : [label, indented(first)];
    return [...start, ...rest.map(indented)];
  });
  return lines.join("\n");
}

const indented = (text: string) => " ".repeat(labelWidth) + text;

/** Returns a reader of a value that must be one of these. */
export const oneOf =
  <T extends string>(...allowed: readonly T[]) =>
  (value: string): T => {
    const found = allowed.find((each) => each === value);
    if (found === undefined) throw new CannotRun(`must be ${allowed.join(" or ")}, not ${JSON.stringify(value)}`);
    return found;
  };

/** Returns a reader of a whole number. */
export const whole =
  (least: number, most: number) =>
  (value: string): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    throw new CannotRun(`must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}`);
  };

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration such as "30d", "12h" or "90m". Returns milliseconds. */
export function durationMs(value: string): number {
  const [, count, unit = "d"] = /^(\d+)([mhd])?$/.exec(value) ?? [];
  if (count === undefined) throw new CannotRun(`must look like 30d, 12h or 90m, not ${JSON.stringify(value)}`);
  return Number(count) * units[unit as keyof typeof units];
}

/** Reads a comma-separated list. */
export const names = (value: string): string[] =>
  value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** Reads a URL without user, query or fragment, and returns it without slashes at its end. */
export function plainUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash)
    return value.replace(/\/+$/, "");
  throw new CannotRun("must be an http or https URL without user, query or fragment");
}
