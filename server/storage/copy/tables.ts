import type { SQLOutputValue } from "node:sqlite";
import { v7 } from "uuid";
import type { Values } from "../rows.ts";
import {
  ACCOUNT_COLUMNS,
  ADJUSTMENT_COLUMNS,
  ATTEMPT_COLUMNS,
  AUDIT_COLUMNS,
  CHECKOUT_COLUMNS,
  DAILY_SUM_COLUMNS,
  DISBURSEMENT_COLUMNS,
  ENTRY_COLUMNS,
  ERASURE_COLUMNS,
  ERASURE_WAITING_COLUMNS,
  EVENT_COLUMNS,
  EXCHANGE_COLUMNS,
  HANDOVER_COLUMNS,
  KEY_COLUMNS,
  MERCHANT_COLUMNS,
  PREVIOUS_SECRET_COLUMNS,
  REFUSAL_COLUMNS,
  REPLAY_COLUMNS,
  type Columns,
} from "../columns.ts";
import { encodeText } from "../postgres/text.ts";

/** A table of PostgreSQL, and how its rows are read from SQLite. */
export interface CopiedTable {
  table: string;
  /** All columns of the table, with their types. */
  columns: Columns;
  /** A query for SQLite with these columns. */
  select: string;
  /** The columns of money. */
  sums?: readonly string[];
}

export const MONEY = ["amount", "fee"] as const;

/** Expects that a column has the same name in both databases. */
function copied(table: string, columns: Columns, sums?: readonly string[]): CopiedTable {
  const select = `SELECT ${Object.keys(columns).join(", ")} FROM ${table}`;
  return { table, columns, select, ...(sums && { sums }) };
}

export const TABLES: readonly CopiedTable[] = [
  {
    table: "merchants",
    columns: { ...MERCHANT_COLUMNS, last_event: "bigint", rebasing_until_real: "bigint" },
    // In SQLite one sequence numbers the events of all merchants. New events continue after the last number of this
    // sequence, so that cursors of events stay valid. The first start finishes a move of a clock that a crash
    // interrupted, because the lease of the move ended long ago.
    select: `SELECT ${Object.keys(MERCHANT_COLUMNS).join(", ")}, CASE rebasing WHEN 1 THEN 0 END AS rebasing_until_real,
      coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) AS last_event FROM merchants`,
  },
  copied("api_keys", KEY_COLUMNS),
  copied("previous_webhook_secrets", PREVIOUS_SECRET_COLUMNS),
  copied("disbursements", DISBURSEMENT_COLUMNS, MONEY),
  copied("checkouts", CHECKOUT_COLUMNS, MONEY),
  copied("entries", ENTRY_COLUMNS, ["available", "reserved", "fees", "outside", "balance"]),
  copied("accounts", ACCOUNT_COLUMNS, ["available", "reserved"]),
  copied("daily_sums", DAILY_SUM_COLUMNS, ["amount"]),
  copied("adjustments", ADJUSTMENT_COLUMNS),
  copied("refusals", REFUSAL_COLUMNS),
  copied("erasures", ERASURE_COLUMNS),
  copied("erasures_waiting", ERASURE_WAITING_COLUMNS),
  copied("events", EVENT_COLUMNS),
  {
    table: "attempts",
    columns: { merchant_id: "text", ...ATTEMPT_COLUMNS },
    select: `SELECT e.merchant_id, ${Object.keys(ATTEMPT_COLUMNS).map((name) => `a.${name}`)}
      FROM attempts a JOIN events e ON e.id = a.event_id`,
  },
  copied("replays", REPLAY_COLUMNS),
  copied("handovers", HANDOVER_COLUMNS),
  copied("exchanges", EXCHANGE_COLUMNS),
  copied("rail_pauses", { rail: "text", at_real: "bigint", paused_by: "text", reason: "text" }),
  copied("discarded_epochs", { merchant_id: "text", epoch: "bigint" }),
  {
    table: "audit",
    columns: { ...AUDIT_COLUMNS, id: "uuid" },
    select: `SELECT ${Object.keys(AUDIT_COLUMNS).join(", ")}, seq AS id FROM audit ORDER BY seq`,
  },
  copied("mode", { id: "bigint", name: "text" }),
];

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Returns the values of a row as texts that PostgreSQL reads as the types of their columns. */
export function toCells({ table, columns }: CopiedTable, row: Row): Record<string, string | null> {
  const cells = Object.entries(columns).map(([name, type]) => {
    const value = table === "audit" && name === "id" ? auditId(row) : row[name]!;
    return [name, value === null ? null : toCell(value, type)];
  });
  return Object.fromEntries(cells) satisfies Values;
}

function toCell(value: NonNullable<SQLOutputValue>, type: string): string {
  if (type === "boolean") return value ? "true" : "false";
  if (typeof value === "object") return `\\x${Buffer.from(value).toString("hex")}`;
  return type === "text" ? encodeText(String(value)) : String(value);
}

/** Entries of the same millisecond are in the order of their ids. */
function auditId({ at_real: at, id: position }: Row): string {
  return v7({ msecs: Number(at), seq: Number(position) % 2 ** 31, random: new Uint8Array(16) });
}
