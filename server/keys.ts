// `npm run keys`: manages merchants and their API keys. A server may be running on the same database.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readConfig, ConfigError } from "./config.ts";
import { createIds } from "./domain/ids.ts";
import { createKey, createMerchant, revokeKey, type MerchantContext } from "./domain/merchants.ts";
import { createSystemClock } from "./domain/clock.ts";
import { operator } from "./operator.ts";
import { StorageError } from "./storage/storage-error.ts";
import { openStorage } from "./storage/open.ts";
import type { Storage } from "./domain/storage.ts";
import { timestamp } from "./domain/representation.ts";

const USAGE = `Usage: npm run keys -- COMMAND

  merchants               list the merchants
  create-merchant NAME    create a merchant with a first key
  list                    list the keys, showing only their last characters
  create MERCHANT_ID      create a key for a merchant; the key is shown only once
  revoke KEY_ID           revoke a key

DATABASE_URL selects the database. The server may be running.`;

class UsageError extends Error {}

type Command = (context: MerchantContext & { storage: Storage }, ...args: string[]) => Promise<string[]>;

const commands: Record<string, { args: number; run: Command }> = {
  merchants: {
    args: 0,
    run: async ({ storage }) => (await storage.listMerchants()).map(({ id, name }) => `${id}  ${name}`),
  },
  "create-merchant": {
    args: 1,
    run: async (context, name) => {
      if (!name || name.trim() === "" || name.length > 100) throw new UsageError("NAME must have 1 to 100 characters.");
      const merchant = await createMerchant(context, name.trim());
      return [`Merchant ${merchant.id}`, `Key (shown only once): ${await createKey(context, merchant.id)}`];
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
    run: async (context, merchantId) => {
      if (!(await context.storage.findMerchant(merchantId!))) {
        throw new UsageError(`There is no merchant ${merchantId}. Run \`npm run keys -- merchants\` to list them.`);
      }
      return [`Key (shown only once): ${await createKey(context, merchantId!)}`];
    },
  },
  revoke: {
    args: 1,
    run: async (context, keyId) => {
      if (await revokeKey(context, keyId!)) return [`Revoked ${keyId}`];
      throw new UsageError(`There is no key ${keyId}. Run \`npm run keys -- list\` to list them.`);
    },
  },
};

async function main([name = "", ...args]: string[]): Promise<void> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command || args.length !== command.args) throw new UsageError(USAGE);
  const { database } = readConfig(process.env);
  // Only create-merchant may create the database. The other commands expect one.
  if (name !== "create-merchant" && !existsSync(database.path)) {
    throw new UsageError(`There is no database at ${database.path}. Start the server first, or fix DATABASE_URL.`);
  }
  const clock = createSystemClock();
  const storage = await openStorage(database, { clock, server: false });
  try {
    const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: operator("command") };
    const lines = await command.run(context, ...args);
    console.log(lines.length === 0 ? "None." : lines.join("\n"));
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
