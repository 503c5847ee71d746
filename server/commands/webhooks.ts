import { startReplay, deliveriesOfPayment, type DeliveryCount } from "../domain/webhooks.ts";
import { timestamp } from "../domain/representation.ts";
import type { WebhookSecrets } from "../domain/keys.ts";
import { deliveryView, eventView, secretView } from "../http/views.ts";
import { parseTarget, Refusal } from "../webhooks/guard.ts";
import { UsageError } from "./command.ts";
import { SEARCH, searchIn } from "./options.ts";
import { command, listing, requireYes, type Context, type Output } from "./run.ts";

const LISTED = 50;

/** The operations on webhooks that merchants have under `/sandbox`, for the operator of a live service (D41). */
export const webhookCommands = {
  secret: command({
    takes: "MERCHANT [--json]",
    summary: "Show the webhook secret, and previous secrets that still sign.",
    run: async ({ webhooks, actor }, { merchant }) => secretOutput(await webhooks.revealSecrets(merchant, actor)),
  }),
  "rotate-secret": command({
    takes: "MERCHANT [--json]",
    summary: "Create a new webhook secret. The previous secret signs for another 24 hours.",
    run: async ({ webhooks, actor }, { merchant }) => secretOutput(await webhooks.rotateSecret(merchant, actor)),
  }),
  "default-webhook": command({
    takes: "MERCHANT [URL] [--none]",
    summary: "Show, set or (--none) remove the address for webhooks of records without a webhookURL.",
    async run(context, { merchant, url, none }) {
      if (none && url !== undefined) throw new UsageError("Give either a URL or --none.");
      if (!none && url === undefined) return merchant.webhookUrl ?? "None.";
      if (url !== undefined) requireAllowed(url, context);
      await context.storage.setDefaultWebhook(merchant.id, url, context.actor);
      return url === undefined ? "Removed" : `Set to ${url}`;
    },
  }),
  events: command({
    takes: "MERCHANT [--reference] [--since] [--limit] [--cursor] [--json]",
    summary: "List the events, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      const { items, ...page } = await storage.listEvents({ merchantId, limit, cursor, ...searchIn(search) });
      return listing({ items: items.map(eventView), ...page }, ({ id, createdAt, reference, body }) => {
        return `${id}  ${createdAt}  ${body.event}  ${reference}`;
      });
    },
  }),
  deliveries: command({
    takes: `MERCHANT ${SEARCH} [--limit] [--cursor] [--json]`,
    summary: "List the deliveries with their attempts, newest first.",
    async run({ storage }, { merchant: { id: merchantId }, limit, cursor, ...search }) {
      const query = { merchantId, limit, cursor, ...searchIn(search) };
      const { reference } = query;
      const { items, ...page } =
        reference === undefined
          ? await storage.listDeliveries(query)
          : await deliveriesOfPayment(storage, query, reference);
      return listing({ items: items.map(deliveryView), ...page }, deliveryLines);
    },
  }),
  replay: command({
    takes: `MERCHANT [DELIVERY_ID] ${SEARCH} [--pace] [--dry-run] [--yes]`,
    summary: "Deliver one webhook again, or all that meet the conditions, such as --status failed.",
    async run(context, { merchant, deliveryId, pace, dryRun, yes, ...search }) {
      const { storage, webhooks, actor } = context;
      const { id: merchantId } = merchant;
      const filter = searchIn(search);
      const isSearch = Object.keys(filter).length > 0;
      if (deliveryId !== undefined) {
        if (isSearch || dryRun || yes) throw new UsageError("Give either a DELIVERY_ID or --status.");
        await webhooks.replay(merchant, deliveryId, actor);
        return `Replay of ${deliveryId} requested`;
      }
      if (!isSearch)
        throw new UsageError("Give a DELIVERY_ID, or --status or other conditions for all that meet them.");
      const counted = await storage.countDeliveries(merchantId, filter);
      const [count = "", ...hosts] = countLines(counted);
      if (dryRun || (counted.count === 0 && counted.isExact)) return { lines: [count, ...hosts] };
      requireYes({ yes }, count);
      const started = await startReplay(context, { merchantId, filter, pace }, actor);
      if (started) return { lines: [count, `Replay ${started.id} started, ${pace} per second`] };
      throw new UsageError(
        "Another replay of this merchant is running. Wait for its end, or stop it with stop-replay.",
      );
    },
  }),
  replays: command({
    takes: "MERCHANT [--json]",
    summary: "List the last replays of several webhooks and their progress, newest first.",
    async run({ storage }, { merchant }) {
      const replays = await storage.listReplays(merchant.id, LISTED);
      const items = replays.map(({ filter: { createdAfter: since, createdBefore: until, ...filter }, ...replay }) => {
        return { ...replay, filter: { ...filter, since, until } };
      });
      return listing({ items }, (replay) => {
        const { id, startedAt, startedBy, state, replayed, skipped, expected, pace } = replay;
        const of = expected === undefined ? "" : ` of ${expected}`;
        const conditions = Object.entries(replay.filter).filter(([, value]) => value !== undefined);
        return [
          `${id}  ${timestamp(startedAt)}  ${String(startedBy)}  ${state}  ${replayed}${of} replayed, ${skipped} skipped, ${pace} per second`,
          `  ${conditions.map(([name, value]) => `${name} ${typeof value === "number" ? timestamp(value) : value}`).join("  ")}`,
        ];
      });
    },
  }),
  "stop-replay": command({
    takes: "MERCHANT REPLAY_ID",
    summary: "Stop a replay. What it has queued is still delivered.",
    async run({ storage, actor }, { merchant, replayId }) {
      if (await storage.stopReplay(merchant.id, replayId, actor)) return `Stopped ${replayId}`;
      const replay = await storage.findReplay(merchant.id, replayId);
      if (replay) return `${replayId} is ${replay.state} already.`;
      throw new UsageError(`The merchant has no replay ${replayId}. List them with the command replays.`);
    },
  }),
};

