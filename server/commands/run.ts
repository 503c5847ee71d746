import { ConfigError, readConfig, type Config } from "../config.ts";
import { ServiceError } from "../domain/errors.ts";
import { StorageError } from "../storage/storage-error.ts";
import { parseCommand, UsageError, type Commands, type Output } from "./command.ts";
import { requireDatabase } from "./context.ts";
import { printable } from "./output.ts";

export interface Printed {
  text: string;
  exitCode: 0 | 1;
}

/** Returns a function that runs a command of a group on the database that DATABASE_URL selects. */
export function commandGroup<Context>(
  group: string,
  commands: Commands<Context>,
  withContext: (config: Config, use: (context: Context) => Promise<Output>) => Promise<Output>,
) {
  return async (argv: readonly string[]): Promise<Printed> => {
    const { command, args, options } = parseCommand(group, commands, argv);
    const config = readConfig(process.env);
    requireDatabase(command, config);
    const { lines, json, found } = await withContext(config, (context) => command.run(context, args, options));
    const text = options.json ? JSON.stringify(json, undefined, 2) : lines.map(printable).join("\n");
    return { text, exitCode: found ? 1 : 0 };
  };
}

/** True for an error whose message tells the caller of a command what to do. */
export const isExpected = (error: unknown): error is Error =>
  [UsageError, ConfigError, StorageError, ServiceError].some((known) => error instanceof known);
