import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readCopyDestination, type Config } from "../config.ts";
import { createSystemClock, type Clock } from "../domain/clock.ts";
import { createIds } from "../domain/ids.ts";
import type { MerchantContext, Merchant } from "../domain/merchants.ts";
import type { Storage } from "../domain/storage.ts";
import type { AskedMode } from "../domain/mode.ts";
import { createWebhooks, type Webhooks } from "../domain/webhooks.ts";
import { operator } from "../operator.ts";
import { openStorage } from "../storage/open.ts";
import { PROGRAM, UsageError, type Command } from "./command.ts";

/** The context of commands that work on an open storage. */
export interface CommandContext extends MerchantContext {
  config: Config;
  storage: Storage;
  webhooks: Webhooks;
}

/** The context of commands about the database as a whole. They open it themselves, and may do so without migrating it. */
export interface DatabaseContext {
  database: Config["database"];
  /** The mode that SANDBOX asks for. The database has no other mode. */
  mode: AskedMode;
  /** The rails of the environment, if it has rails. */
  rails: Config["rails"];
  clock: Clock;
  /** Runs `use` on the open storage, which may be that of a running server. */
  withStorage(use: (storage: Storage) => Promise<void>): Promise<void>;
  /** Returns the URL of the database to copy into. @throws ConfigError if it is not set or invalid */
  destination(): string;
}

/** Runs a command on the open storage, which may be that of a running server. */
export async function withStorage<T>(config: Config, use: (context: CommandContext) => Promise<T>): Promise<T> {
  const clock = createSystemClock();
  const storage = await openStorage(config.database, { clock, server: false, secretKeys: config.secretKeys });
  try {
    const webhooks = createWebhooks({ storage, clock, random: randomBytes, attempt: storage.requestReplay });
    const ids = createIds(randomBytes, config.mode);
    return await use({ config, storage, webhooks, clock, ids, random: randomBytes, actor: operator("command") });
  } finally {
    // What the command did is committed. An error now must not replace its output, such as a new key.
    await storage.close().catch(() => undefined);
  }
}

export async function withDatabase<T>(
  config: Config,
  use: (context: DatabaseContext) => Promise<T>,
  env: NodeJS.ProcessEnv,
): Promise<T> {
  return use({
    database: config.database,
    mode: config.mode,
    rails: config.rails,
    clock: createSystemClock(),
    withStorage: (work) => withStorage(config, ({ storage }) => work(storage)),
    destination: () => readCopyDestination(env),
  });
}

/** @throws UsageError if the command expects a database and there is none */
export function requireDatabase({ creates }: Pick<Command<never>, "creates">, { database }: Config): void {
  if (creates || database.kind !== "sqlite" || existsSync(database.path)) return;
  throw new UsageError(`There is no database at ${database.path}. Start the server first, or fix DATABASE_URL.`);
}

/** @throws UsageError if there is no such merchant */
export async function merchantOf({ storage }: CommandContext, id: string): Promise<Merchant> {
  const merchant = await storage.findMerchant(id);
  if (!merchant) throw new UsageError(`There is no merchant ${id}. Run \`${PROGRAM} keys merchants\` to list them.`);
  return merchant;
}
