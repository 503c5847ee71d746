import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS } from "../../domain/listeners.ts";
import type { ClockStore } from "../../domain/clock-store.ts";
import { movedTime } from "../../domain/time.ts";
import { clockMoved } from "../rows.ts";
import { recordAction } from "./executor.ts";
import type { Context } from "./context.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { lockMerchant } from "./merchant-rows.ts";
import { REBASE_LEASE_MS, rebase } from "./rebase.ts";
import { settlement } from "./settlement.ts";

const SET_CLOCK = "UPDATE merchants SET clock_offset = $2, moved_to = $3, rebasing_until_real = $4 WHERE id = $1";
const HAS_DUE = `SELECT 1 FROM merchants m WHERE m.id = $1 AND (
  EXISTS (SELECT 1 FROM disbursements d WHERE d.merchant_id = $1 AND d.epoch = m.epoch AND d.due_at <= $2)
  OR EXISTS (SELECT 1 FROM checkouts c WHERE c.merchant_id = $1 AND c.epoch = m.epoch AND c.due_at <= $2)
  OR EXISTS (SELECT 1 FROM events e WHERE e.merchant_id = $1 AND e.epoch = m.epoch AND e.next_attempt_at <= $2
    AND (e.host <> '${LISTENER_HOST}' OR EXISTS (SELECT 1 FROM listeners l
      WHERE l.merchant_id = $1 AND l.seen_real > (SELECT :now) - ${LISTENER_ATTENDS_MS}))))`;

export function clockStore(context: Context): Omit<ClockStore, "listUpcoming"> {
  const { db } = context;
  return {
    settleDue: settlement(context),
    async moveClock(merchantId, move, mostAheadMs, actor) {
      const moved = await db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "alone");
        const to = movedTime(merchant, merchant.now, move, mostAheadMs);
        if (to === undefined) return undefined;
        const [clockOffset, movedTo] = [to - merchant.now, Math.max(to, merchant.movedTo)];
        await query(SET_CLOCK, [merchantId, clockOffset, movedTo, merchant.now + REBASE_LEASE_MS]);
        if (actor) await recordAction(query, clockMoved(merchantId, to, actor));
        const { now: _, dated: __, ...before } = merchant;
        return { ...before, clockOffset, movedTo };
      });
      if (!moved) return undefined;
      // The clock has moved, so a failure from now on must not say that nothing was recorded.
      await rebase(context, moved).catch((error: Error) => {
        throw new UnknownOutcome(error.message, { cause: error });
      });
      const { epoch: _, ...after } = moved;
      return after;
    },
    async hasDue(merchantId, until) {
      return (await db.read(HAS_DUE, [merchantId, until])).count > 0;
    },
    reset: (merchantId, actor) =>
      db.transaction(async (query) => {
        const { epoch } = await lockMerchant(query, merchantId, "alone");
        await Promise.all([
          query(
            `UPDATE merchants SET epoch = epoch + 1, clock_offset = 0, moved_to = 0, rebasing_until_real = NULL,
               chaos = NULL WHERE id = $1`,
            [merchantId],
          ),
          query("INSERT INTO discarded_epochs (merchant_id, epoch) VALUES ($1, $2)", [merchantId, epoch]),
          query("DELETE FROM previous_webhook_secrets WHERE merchant_id = $1", [merchantId]),
          query(
            "UPDATE replays SET state = 'stopped', ended_real = :now WHERE merchant_id = $1 AND state = 'running'",
            [merchantId],
          ),
        ]);
        if (actor) await recordAction(query, { actor, action: "sandbox.reset", merchantId, details: {} });
      }),
  };
}
