// Defines what the subcommands have in common.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { counted } from "../report/words.ts";
import { didYouMean } from "./nearest.ts";

/**
 * The result of a command. The text is printed to stderr if the exit code is 2 (invalid input), otherwise to stdout.
 */
export type CommandResult = { exitCode: 0 | 1 | 2; text: string };

/** Thrown for invalid arguments. */
export class UsageError extends Error {}

/**
 * Describes an error of `parseArgs` in one sentence, and suggests the nearest option for an unknown one.
 * @param options the names of the options without dashes
 */
export function argumentFault(error: unknown, options: readonly string[]): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const [first = message] = message.split(/\. To specify|\. This command/);
  const unknown = code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? /'--?([^']+)'/.exec(message)?.[1] : undefined;
  const known = options.map((name) => `--${name}`);
  return unknown === undefined ? first : `${first}.${didYouMean(`--${unknown}`, known)}`;
}

/**
 * Parses the arguments of a command.
 * @param count the number of arguments that are not options
 * @param noun what these arguments are
 * @throws UsageError
 */
export function parsed<T extends NonNullable<ParseArgsConfig["options"]>>(
  args: string[],
  count: number,
  options: T,
  noun = "file",
) {
  let result;
  try {
    result = parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(argumentFault(error, Object.keys(options)));
  }
  if (result.positionals.length === count) return result;
  throw new UsageError(`Expected ${counted(count, noun)}, received ${result.positionals.length}.`);
}
