import { createKey, createMerchant, renameMerchant, revokeKey, type Merchant } from "../domain/merchants.ts";
import { limitTexts, type Limits } from "../domain/limits.ts";
import { termTexts, type Terms } from "../domain/terms.ts";
import { timestamp } from "../domain/representation.ts";
import type { ApiKey } from "../domain/keys.ts";
import { PROGRAM, UsageError, type Commands, type Output } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { listing } from "./listing.ts";
import { LIMIT_OPTIONS, limitsIn, termsIn } from "./options.ts";

/** Merchants and their API keys. */
export const keyCommands: Commands<CommandContext> = {
  merchants: {
    args: [],
    options: ["json"],
    summary: "List the merchants.",
    run: async ({ storage }) =>
      listing({ items: await storage.listMerchants() }, merchantView, ({ id, name, state, limits, terms }) => [
        `${id}  ${name}${state === "active" ? "" : `  ${state}`}${limits ? `  ${limitsText(limits)}` : ""}${terms ? `  ${termsText(terms)}` : ""}`,
      ]),
  },
  "create-merchant": {
    args: ["NAME"],
    options: [],
    summary: "Create a merchant with a first key. The key is shown only once.",
    creates: true,
    async run(context, [name = ""]) {
      if (name.trim() === "" || name.length > 100) throw new UsageError("NAME must have 1 to 100 characters.");
      const key = context.ids.apiKey();
      const { id } = await createMerchant(context, name.trim(), key);
      return { lines: [`Merchant ${id}`, `Key (shown only once): ${key}`] };
    },
  },
  "rename-merchant": {
    args: ["MERCHANT", "NAME"],
    options: [],
    summary: "Rename a merchant. Webhooks that exist keep the old name.",
    async run(context, [merchantId, name = ""]) {
      await renameMerchant(context, await merchantOf(context, merchantId!), name);
      return { lines: [`Renamed ${merchantId}`] };
    },
  },
  "suspend-merchant": {
    args: ["MERCHANT"],
    options: [],
    summary: "Refuse new payments of a merchant. What exists goes on, with its webhooks, and can be read.",
    run: (context, [merchantId]) => setState(context, merchantId!, "suspended"),
  },
  "reopen-merchant": {
    args: ["MERCHANT"],
    options: [],
    summary: "Let a suspended merchant create payments again.",
    run: (context, [merchantId]) => setState(context, merchantId!, undefined),
  },
  "limit-merchant": {
    args: ["MERCHANT"],
    options: LIMIT_OPTIONS,
    summary: "Set what a merchant's payouts may be at most. Replaces its limits; without options removes them.",
    async run(context, [merchantId], options) {
      const [{ id }, limits] = [await merchantOf(context, merchantId!), limitsIn(options)];
      await context.storage.setMerchantLimits(id, limits, context.actor);
      return { lines: [`${id}  ${limitsText(limits)}`] };
    },
  },
  "merchant-terms": {
    args: ["MERCHANT"],
    options: ["disbursement-fee", "checkout-fee", "rate-limit"],
    summary: "Set a merchant's fees and rate limit. Replaces them; without options the server's settings apply.",
    async run(context, [merchantId], options) {
      const [{ id }, terms] = [await merchantOf(context, merchantId!), termsIn(options)];
      await context.storage.setMerchantTerms(id, terms, context.actor);
      return { lines: [`${id}  ${termsText(terms)}`] };
    },
  },
  "close-merchant": {
    args: ["MERCHANT"],
    options: ["yes"],
    summary: "Suspend a merchant for good, revoke its keys and sign its people out. Needs --yes.",
    async run(context, [merchantId], { yes }) {
      if (yes) return setState(context, merchantId!, "closed");
      const { name } = await merchantOf(context, merchantId!);
      throw new UsageError(
        `This would close ${name} for good: no new payments, all its keys revoked, its people signed out. Add --yes.`,
      );
    },
  },
  list: {
    args: [],
    options: ["json"],
    summary: "List the keys with their names and when they were last used, showing only their last characters.",
    run: async ({ storage }) => listing({ items: await storage.listKeys() }, keyView, keyLines),
  },
  create: {
    args: ["MERCHANT"],
    options: ["name", "scopes"],
    summary: "Create a key for a merchant. The key is shown only once, and may do everything unless it has scopes.",
    async run(context, [merchantId], { name, scopes }) {
      const { id } = await merchantOf(context, merchantId!);
      const key = await createKey(context, id, { ...(name !== undefined && { name }), ...(scopes && { scopes }) });
      return { lines: [`Key (shown only once): ${key}`] };
    },
  },
  limit: {
    args: ["KEY_ID"],
    options: LIMIT_OPTIONS,
    summary: "Set what payouts with a key may be at most. Replaces its limits; without options removes them.",
    async run({ storage, actor }, [keyId], options) {
      const limits = limitsIn(options);
      if (await storage.setKeyLimits(keyId!, limits, actor)) return { lines: [`${keyId}  ${limitsText(limits)}`] };
      throw unknownKey(keyId!);
    },
  },
  revoke: {
    args: ["KEY_ID"],
    options: [],
    summary: "Revoke a key.",
    async run(context, [keyId]) {
      if (await revokeKey(context, keyId!)) return { lines: [`Revoked ${keyId}`] };
      throw unknownKey(keyId!);
    },
  },
};

