import type { SQLInputValue } from "node:sqlite";
import type { Lane, LaneClaim, Queue, Claimed } from "../../domain/deliveries.ts";
import { afterLane, type QueueTable, type Work } from "../portable/query.ts";
import type { Row } from "../rows.ts";
import type { Context } from "../sqlite/context.ts";

/** Returns a function that claims rows of queues inside a transaction. */
export function claimer({ db, leased }: Pick<Context, "db" | "leased">) {
  const known = new Map<QueueTable, ReturnType<typeof statementsFor>>();

  function statementsFor({ name, lane }: QueueTable) {
    return {
      selectReady: db.prepare(
        `SELECT rowid AS place FROM ${name} WHERE ready = 1 AND merchant_id = ? AND ${lane} = ?
         ORDER BY next_attempt_at LIMIT ?`,
      ),
      // Faster than RETURNING, for which SQLite fills a temporary table.
      claim: db.prepare(
        `UPDATE ${name} SET ready = 0, leased_until = ?, claim_token = claim_token + 1 WHERE rowid = ?`,
      ),
      select: db.prepare(`SELECT * FROM ${name} WHERE rowid = ?`),
    };
  }

  return function* claim(queue: QueueTable, lanes: readonly LaneClaim[], leaseMs: number): Work<readonly Row[]> {
    yield [];
    const statements = known.get(queue) ?? statementsFor(queue);
    known.set(queue, statements);
    const { selectReady, claim: claimRow, select } = statements;
    return lanes
      .flatMap(({ merchantId, host, count }) => selectReady.all(merchantId, host, count))
      .map(({ place }) => {
        claimRow.run(leased() + leaseMs, place!);
        return select.get(place!)!;
      });
  };
}

/** Jumps from lane to lane in the index, so that the number of rows in a lane does not matter. */
export function laneReader({ db }: Pick<Context, "db">, { name, lane }: QueueTable): Queue<Claimed>["readyLanes"] {
  const nextLane = db.prepare(
    `SELECT merchant_id, ${lane} AS host FROM ${name} WHERE ready = 1 AND ${afterLane(lane)}
     ORDER BY merchant_id, ${lane} LIMIT 1`,
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
