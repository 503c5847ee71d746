import type { Upcoming, UpcomingItem } from "../../domain/clock-store.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import type { EventType } from "../../domain/events.ts";
import type { FinalStatus } from "../../domain/records.ts";
import type { Row } from "../rows.ts";

/** The tables with due rows, and their indexed column with the sandbox time. */
export const DUE_TABLES = [
  {
    kind: "disbursement",
    table: "disbursements",
    dueAt: "due_at",
    columns: "reference, merchants_reference, due_status",
  },
  { kind: "checkout", table: "checkouts", dueAt: "due_at", columns: "reference, merchants_reference, due_status" },
  { kind: "delivery", table: "events", dueAt: "next_attempt_at", columns: "reference, id, type, step" },
] as const;
type Kind = (typeof DUE_TABLES)[number]["kind"];

/** The first rows of a table that are due, with their time in `due`, and how many there are. */
export interface DueRows {
  kind: Kind;
  rows: readonly Row[];
  count: number;
}

/** Merges the due rows of the tables. */
export function toUpcoming(found: readonly DueRows[], limit: number): Upcoming {
  const items = found.flatMap(({ kind, rows }) => rows.map((row) => toItem(kind, row)));
  const total = found.reduce((sum, { count }) => sum + count, 0);
  return { items: items.toSorted((a, b) => a.at - b.at).slice(0, limit), total: Math.min(total, MOST_COUNTED) };
}

function toItem(kind: Kind, row: Row): UpcomingItem {
  const common = { at: row.due as number, reference: row.reference as string };
  if (kind === "delivery") {
    return { ...common, kind, id: row.id as string, type: row.type as EventType, step: row.step as number };
  }
  const merchantsReference = row.merchants_reference as string;
  return { ...common, kind, merchantsReference, status: row.due_status as FinalStatus };
}
