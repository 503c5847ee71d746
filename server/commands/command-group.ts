import { readConfig, type Config } from "../config.ts";
import { v7 } from "uuid";
import { describeChanges, noteChanges, truthful, type Change } from "../domain/changes.ts";
import { ServiceError } from "../domain/errors.ts";
import { requireNoOther } from "../storage/mode.ts";
import { readMode } from "../storage/open.ts";
import {
  FailedAfterChange,
  parseCommand,
  PROGRAM,
  usageOf,
  type Commands,
  type Output,
  type Printer,
} from "./command.ts";
import { requireDatabase } from "./command-context.ts";
import { printable, printableJson } from "./printable.ts";

/** Returns a group of commands that run on the database that DATABASE_URL selects. */
export function commandGroup<Context>(
  group: string,
  commands: Commands<Context>,
  withContext: (config: Config, use: (context: Context) => Promise<Output>, env: NodeJS.ProcessEnv) => Promise<Output>,
) {
  /** Runs a command and prints its result. Resolves with the exit code. */
  async function run(argv: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<0 | 1> {
    const { command, args, options: given } = parseCommand(group, commands, argv);
    const options = command.options.includes("id") ? { id: v7(), ...given } : given;
    const asked = readConfig(env);
    requireDatabase(command, asked);
    const opensNothing = command.onlyAdvises && asked.database.kind === "postgres";
    const config = opensNothing ? asked : await inModeOfDatabase(asked, env);
    const changes: Change[] = [];
    const work = () => withContext(config, (context) => command.run(context, args, options), env);
    const { lines, json, found } = await noteChanges(changes, work).catch((error: unknown) => {
      throw withChanges(error, changes, options.id);
    });
    printer.log(options.json ? printableJson(json, 2) : lines.map(printable).join("\n"));
    return found ? 1 : 0;
  }
  return { run, usage: ([name]: readonly string[]) => usageOf(group, commands, name), names: Object.keys(commands) };
}

/** Returns the error of a command as its caller must see it. @param id with which the command can be repeated */
function withChanges(error: unknown, changes: readonly Change[], id: string | undefined): unknown {
  const repeat = id === undefined ? "" : ` To repeat the command, add --id ${id}: it then takes effect once.`;
  const see = `See \`${PROGRAM} keys audit\` before you repeat it.${repeat}`;
  if (changes.length > 0)
    return new FailedAfterChange(`${(error as Error).message} ${describeChanges(changes)} ${see}`, { cause: error });
  return error instanceof ServiceError ? truthful(error, changes, see) : error;
}

/**
 * Returns the configuration in the mode of the database, if it has one.
 * @throws StorageError if SANDBOX asks for the other mode
 */
async function inModeOfDatabase(asked: Config, env: NodeJS.ProcessEnv): Promise<Config> {
  const found = await readMode(asked.database);
  requireNoOther(found, asked.mode);
  const { mode } = found;
  return mode === undefined ? asked : readConfig({ ...env, SANDBOX: String(mode === "sandbox") });
}
