import { timestamp } from "../../domain/representation.ts";
import type { ClockStore } from "../../domain/storage.ts";
import { movedTime } from "../../domain/time.ts";
import { toShown } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { runAll, type Executor } from "./query.ts";

/** What falls due: the tables with the column of the due time, and what moves with the clock: not an attempt in progress. */
const DUE = [
  { table: "disbursements", dueAt: "due_at", moves: "due_at IS NOT NULL" },
  { table: "checkouts", dueAt: "due_at", moves: "due_at IS NOT NULL" },
  { table: "events", dueAt: "next_attempt_at", moves: "next_attempt_at IS NOT NULL AND leased_until IS NULL" },
];

/** What is due for the merchant becomes due earlier by the step. */
const MOVE = [
  "UPDATE merchants SET clock_offset = clock_offset + :step WHERE id = :merchant",
  ...DUE.map(
    ({ table, dueAt, moves }) =>
      `UPDATE ${table} SET ${dueAt} = ${dueAt} - :step WHERE merchant_id = :merchant AND ${moves}`,
  ),
];
const HAS_DUE = `SELECT 1 AS due WHERE ${DUE.map(
  ({ table, dueAt }) => `EXISTS (SELECT 1 FROM ${table} WHERE merchant_id = :merchant AND ${dueAt} <= :until)`,
).join(" OR ")}`;

export function clocks({ read, write }: Executor): Pick<ClockStore, "moveClock" | "hasDue"> {
  return {
    moveClock: (merchantId, move, actor) =>
      write(function* () {
        const { now, ...merchant } = yield* lockMerchant(merchantId, "alone");
        const to = movedTime(merchant, now, move);
        const clockOffset = to - now;
        const step = clockOffset - merchant.clockOffset;
        const values = { merchant: merchantId, step };
        if (step > 0) yield* runAll(MOVE.map((text) => ({ text, values })));
        yield* recordAction({ actor, action: "sandbox.advance", merchantId, details: { to: timestamp(to) } });
        return { merchant: toShown({ ...merchant, clockOffset }), at: now };
      }),
    async hasDue(merchant, until) {
      return (await read({ text: HAS_DUE, values: { merchant, until } })).length > 0;
    },
  };
}
