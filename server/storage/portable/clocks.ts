import type { EventType } from "../../domain/events.ts";
import type { FinalStatus } from "../../domain/records.ts";
import { timestamp } from "../../domain/representation.ts";
import { MOST_COUNTED, type ClockStore, type UpcomingItem } from "../../domain/storage.ts";
import { movedTime } from "../../domain/time.ts";
import { toShown, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { resets } from "./housekeeping.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { runAll, type Executor } from "./query.ts";

/** What falls due: the tables with their indexed column of the due time. A claimed delivery is being attempted already. */
const PAYMENT = { dueAt: "due_at", unclaimed: "", columns: "reference, merchants_reference, due_status" };
const DUE = [
  { kind: "disbursement", table: "disbursements", ...PAYMENT },
  { kind: "checkout", table: "checkouts", ...PAYMENT },
  {
    kind: "delivery",
    table: "events",
    dueAt: "next_attempt_at",
    unclaimed: "AND leased_until IS NULL",
    columns: "reference, id, type, step",
  },
] as const;

const OF_MERCHANT = "merchant_id = :merchant";
/** What is due for the merchant becomes due earlier by the step. */
const MOVE = [
  "UPDATE merchants SET clock_offset = clock_offset + :step WHERE id = :merchant",
  ...DUE.map(
    ({ table, dueAt, unclaimed }) =>
      `UPDATE ${table} SET ${dueAt} = ${dueAt} - :step WHERE ${OF_MERCHANT} AND ${dueAt} IS NOT NULL ${unclaimed}`,
  ),
];
const HAS_DUE = `SELECT 1 AS due WHERE ${DUE.map(
  ({ table, dueAt }) => `EXISTS (SELECT 1 FROM ${table} WHERE ${OF_MERCHANT} AND ${dueAt} <= :until)`,
).join(" OR ")}`;

const OFFSET = "(SELECT clock_offset FROM merchants WHERE id = :merchant)";
/** The statements that list and count what is due in each table. */
const UPCOMING = DUE.flatMap(({ table, dueAt, columns }) => {
  const which = `FROM ${table} WHERE ${OF_MERCHANT} AND ${dueAt} <= :until - ${OFFSET}`;
  return [
    `SELECT ${columns}, ${dueAt} + ${OFFSET} AS due ${which} ORDER BY ${dueAt} LIMIT :limit`,
    `SELECT count(*) AS count FROM (SELECT 1 ${which} LIMIT ${MOST_COUNTED}) AS found`,
  ];
});

export function clocks(executor: Executor): Omit<ClockStore, "settleDue"> {
  const { read, readAll, write } = executor;
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
        if (actor)
          yield* recordAction({ actor, action: "sandbox.advance", merchantId, details: { to: timestamp(to) } });
        return { merchant: toShown({ ...merchant, clockOffset }), at: now };
      }),
    async hasDue(merchant, until) {
      return (await read({ text: HAS_DUE, values: { merchant, until } })).length > 0;
    },
    async listUpcoming(merchant, until, limit) {
      const found = await readAll(UPCOMING.map((text) => ({ text, values: { merchant, until, limit } })));
      const items = DUE.flatMap(({ kind }, index) => found[2 * index]!.map((row) => toItem(kind, row)));
      const total = DUE.reduce((sum, _, index) => sum + found[2 * index + 1]![0]!.count, 0);
      return { items: items.toSorted((a, b) => a.at - b.at).slice(0, limit), total: Math.min(total, MOST_COUNTED) };
    },
    reset: resets(executor).reset,
  };
}

function toItem(kind: UpcomingItem["kind"], row: Row): UpcomingItem {
  const common = { at: row.due as number, reference: row.reference as string };
  if (kind === "delivery") {
    return { ...common, kind, id: row.id as string, type: row.type as EventType, step: row.step as number };
  }
  const merchantsReference = row.merchants_reference as string;
  return { ...common, kind, merchantsReference, status: row.due_status as FinalStatus };
}
