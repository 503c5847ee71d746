// Runs the commands that need no target. `list` and `explain` are in catalogue.ts.
import { KeyError, publicKeyFile, writeKeyPair } from "../certificate/keys.ts";
import { RegistryError } from "../certificate/revocations.ts";
import { compareReports, renderComparison } from "../report/diff.ts";
import { readReport, ReportError } from "../report/read.ts";
import { visible } from "../report/visible.ts";
import { parsed, UsageError, type CommandResult } from "./command.ts";
import { usageOf } from "./flags.ts";
import { didYouMean } from "./nearest.ts";
import { registry } from "./registry.ts";
import { verify } from "./verify.ts";

function keygen(args: string[]): CommandResult {
  const [file = ""] = parsed(args, 1, {}).positionals;
  writeKeyPair(file);
  const text = [
    `Private key: ${file}. Keep it secret, and sign with \`certify --sign ${file}\`.`,
    `Public key: ${publicKeyFile(file)}. Give it to everyone who verifies your certificates.`,
  ];
  return { exitCode: 0, text: `${text.join("\n")}\n` };
}

function diff(args: string[]): CommandResult {
  const [a, b] = parsed(args, 2, {}).positionals.map(readReport);
  const comparison = compareReports(a!, b!);
  return { exitCode: comparison.differences.length === 0 ? 0 : 1, text: renderComparison(a!, b!, comparison) };
}

// The following three modules load all checks and scenarios.
const list = async (args: string[]) => (await import("./catalogue.ts")).list(args);
const explain = async (args: string[]) => (await import("./catalogue.ts")).explain(args);
const rejudge = async (args: string[]) => (await import("./rejudge.ts")).rejudge(args);

const commands = { list, explain, keygen, verify, registry, rejudge, diff };

/** Returns true if `name` is one of these commands. */
export const isSubcommand = (name: string | undefined): name is keyof typeof commands =>
  name !== undefined && Object.hasOwn(commands, name);

/**
 * Describes an unknown command.
 * @param more the names of further commands
 */
export const unknownCommand = (name: string, more: readonly string[] = []) =>
  `There is no command ${JSON.stringify(name)}.${didYouMean(name, [...Object.keys(commands), ...more])}`;

/**
 * Runs a command. The exit code is 0 if it succeeded, the certificate is valid, or the reports are equal. It is 1 if
 * the certificate is invalid or reports differ, and 2 if the input is invalid.
 */
export async function runSubcommand(name: keyof typeof commands, args: string[], now: Date): Promise<CommandResult> {
  try {
    return await commands[name](args, now);
  } catch (error) {
    if (error instanceof UsageError)
      return { exitCode: 2, text: `${visible(error.message)}\nUsage: ${usageOf(name)}\n` };
    if ([KeyError, ReportError, RegistryError].some((known) => error instanceof known))
      return { exitCode: 2, text: `${visible((error as Error).message)}\n` };
    throw error;
  }
}
