import type { ClaimedDelivery, LaneClaim } from "../../domain/deliveries.ts";
import { toEvent } from "../event-rows.ts";
import { optional } from "../rows.ts";
import type { Context, Row } from "./context.ts";
import { secretReader } from "./secrets.ts";

/** Returns functions that claim deliveries inside a transaction. */
export function claimer({ db, leased, merchantOf }: Pick<Context, "db" | "leased" | "merchantOf">) {
  const secretsOf = secretReader(db);
  const selectReady = db.prepare(
    `SELECT * FROM events WHERE ready = 1 AND merchant_id = ? AND host = ? ORDER BY next_attempt_at LIMIT ?`,
  );
  const claim = db.prepare(
    `UPDATE events SET ready = 0, claimed = 1, due_real = ?, claim_token = claim_token + 1 WHERE seq = ?
     RETURNING claim_token`,
  );
  const forget = db.prepare("UPDATE events SET ready = 0, due_real = NULL, next_attempt_at = NULL WHERE seq = ?");

  /** Claims a row. Returns undefined if it belongs to a record that a reset has deleted. */
  function claimRow(row: Row, leaseMs: number): Omit<ClaimedDelivery, "dueAt"> | undefined {
    const stored = merchantOf(row.merchant_id as string);
    if (stored?.epoch !== row.epoch) {
      forget.run(row.seq!);
      return undefined;
    }
    const { epoch: _, ...merchant } = stored!;
    const { claim_token: token } = claim.get(leased() + leaseMs, row.seq!)!;
    return {
      event: toEvent(row),
      url: row.url as string,
      token: token as number,
      step: row.step as number,
      merchant,
      secrets: secretsOf(merchant.id),
    };
  }

  /** Claims ready deliveries of a lane, those first that fell due first. */
  function claimLane({ merchantId, host, count }: LaneClaim, leaseMs: number): ClaimedDelivery[] {
    return selectReady.all(merchantId, host, count).flatMap((row) => {
      const claimed = claimRow(row, leaseMs);
      // A delivery whose replay was interrupted has no time in the schedule, unless it was pending before.
      const dueAt = optional<number>(row.next_attempt_at);
      return claimed ? [{ ...claimed, ...(dueAt !== undefined && { dueAt }) }] : [];
    });
  }

  return { claimRow, claimLane };
}
