import { PACE, requireReplayable, startReplay, type Replay, type DeliveryCount } from "../domain/replays.ts";
import { timestamp } from "../domain/representation.ts";
import type { Merchant } from "../domain/merchants.ts";
import { UsageError, type Commands, type Output } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { SEARCH, searchIn, type Options } from "./options.ts";
import { listing } from "./listing.ts";

const LISTED = 50;

/** Replays of webhooks. A running server, or the next server that starts, makes the attempts. */
export const replayCommands: Commands<CommandContext> = {
  replay: {
    args: ["MERCHANT", "[DELIVERY_ID]"],
    options: [...SEARCH, "pace", "dry-run", "yes"],
    summary: "Deliver one webhook again, or all that meet the conditions, such as --status failed.",
    run: replay,
  },
  replays: {
    args: ["MERCHANT"],
    options: ["json"],
    summary: "List the last replays of several webhooks and their progress, newest first.",
    async run(context, [id]) {
      const merchant = await merchantOf(context, id!);
      const items = await context.storage.listReplays(merchant.id, LISTED);
      return listing({ items }, replayView, replayLines);
    },
  },
  "stop-replay": {
    args: ["MERCHANT", "REPLAY_ID"],
    options: [],
    summary: "Stop a replay. What it has queued is still delivered.",
    async run(context, [merchantId, id]) {
      const merchant = await merchantOf(context, merchantId!);
      if (await context.storage.stopReplay(merchant.id, id!, context.actor)) return { lines: [`Stopped ${id}`] };
      const found = await context.storage.findReplay(merchant.id, id!);
      if (found) return { lines: [`${id} is ${found.state} already.`] };
      throw new UsageError(`The merchant has no replay ${id}. List them with the command replays.`);
    },
  },
};

async function replay(context: CommandContext, args: readonly string[], options: Options): Promise<Output> {
  const [merchantId, deliveryId] = args;
  const merchant = await merchantOf(context, merchantId!);
  if (deliveryId === undefined) return replayAll(context, merchant, options);
  if (Object.keys(options).length > 0) throw new UsageError("Give either a DELIVERY_ID or --status.");
  return replayOne(context, merchant, deliveryId);
}

async function replayOne({ storage, actor }: CommandContext, { id }: Merchant, deliveryId: string): Promise<Output> {
  switch (await storage.requestReplay(id, deliveryId, actor)) {
    case "requested":
      return { lines: [`Replay of ${deliveryId} requested`] };
    case "claimed":
      throw new UsageError(
        "An attempt of this delivery is in progress. Replay the delivery when the attempt has ended.",
      );
    case "unknown":
      throw new UsageError(
        `The merchant has no delivery ${deliveryId}. List them with the command deliveries. An event without an ` +
          "address has no delivery.",
      );
  }
}

async function replayAll(context: CommandContext, { id: merchantId }: Merchant, options: Options): Promise<Output> {
  const filter = searchIn(options);
  if (Object.keys(filter).length === 0) {
    throw new UsageError("Give a DELIVERY_ID, or --status or other conditions for all that meet them.");
  }
  requireReplayable(filter);
  const counted = await context.storage.countDeliveries(merchantId, filter);
  const lines = countLines(counted);
  if (options["dry-run"] || (counted.count === 0 && counted.isExact)) return { lines };
  if (!options.yes) throw new UsageError(`${lines[0]} Nothing was replayed; add --yes to replay them.`);
  const { pace = PACE.usual } = options;
  const started = await startReplay(context, { merchantId, filter, pace }, context.actor);
  if (started) return { lines: [lines[0]!, `Replay ${started.id} started, ${pace} per second`] };
  throw new UsageError("Another replay of this merchant is running. Wait for its end, or stop it with stop-replay.");
}

/** The number of deliveries that match, then the hosts to which they go. */
function countLines({ count, isExact, hosts }: DeliveryCount): string[] {
  const matching = `${isExact ? "" : "At least "}${count} ${count === 1 ? "delivery matches" : "deliveries match"}.`;
  return [matching, ...hosts.map(({ host, count: to }) => `  ${to} to ${host}`)];
}

function replayView({ startedAt, endedAt, filter, ...rest }: Replay) {
  const { createdAfter, createdBefore, ...conditions } = filter;
  return {
    ...rest,
    filter: {
      ...conditions,
      ...(createdAfter !== undefined && { since: timestamp(createdAfter) }),
      ...(createdBefore !== undefined && { until: timestamp(createdBefore) }),
    },
    startedAt: timestamp(startedAt),
    ...(endedAt !== undefined && { endedAt: timestamp(endedAt) }),
  };
}

function replayLines({ id, startedAt, startedBy, state, replayed, skipped, expected, pace, filter }: Viewed): string[] {
  const of = expected === undefined ? "" : ` of ${expected}`;
  const conditions = Object.entries(filter).map((pair) => pair.join(" "));
  return [
    `${id}  ${startedAt}  ${startedBy}  ${state}  ${replayed}${of} replayed, ${skipped} skipped, ${pace} per second`,
    `  ${conditions.join("  ")}`,
  ];
}
type Viewed = ReturnType<typeof replayView>;
