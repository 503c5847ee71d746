import { receiverOf } from "../domain/events.ts";
import { dashboardRefusal } from "../config.ts";
import { actorName, personOf } from "../domain/audit.ts";
import type { Decided } from "../domain/payments.ts";
import { createKey, createMerchant, type Merchant } from "../domain/merchants.ts";
import { createLink, LINK_MS, linkAddress } from "../domain/sign-in.ts";
import { deliveryView, eventView, secretView } from "../domain/representation.ts";
import { english } from "../texts/index.ts";
import { UsageError } from "./command.ts";
import { LIMIT_OPTIONS, SEARCH_OPTIONS, searchOf } from "./options.ts";
import { commands, listing, requireYes } from "./run.ts";

/** The largest number of payouts that are listed without pages. */
const MOST_LISTED = 1_000;

/**
 * Merchants and their API keys, payouts that wait for approval (D93), the audit trail, the way into the dashboard, and
 * the operations on webhooks that merchants have under `/sandbox`, for the operator of a live service (D41).
 */
export const keyCommands = commands({
  merchants: {
    summary: "List the merchants.",
    run: async ({ storage }) =>
      listing({ items: await storage.listMerchants() }, ({ id, name, state = "active", ...more }) => {
        const { limits, terms, webhookUrl, createdAt } = more;
        // Its path may contain a secret.
        return { id, name, state, limits, terms, receiver: webhookUrl && receiverOf(webhookUrl), createdAt };
      }),
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
  "rename-merchant MERCHANT NAME": { action: "merchant.rename" },
  "suspend-merchant MERCHANT": { action: "merchant.suspend" },
  "reopen-merchant MERCHANT": { action: "merchant.reopen" },
  [`limit-merchant MERCHANT ${LIMIT_OPTIONS}` as const]: {
    action: "merchant.limit",
    summary: "Set what a merchant's payouts may be at most. Replaces its limits; without options removes them.",
  },
  "merchant-terms MERCHANT [--disbursement-fee] [--checkout-fee] [--rate-limit]": {
    action: "merchant.terms",
    summary: "Set a merchant's fees and rate limit. Replaces them; without options the server's settings apply.",
  },
  "close-merchant MERCHANT [--yes]": { action: "merchant.close" },
  list: {
    summary: "List the keys with their names and when they were last used, showing only their last characters.",
    run: async ({ storage }) =>
      listing({ items: await storage.listKeys() }, ({ usedAt: lastUsedAt, ...key }) => {
        return { ...key, hash: undefined, lastUsedAt };
      }),
  },
  "create MERCHANT [--name] [--scopes]": {
    summary: "Create a key for a merchant. The key is shown only once, and may do everything unless it has scopes.",
    run: async (context, { merchant, name, scopes }) =>
      `Key (shown only once): ${await createKey(context, merchant.id, { name, scopes })}`,
  },
  [`limit KEY ${LIMIT_OPTIONS}` as const]: {
    action: "key.limit",
    summary: "Set what payouts with a key may be at most. Replaces its limits; without options removes them.",
  },
  "revoke KEY": { action: "key.revoke" },
  "audit [MERCHANT] [--limit] [--cursor]": {
    summary: "List who did what and when, newest first, for all merchants or one.",
    run: async ({ storage }, { merchant, limit, cursor }) =>
      listing(await storage.listAudit({ limit, cursor, merchantId: merchant?.id })),
  },
  "approvals [MERCHANT]": {
    summary: "List the payouts that wait for approval, oldest first.",
    async run({ storage }, { merchant }) {
      const items = await storage.listWaiting({ merchantId: merchant?.id, limit: MOST_LISTED });
      return listing({ items }, ({ merchantId, reference, merchantsReference, customer, amount, currency, due }) => {
        const { phoneNumber } = customer;
        return { merchantId, reference, merchantsReference, phoneNumber, amount, currency, failsAt: due!.at };
      });
    },
  },
  "approve MERCHANT REFERENCE": {
    action: "payment.approve",
    summary: "Approve the payout with the service's reference REFERENCE. It goes its way immediately.",
    sends: payoutIn,
    says: (results, { reference }) => saysDecided(results, `Approved ${reference}`),
  },
  "reject MERCHANT REFERENCE --reason": {
    action: "payment.reject",
    summary: "Reject a payout that waits for approval. It fails with not_approved, and its webhook is sent.",
    sends: payoutIn,
    says: (results, { reference }) => saysDecided(results, `Rejected ${reference}`),
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
  "secret MERCHANT": { action: "secret.reveal", says: secretView },
  "rotate-secret MERCHANT": { action: "secret.rotate", says: secretView },
  "default-webhook MERCHANT URL": {
    action: "default-webhook.set",
    summary: "Set the address for webhooks of records without a webhookURL. The URL none removes it.",
    sends: ({ url }) => ({ url: url === "none" ? "" : url }),
  },
  "events MERCHANT [--reference] [--since] [--limit] [--cursor]": {
    summary: "List the events, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      return listing(await storage.listEvents({ merchantId, limit, cursor, ...searchOf(search) }), eventView);
    },
  },
  [`deliveries MERCHANT ${SEARCH_OPTIONS} [--limit] [--cursor]` as const]: {
    summary: "List the deliveries with their attempts, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      return listing(await storage.listDeliveries({ merchantId, limit, cursor, ...searchOf(search) }), deliveryView);
    },
  },
  [`replay MERCHANT [DELIVERY_ID] ${SEARCH_OPTIONS} [--pace] [--yes]` as const]: {
    summary: "Deliver one webhook again, or all that meet the conditions, such as --status failed.",
    async run({ storage, actor }, { merchant: { id: merchantId }, deliveryId, pace, yes, ...search }) {
      const filter = searchOf(search);
      if ((deliveryId === undefined) === (Object.keys(filter).length === 0))
        throw new UsageError("Give either a DELIVERY_ID, or --status or other conditions for all that meet them.");
      if (deliveryId !== undefined) {
        await storage.requestReplay(merchantId, deliveryId, actor);
        return `Replay of ${deliveryId} requested`;
      }
      const { count, hosts } = await storage.countDeliveries(merchantId, filter);
      if (count === 0) return "No deliveries match.";
      const receivers = hosts.map((each) => `${each.host} (${each.count})`).join(", ");
      requireYes({ yes }, `${count} deliveries match, to ${receivers}.`);
      return `Deliveries replayed: ${await storage.replayAll({ merchantId, filter, pace }, actor)}`;
    },
  },
});

function payoutIn({ merchant, reference, ...more }: { merchant: Merchant; reference: string }) {
  return { ...more, payment: `${merchant.id}/${reference}` };
}

function saysDecided(results: unknown, done: string): string {
  // A text that is no reference chooses no payout.
  const [result = "not-waiting"] = (results as ReadonlyMap<Decided, number>).keys();
  if (result === "decided") return done;
  throw new UsageError(english(`undecided.${result}`));
}