const unknownKey = (id: string) => new UsageError(`There is no key ${id}. Run \`${PROGRAM} keys list\` to list them.`);

const termsText = (terms: Terms | undefined): string => {
  const texts = Object.entries(termTexts(terms)).map(([name, text]) => `${name} ${text}`);
  return texts.length === 0 ? "fees and rate limit as the server's settings say" : texts.join("  ");
};

const limitsText = (limits: Limits | undefined): string => {
  const texts = Object.entries(limitTexts(limits)).map(([name, text]) => `${name} ${text}`);
  return texts.length === 0 ? "no limits" : `limits ${texts.join("  ")}`;
};

async function setState(context: CommandContext, merchantId: string, state: Merchant["state"]): Promise<Output> {
  const { id } = await merchantOf(context, merchantId);
  if (await context.storage.setMerchantState(id, state, context.actor)) {
    return { lines: [`The merchant ${id} is ${state ?? "active"}.`] };
  }
  throw new UsageError(`The merchant ${id} is closed for good.`);
}

const merchantView = ({ id, name, state, limits, terms, createdAt }: Merchant) => ({
  id,
  name,
  state: state ?? "active",
  ...(limits && { limits }),
  ...(terms && { terms }),
  createdAt: timestamp(createdAt),
});

const keyView = ({ id, merchantId, hint, name, scopes, limits, createdAt, usedAt, revokedAt }: ApiKey) => ({
  id,
  merchantId,
  hint,
  ...(name === undefined ? {} : { name }),
  ...(scopes && { scopes }),
  ...(limits && { limits }),
  createdAt: timestamp(createdAt),
  ...(usedAt === undefined ? {} : { lastUsedAt: timestamp(usedAt) }),
  ...(revokedAt === undefined ? {} : { revokedAt: timestamp(revokedAt) }),
});

function keyLines(view: ReturnType<typeof keyView>) {
  const { id, merchantId, hint, name, scopes, limits, createdAt, lastUsedAt, revokedAt } = view;
  const key = `${id}  …${hint}  merchant ${merchantId}  ${name ?? "no name"}  may ${scopes ? scopes.join(", ") : "do everything"}${limits ? `  ${limitsText(limits)}` : ""}`;
  const used = lastUsedAt === undefined ? "never used" : `last used ${lastUsedAt}`;
  return [`${key}  created ${createdAt}  ${used}  ${revokedAt === undefined ? "active" : `revoked ${revokedAt}`}`];
}
