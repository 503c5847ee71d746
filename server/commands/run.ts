import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { ConfigError, readConfig } from "../config.ts";
import { createSystemClock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { createIds } from "../domain/ids.ts";
import { createWebhooks } from "../domain/webhooks.ts";
import { operator } from "../operator.ts";
import { openStorage } from "../storage/open.ts";
import { StorageError } from "../storage/storage-error.ts";
import { parseCommand, UsageError, type Commands } from "./command.ts";
import { printable } from "./output.ts";

/**
 * Runs a command on the database that DATABASE_URL selects, also while a server uses it.
 * @returns what to print
 */
export async function runCommand(group: string, commands: Commands, argv: readonly string[]): Promise<string> {
  const { command, args, options } = parseCommand(group, commands, argv);
  const config = readConfig(process.env);
  const { database } = config;
  if (!command.creates && database.kind === "sqlite" && !existsSync(database.path)) {
    throw new UsageError(`There is no database at ${database.path}. Start the server first, or fix DATABASE_URL.`);
  }
  const clock = createSystemClock();
  const storage = await openStorage(database, { clock, server: false });
  try {
    const webhooks = createWebhooks({ storage, clock, random: randomBytes, attempt: storage.requestReplay });
    const ids = createIds(randomBytes);
    const actor = operator("command");
    const context = { config, storage, webhooks, clock, ids, random: randomBytes, actor };
    const { lines, json } = await command.run(context, args, options);
    return options.json ? JSON.stringify(json, undefined, 2) : lines.map(printable).join("\n");
  } finally {
    await storage.close();
  }
}

/** True for an error whose message tells the caller of a command what to do. */
export const isExpected = (error: unknown): error is Error =>
  [UsageError, ConfigError, StorageError, ServiceError].some((known) => error instanceof known);
