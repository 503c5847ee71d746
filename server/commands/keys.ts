import { createKey, createMerchant, revokeKey } from "../domain/merchants.ts";
import { timestamp } from "../domain/representation.ts";
import type { ApiKey, Merchant } from "../domain/types.ts";
import { PROGRAM, UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./context.ts";
import { listing } from "./output.ts";

/** Merchants and their API keys. */
export const keyCommands: Commands<CommandContext> = {
  merchants: {
    args: [],
    options: ["json"],
    summary: "List the merchants.",
    run: async ({ storage }) =>
      listing({ items: await storage.listMerchants() }, merchantView, ({ id, name }) => [`${id}  ${name}`]),
  },
  "create-merchant": {
    args: ["NAME"],
    options: [],
    summary: "Create a merchant with a first key. The key is shown only once.",
    creates: true,
    async run(context, [name = ""]) {
      if (name.trim() === "" || name.length > 100) throw new UsageError("NAME must have 1 to 100 characters.");
      const { id } = await createMerchant(context, name.trim());
      return { lines: [`Merchant ${id}`, `Key (shown only once): ${await createKey(context, id)}`] };
    },
  },
  list: {
    args: [],
    options: ["json"],
    summary: "List the keys, showing only their last characters.",
    run: async ({ storage }) =>
      listing({ items: await storage.listKeys() }, keyView, ({ id, hint, merchantId, createdAt, revokedAt }) => [
        `${id}  …${hint}  merchant ${merchantId}  created ${createdAt}  ${revokedAt ? `revoked ${revokedAt}` : "active"}`,
      ]),
  },
  create: {
    args: ["MERCHANT"],
    options: [],
    summary: "Create a key for a merchant. The key is shown only once.",
    async run(context, [merchantId]) {
      const { id } = await merchantOf(context, merchantId!);
      return { lines: [`Key (shown only once): ${await createKey(context, id)}`] };
    },
  },
  revoke: {
    args: ["KEY_ID"],
    options: [],
    summary: "Revoke a key.",
    async run(context, [keyId]) {
      if (await revokeKey(context, keyId!)) return { lines: [`Revoked ${keyId}`] };
      throw new UsageError(`There is no key ${keyId}. Run \`${PROGRAM} keys list\` to list them.`);
    },
  },
};

const merchantView = ({ id, name, createdAt }: Merchant) => ({ id, name, createdAt: timestamp(createdAt) });

const keyView = ({ id, merchantId, hint, createdAt, revokedAt }: ApiKey) => ({
  id,
  merchantId,
  hint,
  createdAt: timestamp(createdAt),
  ...(revokedAt === undefined ? {} : { revokedAt: timestamp(revokedAt) }),
});
