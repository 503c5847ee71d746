import { createKey, createMerchant, revokeKey, type Merchant } from "../domain/merchants.ts";
import { parseLimits, parseTerms } from "../domain/limits.ts";
import { PROGRAM, UsageError } from "./command.ts";
import { LIMITED } from "./options.ts";
import { command, listing, requireYes, type Context } from "./run.ts";
import { actorName, checkedName, personOf } from "../domain/audit.ts";
import { createLink, LINK_MS, linkAddress } from "../domain/sign-in.ts";
import { dashboardRefusal } from "../config.ts";
import { english } from "../texts/index.ts";

/** Merchants and their API keys, payouts that wait for approval (D93), the audit trail, and the way into the dashboard. */
export const keyCommands = {
  merchants: command({
    takes: "[--json]",
    summary: "List the merchants.",
    run: async ({ storage }) =>
      listing({ items: await storage.listMerchants() }, ({ id, name, state = "active", limits, terms, createdAt }) => ({
        id,
        name,
        state,
        limits,
        terms,
        createdAt,
      })),
  }),
  "create-merchant": command({
    takes: "NAME",
    summary: "Create a merchant with a first key. The key is shown only once.",
    creates: true,
    async run(context, { name }) {
      const key = context.ids.apiKey();
      const { id } = await createMerchant(context, name.trim(), key);
      return `Merchant ${id}\nKey (shown only once): ${key}`;
    },
  }),
  "rename-merchant": command({
    takes: "MERCHANT NAME",
    summary: "Rename a merchant. Webhooks that exist keep the old name.",
    async run({ storage, actor }, { merchant, name }) {
      await storage.renameMerchant(merchant.id, checkedName(name), actor);
      return `Renamed ${merchant.id}`;
    },
  }),
  "suspend-merchant": command({
    takes: "MERCHANT",
    summary: "Refuse new payments of a merchant. What exists goes on, with its webhooks, and can be read.",
    run: (context, { merchant }) => setState(context, merchant, "suspended"),
  }),
  "reopen-merchant": command({
    takes: "MERCHANT",
    summary: "Let a suspended merchant create payments again.",
    run: (context, { merchant }) => setState(context, merchant, undefined),
  }),
  "limit-merchant": command({
    takes: `MERCHANT ${LIMITED}`,
    summary: "Set what a merchant's payouts may be at most. Replaces its limits; without options removes them.",
    async run({ storage, actor }, { merchant, ...texts }) {
      const limits = parseLimits(texts);
      await storage.setMerchantLimits(merchant.id, limits, actor);
      return { id: merchant.id, limits: limits ?? "none" };
    },
  }),
  "merchant-terms": command({
    takes: "MERCHANT [--disbursement-fee] [--checkout-fee] [--rate-limit]",
    summary: "Set a merchant's fees and rate limit. Replaces them; without options the server's settings apply.",
    async run({ storage, actor }, { merchant, ...texts }) {
      const terms = parseTerms(texts);
      await storage.setMerchantTerms(merchant.id, terms, actor);
      return { id: merchant.id, terms: terms ?? "as the server's settings say" };
    },
  }),
  "close-merchant": command({
    takes: "MERCHANT [--yes]",
    summary: "Suspend a merchant for good, revoke its keys and sign its people out. Needs --yes.",
    run(context, { merchant, ...confirmed }) {
      requireYes(
        confirmed,
        `This would close ${merchant.name} for good: no new payments, all its keys revoked, its people signed out.`,
      );
      return setState(context, merchant, "closed");
    },
  }),
  list: command({
    takes: "[--json]",
    summary: "List the keys with their names and when they were last used, showing only their last characters.",
    run: async ({ storage }) =>
      listing({ items: await storage.listKeys() }, ({ usedAt: lastUsedAt, ...key }) => ({
        ...key,
        hash: undefined,
        lastUsedAt,
      })),
  }),
  create: command({
    takes: "MERCHANT [--name] [--scopes]",
    summary: "Create a key for a merchant. The key is shown only once, and may do everything unless it has scopes.",
    run: async (context, { merchant, ...choices }) =>
      `Key (shown only once): ${await createKey(context, merchant.id, choices)}`,
  }),
  limit: command({
    takes: `KEY_ID ${LIMITED}`,
    summary: "Set what payouts with a key may be at most. Replaces its limits; without options removes them.",
    async run({ storage, actor }, { keyId, ...texts }) {
      const limits = parseLimits(texts);
      if (await storage.setKeyLimits(keyId, limits, actor)) return { id: keyId, limits: limits ?? "none" };
      throw unknownKey(keyId);
    },
  }),
  revoke: command({
    takes: "KEY_ID",
    summary: "Revoke a key.",
    async run(context, { keyId }) {
      if (await revokeKey(context, keyId)) return `Revoked ${keyId}`;
      throw unknownKey(keyId);
    },
  }),
  audit: command({
    takes: "[MERCHANT] [--limit] [--cursor] [--json]",
    summary: "List who did what and when, newest first, for all merchants or one.",
    run: async ({ storage }, { merchant, limit, cursor }) =>
      listing(await storage.listAudit({ limit, cursor, merchantId: merchant?.id })),
  }),
  approvals: command({
    takes: "[MERCHANT] [--json]",
    summary: "List the payouts that wait for approval, oldest first.",
    async run({ storage }, { merchant }) {
      const items = await storage.listWaiting({ merchantId: merchant?.id, limit: MOST });
      return listing({ items }, ({ merchantId, reference, merchantsReference, customer, amount, currency, due }) => {
        const { phoneNumber } = customer;
        return { merchantId, reference, merchantsReference, phoneNumber, amount, currency, failsAt: due!.at };
      });
    },
  }),
  approve: command({
    takes: "MERCHANT REFERENCE",
    summary: "Approve the payout with the service's reference REFERENCE. It goes its way immediately.",
    run: decide,
  }),
  reject: command({
    takes: "MERCHANT REFERENCE --reason",
    summary: "Reject a payout that waits for approval. It fails with not_approved, and its webhook is sent.",
    run: decide,
  }),
  "dashboard-link": command({
    takes: "[MERCHANT] [--name] [--role]",
    summary: "Print a link that signs one person in to the dashboard: for all merchants, or for one only.",
    async run(context, { merchant, name, role }) {
      const { config, actor } = context;
      if (!config.dashboard) throw new UsageError("DASHBOARD is false, so the server has no dashboard.");
      const refusal = dashboardRefusal(config);
      if (refusal !== undefined) throw new UsageError(refusal);
      const person = { merchantId: merchant?.id, name: name ?? personOf(actorName(actor)), role };
      const link = linkAddress(config.publicUrl, await createLink(context, person, actor));
      const whom = merchant ? "this merchant only" : "all merchants";
      return `${link}\nIt works once, within ${LINK_MS / 60_000} minutes, for ${whom}.`;
    },
  }),
};

const unknownKey = (id: string) => new UsageError(`There is no key ${id}. Run \`${PROGRAM} keys list\` to list them.`);

async function setState({ storage, actor }: Context, { id }: Merchant, state: Merchant["state"]): Promise<string> {
  if (await storage.setMerchantState(id, state, actor)) return `The merchant ${id} is ${state ?? "active"}.`;
  throw new UsageError(`The merchant ${id} is closed for good.`);
}

const MOST = 1_000;

async function decide(
  { storage, actor }: Context,
  { merchant, reference, reason }: { merchant: Merchant; reference: string; reason?: string },
) {
  const result = await storage.decideApproval(merchant.id, reference, actor, reason);
  if (result !== "decided") throw new UsageError(english(`undecided.${result}`));
  return `${reason === undefined ? "Approved" : "Rejected"} ${reference}`;
}
