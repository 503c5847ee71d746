import type { SQLOutputValue } from "node:sqlite";
import { v7 } from "uuid";
import type { Values } from "../rows.ts";
import type { Columns } from "../postgres/context.ts";
import { CHECKOUT_COLUMNS, DISBURSEMENT_COLUMNS } from "../postgres/record-columns.ts";
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

const MERCHANTS: Columns = {
  id: "text",
  name: "text",
  created_at: "bigint",
  webhook_secret: "text",
  webhook_url: "text",
  chaos: "text",
  clock_offset: "bigint",
  moved_to: "bigint",
  epoch: "bigint",
};
const EVENTS: Columns = {
  merchant_id: "text",
  id: "text",
  epoch: "bigint",
  seq: "bigint",
  type: "text",
  reference: "text",
  created_at: "bigint",
  body: "text",
  url: "text",
  host: "text",
  status: "text",
  step: "bigint",
  next_attempt_at: "bigint",
  due_real: "bigint",
  ready: "boolean",
  claimed: "boolean",
  claim_token: "bigint",
  traceparent: "text",
};
const ATTEMPTS: Columns = {
  event_id: "text",
  number: "bigint",
  at: "bigint",
  sent_real: "bigint",
  latency_ms: "bigint",
  http_status: "bigint",
  response_body: "text",
  error: "text",
  token: "bigint",
};
const REPLAYS: Columns = {
  merchant_id: "text",
  id: "text",
  filter: "text",
  pace: "bigint",
  expected: "bigint",
  started_real: "bigint",
  started_by: "text",
  seq: "bigint",
  last_seq: "bigint",
  replayed: "bigint",
  skipped: "bigint",
  state: "text",
  due_real: "bigint",
  ended_real: "bigint",
  stopped_by: "text",
};
const AUDIT: Columns = { merchant_id: "text", at_real: "bigint", actor: "text", action: "text", details: "text" };

export const TABLES: readonly CopiedTable[] = [
  {
    table: "merchants",
    columns: { ...MERCHANTS, last_event: "bigint", rebasing_until_real: "bigint" },
    // The positions of all merchants' events come from one sequence in SQLite. New events continue after it, so that
    // cursors of events stay valid. A move of a clock that a crash interrupted is finished by the first start: its lease
    // ended long ago.
    select: `SELECT ${Object.keys(MERCHANTS).join(", ")}, CASE rebasing WHEN 1 THEN 0 END AS rebasing_until_real,
      coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) AS last_event FROM merchants`,
  },
  copied("api_keys", {
    merchant_id: "text",
    id: "text",
    hash: "bytea",
    hint: "text",
    name: "text",
    created_at: "bigint",
    used_real: "bigint",
    revoked_at: "bigint",
  }),
  copied("previous_webhook_secrets", { merchant_id: "text", number: "bigint", secret: "text", expires_at: "bigint" }),
  copied("customers", { merchant_id: "text", epoch: "bigint", phone_number: "text", id: "text" }),
  copied("disbursements", DISBURSEMENT_COLUMNS, MONEY),
  copied("checkouts", CHECKOUT_COLUMNS, MONEY),
  copied("refusals", { merchant_id: "text", epoch: "bigint", merchants_reference: "text", count: "bigint" }),
  copied("events", EVENTS),
  {
    table: "attempts",
    columns: { merchant_id: "text", ...ATTEMPTS },
    select: `SELECT e.merchant_id, ${Object.keys(ATTEMPTS).map((name) => `a.${name}`)}
      FROM attempts a JOIN events e ON e.id = a.event_id`,
  },
  copied("replays", REPLAYS),
  copied("discarded_epochs", { merchant_id: "text", epoch: "bigint" }),
  {
    table: "audit",
    columns: { ...AUDIT, id: "uuid" },
    select: `SELECT ${Object.keys(AUDIT).join(", ")}, seq AS id FROM audit ORDER BY seq`,
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
