// The command `npm run keys`: merchants and their keys, beside a running server too.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readConfig, ConfigError } from "./config.ts";
import { createIds } from "./domain/ids.ts";
import { createKey, createMerchant, revokeKey } from "./domain/merchants.ts";
import { systemClock } from "./domain/clock.ts";
import { StorageError } from "./storage/storage-error.ts";
import { openStorage } from "./storage/open.ts";
import { timestamp } from "./http/views.ts";

const USAGE = `Usage: npm run keys -- COMMAND

  merchants               list the merchants
  create-merchant NAME    make a merchant, with a first key
  list                    list the keys, never their text
  create MERCHANT_ID      make a key for a merchant; its text is shown this once
  revoke KEY_ID           refuse a key from now on

The database is the one that DATABASE_URL names; a server may be running on it.`;

class UsageError extends Error {}

type Deps = Parameters<typeof createKey>[0];
type Command = (deps: Deps, ...args: string[]) => Promise<string[]>;

const commands: Record<string, { args: number; run: Command }> = {
  merchants: {
    args: 0,
    run: async ({ storage }) => (await storage.listMerchants()).map(({ id, name }) => `${id}  ${name}`),
  },
  "create-merchant": {
    args: 1,
    run: async (deps, name) => {
      if (!name || name.trim() === "" || name.length > 100) throw new UsageError("NAME must have 1 to 100 characters.");
      const merchant = await createMerchant(deps, name.trim());
      return [`Merchant ${merchant.id}`, `Key (shown this once): ${await createKey(deps, merchant.id)}`];
    },
  },
  list: {
    args: 0,
    run: async ({ storage }) =>
      (await storage.listKeys()).map(({ id, merchantId, hint, createdAt, revokedAt }) => {
        const state = revokedAt === undefined ? "active" : `revoked ${timestamp(revokedAt)}`;
        return `${id}  …${hint}  merchant ${merchantId}  created ${timestamp(createdAt)}  ${state}`;
      }),
  },
  create: {
    args: 1,
    run: async (deps, merchantId) => {
      if (!(await deps.storage.findMerchant(merchantId!))) {
        throw new UsageError(`There is no merchant ${merchantId}; \`npm run keys -- merchants\` lists them.`);
      }
      return [`Key (shown this once): ${await createKey(deps, merchantId!)}`];
    },
  },
  revoke: {
    args: 1,
    run: async (deps, keyId) => {
      if (await revokeKey(deps, keyId!)) return [`Revoked ${keyId}`];
      throw new UsageError(`There is no key ${keyId}; \`npm run keys -- list\` lists them.`);
    },
  },
};

async function main([name = "", ...args]: string[]): Promise<void> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command || args.length !== command.args) throw new UsageError(USAGE);
  const { database } = readConfig(process.env);
  // Nothing but a first merchant can come before the database; anything else looks for one that is not there.
  if (name !== "create-merchant" && !existsSync(database.path)) {
    throw new UsageError(`There is no database at ${database.path}; start the server first, or mend DATABASE_URL.`);
  }
  const storage = await openStorage(database, { server: false });
  try {
    const deps = { storage, clock: systemClock, ids: createIds(randomBytes), random: randomBytes };
    const lines = await command.run(deps, ...args);
    console.log(lines.length === 0 ? "None so far." : lines.join("\n"));
  } finally {
    await storage.close();
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const expected = error instanceof UsageError || error instanceof ConfigError || error instanceof StorageError;
  console.error(expected ? error.message : error);
  process.exitCode = expected ? 2 : 1;
}
