import type { Merchant } from "../domain/types.ts";
import { UsageError, type Output } from "./command.ts";
import { merchantOf, type CommandContext } from "./context.ts";
import { filterOf, type Options } from "./options.ts";

const PAGE = 100;

/** Requests replays. A running server, or the next one to start, makes the attempts. */
export async function replay(context: CommandContext, args: readonly string[], options: Options): Promise<Output> {
  const [merchantId, deliveryId] = args;
  const { yes, ...filter } = options;
  const merchant = await merchantOf(context, merchantId!);
  if (deliveryId !== undefined) {
    if (Object.keys(options).length > 0) throw new UsageError("Give either a DELIVERY_ID or --status.");
    return replayOne(context, merchant, deliveryId);
  }
  if (filter.status === undefined) throw new UsageError("Give a DELIVERY_ID, or --status for all with this status.");
  const ids = await idsOf(context, merchant, filter);
  const counted = `${ids.length} ${ids.length === 1 ? "delivery matches" : "deliveries match"}.`;
  if (ids.length === 0) return { lines: [counted] };
  if (!yes) throw new UsageError(`${counted} Nothing was replayed; add --yes to replay them.`);
  return { lines: [counted, ...(await replayAll(context, merchant, ids))] };
}

async function replayOne({ storage, actor }: CommandContext, { id }: Merchant, deliveryId: string): Promise<Output> {
  switch (await storage.requestReplay(id, deliveryId, actor)) {
    case "requested":
      return { lines: [`Replay of ${deliveryId} requested`] };
    case "claimed":
      throw new UsageError("An attempt of this delivery is in progress. Replay it when that has ended.");
    case "unknown":
      throw new UsageError(
        `The merchant has no delivery ${deliveryId}. List them with the command deliveries. An event without an ` +
          "address has no delivery.",
      );
  }
}

/** Lists the ids before any replay, because a replayed delivery may soon have the same status again. */
async function idsOf({ webhooks }: CommandContext, merchant: Merchant, filter: Options): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await webhooks.listDeliveries(
      merchant,
      filterOf({ ...filter, limit: PAGE, ...(cursor && { cursor }) }),
    );
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

async function replayAll({ storage, actor }: CommandContext, { id }: Merchant, ids: readonly string[]) {
  let requested = 0;
  // The requests of one page share a commit. Between commits the server can write.
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = ids.slice(from, from + PAGE);
    const results = await Promise.all(page.map((deliveryId) => storage.requestReplay(id, deliveryId, actor)));
    requested += results.filter((result) => result === "requested").length;
  }
  const others = ids.length - requested;
  return [
    `Replays requested: ${requested}`,
    ...(others > 0 ? [`Left alone, as an attempt is in progress: ${others}`] : []),
  ];
}
