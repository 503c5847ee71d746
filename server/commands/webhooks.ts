import { timestamp } from "../domain/representation.ts";
import type { WebhookSecrets } from "../domain/secrets.ts";
import { deliveriesOfPayment } from "../domain/webhooks.ts";
import { deliveryView, eventView, secretView } from "../http/views.ts";
import { parseTarget, Refusal } from "../webhooks/guard.ts";
import type { Config } from "../config.ts";
import { UsageError, type Commands, type Output } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { pageIn, SEARCH, searchIn } from "./options.ts";
import { listing } from "./listing.ts";

const PAGE = ["limit", "cursor", "json"] as const;

/** The operations on webhooks that merchants have under `/sandbox`, for the operator of a live service (D41). */
export const webhookCommands: Commands<CommandContext> = {
  secret: {
    args: ["MERCHANT"],
    options: ["json"],
    summary: "Show the webhook secret, and previous secrets that still sign.",
    async run(context, [id]) {
      return secretOutput(await context.webhooks.revealSecrets(await merchantOf(context, id!), context.actor));
    },
  },
  "rotate-secret": {
    args: ["MERCHANT"],
    options: ["json"],
    summary: "Create a new webhook secret. The previous secret signs for another 24 hours.",
    async run(context, [id]) {
      return secretOutput(await context.webhooks.rotateSecret(await merchantOf(context, id!), context.actor));
    },
  },
  "default-webhook": {
    args: ["MERCHANT", "[URL]"],
    options: ["none"],
    summary: "Show, set or (--none) remove the address for webhooks of records without a webhookURL.",
    async run(context, [id, url], { none }) {
      const merchant = await merchantOf(context, id!);
      if (none && url !== undefined) throw new UsageError("Give either a URL or --none.");
      if (!none && url === undefined) return { lines: [merchant.webhookUrl ?? "None."] };
      const address = none ? undefined : webhookUrl(url!, context.config);
      await context.storage.setDefaultWebhook(merchant.id, address, context.actor);
      return { lines: [address === undefined ? "Removed" : `Set to ${address}`] };
    },
  },
  events: {
    args: ["MERCHANT"],
    options: ["reference", "since", ...PAGE],
    summary: "List the events, newest first.",
    async run(context, [id], options) {
      const page = await context.webhooks.listEvents(await merchantOf(context, id!), {
        ...pageIn(options),
        ...searchIn(options),
      });
      return listing(page, eventView, ({ id: eventId, createdAt, reference, body }) => [
        `${eventId}  ${createdAt}  ${body.event}  ${reference}`,
      ]);
    },
  },
  deliveries: {
    args: ["MERCHANT"],
    options: [...SEARCH, ...PAGE],
    summary: "List the deliveries with their attempts, newest first.",
    async run(context, [id], options) {
      const merchant = await merchantOf(context, id!);
      const query = { ...pageIn(options), ...searchIn(options) };
      const { reference } = query;
      const page =
        reference === undefined
          ? await context.webhooks.listDeliveries(merchant, query)
          : await deliveriesOfPayment(context.storage, { ...query, merchantId: merchant.id }, reference);
      return listing(page, deliveryView, deliveryLines);
    },
  },
};

function secretOutput(secrets: WebhookSecrets): Output {
  const previous = secrets.previous.map(
    ({ secret, expiresAt }) => `Previous secret, signs until ${timestamp(expiresAt)}: ${secret}`,
  );
  return { lines: [`Webhook secret: ${secrets.current}`, ...previous], json: secretView(secrets) };
}

function deliveryLines({ id, event, reference, url, status, createdAt, nextAttemptAt, attempts }: Delivered): string[] {
  const next = nextAttemptAt === undefined ? "" : `  next attempt ${nextAttemptAt}`;
  return [
    `${id}  ${createdAt}  ${event}  ${reference}  ${status}${next}  ${url}`,
    ...attempts.map(({ number, sentAt, latencyMs, httpStatus, error }) => {
      const result = httpStatus === undefined ? "no response" : `status ${httpStatus}`;
      return `  attempt ${number}  ${sentAt}  ${latencyMs} ms  ${result}${error === undefined ? "" : `  ${error}`}`;
    }),
  ];
}
type Delivered = ReturnType<typeof deliveryView>;

/** @throws UsageError if the server would refuse to send to the URL; the message does not contain the URL */
function webhookUrl(text: string, { webhookAllowInsecure }: Config): string {
  if (text.length > 2_048) throw new UsageError("The URL must have at most 2,048 characters.");
  try {
    parseTarget(text, webhookAllowInsecure);
    return text;
  } catch (error) {
    if (error instanceof Refusal) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
