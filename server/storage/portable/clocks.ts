import type { ClockStore } from "../../domain/clock-store.ts";
import { movedTime } from "../../domain/time.ts";
import { clockMoved, toShown } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor } from "./query.ts";
import { NOT_REBASING, rebase, REBASING } from "./rebase.ts";

const SET_CLOCK = {
  sqlite: `UPDATE merchants SET clock_offset = :offset, moved_to = :to, ${REBASING.sqlite} WHERE id = :merchant`,
  postgres: `UPDATE merchants SET clock_offset = :offset, moved_to = :to, ${REBASING.postgres} WHERE id = :merchant`,
};
const HAS_DUE = `SELECT 1 FROM merchants m WHERE m.id = :merchant AND (
  EXISTS (SELECT 1 FROM disbursements d WHERE d.merchant_id = :merchant AND d.epoch = m.epoch AND d.due_at <= :until)
  OR EXISTS (SELECT 1 FROM checkouts c WHERE c.merchant_id = :merchant AND c.epoch = m.epoch AND c.due_at <= :until)
  OR EXISTS (SELECT 1 FROM events e WHERE e.merchant_id = :merchant AND e.epoch = m.epoch AND e.next_attempt_at <= :until))`;

const startEpoch = (notRebasing: string) => `UPDATE merchants
  SET epoch = epoch + 1, clock_offset = 0, moved_to = 0, ${notRebasing}, chaos = NULL WHERE id = :merchant`;
const RESET = [
  { sqlite: startEpoch(NOT_REBASING.sqlite), postgres: startEpoch(NOT_REBASING.postgres) },
  "INSERT INTO discarded_epochs (merchant_id, epoch) VALUES (:merchant, :epoch)",
  "DELETE FROM previous_webhook_secrets WHERE merchant_id = :merchant",
  "UPDATE replays SET state = 'stopped', ended_real = :now WHERE merchant_id = :merchant AND state = 'running'",
];

export function clocks(executor: Executor): Omit<ClockStore, "settleDue" | "listUpcoming"> {
  const { read, write } = executor;
  return {
    async moveClock(merchantId, move, mostAheadMs, actor) {
      const moved = await write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        const to = movedTime(merchant, merchant.now, move, mostAheadMs);
        if (to === undefined) return undefined;
        const [clockOffset, movedTo] = [to - merchant.now, Math.max(to, merchant.movedTo)];
        yield* run(SET_CLOCK, { merchant: merchantId, offset: clockOffset, to: movedTo });
        if (actor) yield* recordAction(clockMoved(merchantId, to, actor));
        const { now: _, ...before } = merchant;
        return { ...before, clockOffset, movedTo };
      });
      if (!moved) return undefined;
      await rebase(executor, moved);
      return toShown(moved);
    },
    async hasDue(merchant, until) {
      return (await read({ text: HAS_DUE, values: { merchant, until } })).length > 0;
    },
    reset: (merchantId, actor) =>
      write(function* () {
        const { epoch } = yield* lockMerchant(merchantId, "alone");
        yield* runAll(RESET.map((text) => ({ text, values: { merchant: merchantId, epoch } })));
        if (actor) yield* recordAction({ actor, action: "sandbox.reset", merchantId, details: {} });
      }),
  };
}
