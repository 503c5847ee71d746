import { MOST_COUNTED, type ClockStore, type UpcomingItem } from "../../domain/storage.ts";
import type { EventType } from "../../domain/events.ts";
import type { FinalStatus } from "../../domain/records.ts";
import type { Row } from "../rows.ts";
import type { Executor } from "./query.ts";

const PAYMENT = { dueAt: "due_at", columns: "reference, merchants_reference, due_status" };
/** The tables with due rows, with their column of the due time, which is indexed. */
const TABLES = [
  { kind: "disbursement", table: "disbursements", ...PAYMENT },
  { kind: "checkout", table: "checkouts", ...PAYMENT },
  { kind: "delivery", table: "events", dueAt: "next_attempt_at", columns: "reference, id, type, step" },
] as const;

const OFFSET = "(SELECT clock_offset FROM merchants WHERE id = :merchant)";
/** The statements that list and count what is due in each table. */
const STATEMENTS = TABLES.flatMap(({ table, dueAt, columns }) => {
  const which = `FROM ${table} WHERE merchant_id = :merchant AND ${dueAt} <= :until - ${OFFSET}`;
  return [
    `SELECT ${columns}, ${dueAt} + ${OFFSET} AS due ${which} ORDER BY ${dueAt} LIMIT :limit`,
    `SELECT count(*) AS count FROM (SELECT 1 ${which} LIMIT ${MOST_COUNTED}) AS found`,
  ];
});

export const upcoming = ({ readAll }: Executor): Pick<ClockStore, "listUpcoming"> => ({
  async listUpcoming(merchant, until, limit) {
    const found = await readAll(STATEMENTS.map((text) => ({ text, values: { merchant, until, limit } })));
    const items = TABLES.flatMap(({ kind }, index) => found[2 * index]!.map((row) => toItem(kind, row)));
    const total = TABLES.reduce((sum, _, index) => sum + (found[2 * index + 1]![0]!.count as number), 0);
    return { items: items.toSorted((a, b) => a.at - b.at).slice(0, limit), total: Math.min(total, MOST_COUNTED) };
  },
});

function toItem(kind: (typeof TABLES)[number]["kind"], row: Row): UpcomingItem {
  const common = { at: row.due as number, reference: row.reference as string };
  if (kind === "delivery") {
    return { ...common, kind, id: row.id as string, type: row.type as EventType, step: row.step as number };
  }
  const merchantsReference = row.merchants_reference as string;
  return { ...common, kind, merchantsReference, status: row.due_status as FinalStatus };
}
