import type { SQLInputValue } from "node:sqlite";
import type { ClaimedDelivery, DeliveryQueue, Lane, LaneClaim } from "../../domain/deliveries.ts";
import { toEvent } from "../portable/event-rows.ts";
import type { Work } from "../portable/query.ts";
import { readSecrets } from "../portable/secrets.ts";
import { optional } from "../rows.ts";
import type { Context, Row } from "../sqlite/context.ts";

export function claimer({ db, leased, merchantOf }: Pick<Context, "db" | "leased" | "merchantOf">) {
  const selectReady = db.prepare(
    `SELECT * FROM events WHERE ready = 1 AND merchant_id = ? AND host = ? ORDER BY next_attempt_at LIMIT ?`,
  );
  const claim = db.prepare(
    `UPDATE events SET ready = 0, claimed = 1, due_real = ?, claim_token = claim_token + 1 WHERE seq = ?
     RETURNING claim_token`,
  );
  const forget = db.prepare("UPDATE events SET ready = 0, due_real = NULL, next_attempt_at = NULL WHERE seq = ?");

  /** Claims a row. Returns undefined if it belongs to a record that a reset has deleted. */
  function claimRow(row: Row, leaseMs: number): Omit<ClaimedDelivery, "secrets"> | undefined {
    const stored = merchantOf(row.merchant_id as string);
    if (stored?.epoch !== row.epoch) {
      forget.run(row.seq!);
      return undefined;
    }
    const { epoch: _, ...merchant } = stored!;
    const { claim_token: token } = claim.get(leased() + leaseMs, row.seq!)!;
    // A delivery that an earlier version had claimed for a replay has no time in the schedule.
    const dueAt = optional<number>(row.next_attempt_at);
    return {
      event: toEvent(row),
      url: row.url as string,
      token: token as number,
      step: row.step as number,
      merchant,
      ...(dueAt !== undefined && { dueAt }),
    };
  }

  /** Claims ready deliveries inside a transaction. Within a lane, deliveries that fell due first are claimed first. */
  return function* claimLanes(lanes: readonly LaneClaim[], leaseMs: number): Work<ClaimedDelivery[]> {
    const claimed = lanes
      .flatMap(({ merchantId, host, count }) => selectReady.all(merchantId, host, count))
      .flatMap((row) => claimRow(row, leaseMs) ?? []);
    if (claimed.length === 0) return [];
    const secrets = yield* readSecrets([...new Set(claimed.map(({ merchant }) => merchant.id))]);
    return claimed.map((each) => ({ ...each, secrets: secrets.get(each.merchant.id)! }));
  };
}

/** Jumps from lane to lane in the index, so that the number of deliveries in a lane does not matter. */
export function laneReader({ db }: Pick<Context, "db">): DeliveryQueue["readyLanes"] {
  const nextLane = db.prepare(
    `SELECT merchant_id, host FROM events WHERE ready = 1 AND (merchant_id, host) > (?, ?)
     ORDER BY merchant_id, host LIMIT 1`,
  );
  return async ({ after, limit, merchantId }) => {
    const lanes: Lane[] = [];
    let place: SQLInputValue[] = after ? [after.merchantId, after.host] : [merchantId ?? "", ""];
    while (lanes.length < limit) {
      const row = nextLane.get(...place);
      if (!row || (merchantId !== undefined && row.merchant_id !== merchantId)) break;
      lanes.push({ merchantId: row.merchant_id as string, host: row.host as string });
      place = [row.merchant_id!, row.host!];
    }
    return lanes;
  };
}
