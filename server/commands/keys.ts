import { createKey, createMerchant, type Merchant } from "../domain/merchants.ts";
import { UsageError } from "./command.ts";
import { LIMITED } from "./options.ts";
import { commands, listing, type Context } from "./run.ts";
import { actorName, checkedReason, personOf } from "../domain/audit.ts";
import { createLink, LINK_MS, linkAddress } from "../domain/sign-in.ts";
import { dashboardRefusal } from "../config.ts";
import { english } from "../texts/index.ts";

/** Merchants and their API keys, payouts that wait for approval (D93), the audit trail, and the way into the dashboard. */
export const keyCommands = commands({
  merchants: {
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
  },
  "create-merchant NAME": {
    summary: "Create a merchant with a first key. The key is shown only once.",
    creates: true,
    async run(context, { name }) {
      const key = context.ids.apiKey();
      const { id } = await createMerchant(context, name.trim(), { name: "First key", text: key });
      return `Merchant ${id}\nKey (shown only once): ${key}`;
    },
  },
  "rename-merchant MERCHANT NAME": {
    action: "merchant.rename",
    summary: "Rename a merchant. Webhooks that exist keep the old name.",
  },
  "suspend-merchant MERCHANT": {
    action: "merchant.suspend",
    summary: "Refuse new payments of a merchant. What exists goes on, with its webhooks, and can be read.",
  },
  "reopen-merchant MERCHANT": { action: "merchant.reopen", summary: "Let a suspended merchant create payments again." },
  [`limit-merchant MERCHANT ${LIMITED}` as const]: {
    action: "merchant.limit",
    summary: "Set what a merchant's payouts may be at most. Replaces its limits; without options removes them.",
  },
  "merchant-terms MERCHANT [--disbursement-fee] [--checkout-fee] [--rate-limit]": {
    action: "merchant.terms",
    summary: "Set a merchant's fees and rate limit. Replaces them; without options the server's settings apply.",
  },
  "close-merchant MERCHANT [--yes]": {
    action: "merchant.close",
    summary: "Suspend a merchant for good, revoke its keys and sign its people out. Needs --yes.",
    would: ({ name }) =>
      `This would close ${name} for good: no new payments, all its keys revoked, its people signed out.`,
  },
  list: {
    summary: "List the keys with their names and when they were last used, showing only their last characters.",
    run: async ({ storage }) =>
      listing({ items: await storage.listKeys() }, ({ usedAt: lastUsedAt, ...key }) => ({
        ...key,
        hash: undefined,
        lastUsedAt,
      })),
  },
  "create MERCHANT [--name] [--scopes]": {
    summary: "Create a key for a merchant. The key is shown only once, and may do everything unless it has scopes.",
    run: async (context, { merchant, name, scopes }) =>
      `Key (shown only once): ${await createKey(context, merchant.id, { name, scopes })}`,
  },
  [`limit KEY_ID ${LIMITED}` as const]: {
    action: "key.limit",
    summary: "Set what payouts with a key may be at most. Replaces its limits; without options removes them.",
    sends: keyIn,
  },
  "revoke KEY_ID": { action: "key.revoke", summary: "Revoke a key.", sends: keyIn },
  "audit [MERCHANT] [--limit] [--cursor]": {
    summary: "List who did what and when, newest first, for all merchants or one.",
    run: async ({ storage }, { merchant, limit, cursor }) =>
      listing(await storage.listAudit({ limit, cursor, merchantId: merchant?.id })),
  },
  "approvals [MERCHANT]": {
    summary: "List the payouts that wait for approval, oldest first.",
    async run({ storage }, { merchant }) {
      const items = await storage.listWaiting({ merchantId: merchant?.id, limit: MOST });
      return listing({ items }, ({ merchantId, reference, merchantsReference, customer, amount, currency, due }) => {
        const { phoneNumber } = customer;
        return { merchantId, reference, merchantsReference, phoneNumber, amount, currency, failsAt: due!.at };
      });
    },
  },
  "approve MERCHANT REFERENCE": {
    summary: "Approve the payout with the service's reference REFERENCE. It goes its way immediately.",
    run: decide,
  },
  "reject MERCHANT REFERENCE --reason": {
    summary: "Reject a payout that waits for approval. It fails with not_approved, and its webhook is sent.",
    run: decide,
  },
  "dashboard-link [MERCHANT] [--name] [--role]": {
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
  },
});

function keyIn({ keyId: key, ...limits }: { keyId: string }) {
  return { key, ...limits };
}

const MOST = 1_000;

async function decide(
  { storage, actor }: Context,
  { merchant, reference, reason }: { merchant: Merchant; reference: string; reason?: string },
) {
  const result = await storage.decideApproval(
    merchant.id,
    reference,
    actor,
    reason === undefined ? undefined : checkedReason(reason),
  );
  if (result !== "decided") throw new UsageError(english(`undecided.${result}`));
  return `${reason === undefined ? "Approved" : "Rejected"} ${reference}`;
}