function secretOutput(secrets: WebhookSecrets): Output {
  const previous = secrets.previous.map(
    ({ secret, expiresAt }) => `Previous secret, signs until ${timestamp(expiresAt)}: ${secret}`,
  );
  return { lines: [`Webhook secret: ${secrets.current}`, ...previous], json: secretView(secrets) };
}

function deliveryLines(delivery: ReturnType<typeof deliveryView>): string[] {
  const { id, event, reference, url, status, createdAt, nextAttemptAt, attempts } = delivery;
  const next = nextAttemptAt === undefined ? "" : `  next attempt ${nextAttemptAt}`;
  return [
    `${id}  ${createdAt}  ${event}  ${reference}  ${status}${next}  ${url}`,
    ...attempts.map(({ number, sentAt, latencyMs, httpStatus, error }) => {
      const result = httpStatus === undefined ? "no response" : `status ${httpStatus}`;
      return `  attempt ${number}  ${sentAt}  ${latencyMs} ms  ${result}${error === undefined ? "" : `  ${error}`}`;
    }),
  ];
}

/** @throws UsageError if the server would refuse to send to the URL; the message does not contain the URL */
function requireAllowed(url: string, { config }: Context): void {
  if (url.length > 2_048) throw new UsageError("The URL must have at most 2,048 characters.");
  try {
    parseTarget(url, config.webhookAllowInsecure);
  } catch (error) {
    throw error instanceof Refusal ? new UsageError(error.message, { cause: error }) : error;
  }
}

/** The number of deliveries that match, then the hosts to which they go. */
function countLines({ count, isExact, hosts }: DeliveryCount): string[] {
  const matching = `${isExact ? "" : "At least "}${count} ${count === 1 ? "delivery matches" : "deliveries match"}.`;
  return [matching, ...hosts.map(({ host, count: to }) => `  ${to} to ${host}`)];
}
