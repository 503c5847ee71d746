import { checkedAddress } from "../actions/settings.ts";
import { newSecret } from "../domain/keys.ts";
import { countReplay, deliveriesOfPayment, replayAll, replayDelivery } from "../domain/webhooks.ts";
import { deliveryView, eventView, secretView } from "../http/views.ts";
import { UsageError } from "./command.ts";
import { SEARCH, searchIn } from "./options.ts";
import { commands, listing, requireYes } from "./run.ts";

/** The operations on webhooks that merchants have under `/sandbox`, for the operator of a live service (D41). */
export const webhookCommands = commands({
  "secret MERCHANT": {
    summary: "Show the webhook secret, and previous secrets that still sign.",
    run: async ({ storage, actor }, { merchant }) => secretView(await storage.revealSecrets(merchant.id, actor)),
  },
  "rotate-secret MERCHANT": {
    summary: "Create a new webhook secret. The previous secret signs for another 24 hours.",
    run: async ({ storage, random, actor }, { merchant }) =>
      secretView(await storage.rotateSecret(merchant.id, newSecret(random), actor)),
  },
  "default-webhook MERCHANT [URL] [--none]": {
    summary: "Show, set or (--none) remove the address for webhooks of records without a webhookURL.",
    async run(context, { merchant, url, none }) {
      if (none && url !== undefined) throw new UsageError("Give either a URL or --none.");
      if (!none && url === undefined) return merchant.webhookUrl ?? "None.";
      const address = url && checkedAddress(url, context.config);
      await context.storage.setDefaultWebhook(merchant.id, address, context.actor);
      return url === undefined ? "Removed" : `Set to ${url}`;
    },
  },
  "events MERCHANT [--reference] [--since] [--limit] [--cursor]": {
    summary: "List the events, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      return listing(await storage.listEvents({ merchantId, limit, cursor, ...searchIn(search) }), eventView);
    },
  },
  [`deliveries MERCHANT ${SEARCH} [--limit] [--cursor]` as const]: {
    summary: "List the deliveries with their attempts, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      const query = { merchantId, limit, cursor, ...searchIn(search) };
      const { reference } = query;
      const page =
        reference === undefined
          ? await storage.listDeliveries(query)
          : await deliveriesOfPayment(storage, query, reference);
      return listing(page, deliveryView);
    },
  },
  [`replay MERCHANT [DELIVERY_ID] ${SEARCH} [--pace] [--dry-run] [--yes]` as const]: {
    summary: "Deliver one webhook again, or all that meet the conditions, such as --status failed.",
    async run(context, { merchant, deliveryId, pace, dryRun, yes, ...search }) {
      const { storage, actor } = context;
      const { id: merchantId } = merchant;
      const filter = searchIn(search);
      const isSearch = Object.keys(filter).length > 0;
      if (deliveryId !== undefined) {
        if (isSearch || dryRun || yes) throw new UsageError("Give either a DELIVERY_ID or --status.");
        await replayDelivery(storage, storage.requestReplay, merchantId, deliveryId, actor);
        return `Replay of ${deliveryId} requested`;
      }
      if (!isSearch)
        throw new UsageError("Give a DELIVERY_ID, or --status or other conditions for all that meet them.");
      const { count, hosts } = await countReplay(storage, { merchantId, filter });
      if (dryRun || count === 0) return { count, hosts };
      requireYes({ yes }, `${count} deliveries match.`);
      return `Deliveries replayed: ${await replayAll(storage, { merchantId, filter, pace }, actor)}`;
    },
  },
});
