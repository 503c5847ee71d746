import { createHmac } from "node:crypto";
import type { ClockStore } from "../../domain/storage.ts";
import { movedTime } from "../../domain/time.ts";
import { clockMoved, toShown } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Work } from "./query.ts";

const OF_MERCHANT = "merchant_id = :merchant";
/** What is due for the merchant becomes due earlier by the step. A claimed delivery is being attempted already. */
const MOVE = [
  "UPDATE merchants SET clock_offset = clock_offset + :step WHERE id = :merchant",
  `UPDATE disbursements SET due_at = due_at - :step WHERE ${OF_MERCHANT} AND due_at IS NOT NULL`,
  `UPDATE checkouts SET due_at = due_at - :step WHERE ${OF_MERCHANT} AND due_at IS NOT NULL`,
  `UPDATE events SET next_attempt_at = next_attempt_at - :step
    WHERE ${OF_MERCHANT} AND next_attempt_at IS NOT NULL AND leased_until IS NULL`,
];
const HAS_DUE = `SELECT 1 AS due WHERE
  EXISTS (SELECT 1 FROM disbursements WHERE ${OF_MERCHANT} AND due_at <= :until)
  OR EXISTS (SELECT 1 FROM checkouts WHERE ${OF_MERCHANT} AND due_at <= :until)
  OR EXISTS (SELECT 1 FROM events WHERE ${OF_MERCHANT} AND next_attempt_at <= :until)`;

/** How many rows of a table a step of a reset deletes. Most sandboxes have fewer, and are reset in one transaction. */
const STEP = 1_000;
/** The tables whose rows a reset deletes, with a column of their key. */
const DELETED = {
  events: "seq",
  disbursements: "merchants_reference",
  checkouts: "merchants_reference",
  entries: "reference",
  refusals: "merchants_reference",
  erasures_waiting: "merchants_reference",
};
const SOME = `${OF_MERCHANT} LIMIT ${STEP}`;
const FIRST_EVENTS = `${OF_MERCHANT} ORDER BY seq LIMIT ${STEP}`;
/** Attempts are found through their events, so they are deleted first. */
const DELETE_ATTEMPTS = `DELETE FROM attempts
  WHERE ${OF_MERCHANT} AND event_id IN (SELECT id FROM events WHERE ${FIRST_EVENTS})`;
const DELETE_MANY = Object.entries(DELETED).map(
  ([table, key]) => `DELETE FROM ${table} WHERE ${OF_MERCHANT} AND ${key} IN
    (SELECT ${key} FROM ${table} WHERE ${table === "events" ? FIRST_EVENTS : SOME})`,
);
const DELETE_FEW = ["accounts", "daily_sums", "erasures", "previous_webhook_secrets"].map(
  (table) => `DELETE FROM ${table} WHERE ${OF_MERCHANT}`,
);
const STOP_REPLAY = `UPDATE replays SET state = 'stopped', ended_real = :now WHERE ${OF_MERCHANT} AND state = 'running'`;
const RESET = `UPDATE merchants SET clock_offset = 0, chaos = NULL, customer_secret = :secret, resetting = :resetting
  WHERE id = :merchant`;
const RESETTING = "SELECT id FROM merchants WHERE resetting = true LIMIT 1";

/**
 * Deletes rows of a locked merchant. Returns true if there may be more of them. The last step finds few rows in every
 * table, so what was written since the first step is deleted completely or not at all.
 */
function* resetStep({ id: merchant, customerSecret }: LockedMerchant): Work<boolean> {
  const results = yield* runAll(
    [DELETE_ATTEMPTS, ...DELETE_MANY, ...DELETE_FEW].map((text) => ({ text, values: { merchant } })),
  );
  const resetting = results.slice(1, 1 + DELETE_MANY.length).some(({ count }) => count >= STEP);
  const secret = createHmac("sha256", customerSecret).update("reset").digest("hex");
  yield* run(RESET, { merchant, secret, resetting });
  return resetting;
}

/** Continues a reset, unless it has ended. Returns true if there may be more rows to delete. */
const continueReset = ({ write }: Executor, merchantId: string): Promise<boolean> =>
  write(
    function* () {
      const merchant = yield* lockMerchant(merchantId, "alone");
      return merchant.isResetting === true && (yield* resetStep(merchant));
    },
    { repeatable: true },
  );

/** Finishes a reset whose process has ended, if there is one. */
export async function finishReset(executor: Executor): Promise<void> {
  const [row] = await executor.read({ text: RESETTING });
  while (row && (await continueReset(executor, row.id as string)));
}

export function clocks(executor: Executor): Omit<ClockStore, "settleDue" | "listUpcoming"> {
  const { read, write } = executor;
  return {
    moveClock: (merchantId, move, mostAheadMs, actor) =>
      write(function* () {
        const { now, ...merchant } = yield* lockMerchant(merchantId, "alone");
        const to = movedTime(merchant, now, move, mostAheadMs);
        if (to === undefined) return undefined;
        const clockOffset = to - now;
        const step = clockOffset - merchant.clockOffset;
        const values = { merchant: merchantId, step };
        if (step > 0) yield* runAll(MOVE.map((text) => ({ text, values })));
        if (actor) yield* recordAction(clockMoved(merchantId, to, actor));
        return { merchant: toShown({ ...merchant, clockOffset }), at: now };
      }),
    async hasDue(merchant, until) {
      return (await read({ text: HAS_DUE, values: { merchant, until } })).length > 0;
    },
    async reset(merchantId, actor) {
      const isUnfinished = await write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        yield* run(STOP_REPLAY, { merchant: merchantId });
        if (actor) yield* recordAction({ actor, action: "sandbox.reset", merchantId, details: {} });
        return yield* resetStep(merchant);
      });
      if (isUnfinished) while (await continueReset(executor, merchantId));
    },
  };
}
