import type { StoredMerchant } from "../rows.ts";
import type { Context } from "./context.ts";
import type { Query } from "./database.ts";
import { toStored } from "../portable/locked-merchant.ts";
import { lockMerchant } from "./merchant-rows.ts";

/** After this time without an end, in milliseconds, another process repeats the work. */
export const REBASE_LEASE_MS = 30_000;
/** The number of rows whose due_real is recomputed in one transaction. */
const STEP = 500;
/**
 * The tables with pending rows. `dueAt` is the column in sandbox time from which due_real is computed. `which` selects
 * the rows to recompute.
 */
const PENDING = [
  { table: "disbursements", key: "reference", dueAt: "due_at", which: "due_at IS NOT NULL" },
  { table: "checkouts", key: "reference", dueAt: "due_at", which: "due_at IS NOT NULL" },
  // A move does not change the due_real of a claimed delivery, which is the end of its lease, or of a ready one, which is
  // NULL.
  { table: "events", key: "id", dueAt: "next_attempt_at", which: "due_real IS NOT NULL AND NOT claimed" },
] as const;
type Pending = (typeof PENDING)[number];
type Place = [dueAt: number, key: string];
interface Range {
  after: Place;
  /** The last due time to recompute. */
  last: number;
}

/**
 * Recomputes when a merchant's pending rows fall due in real time, in steps that let other work run in between. Rows
 * written meanwhile already use the new offset.
 */
export async function rebase({ db }: Context, { id: merchantId, epoch, clockOffset }: StoredMerchant): Promise<void> {
  for (const each of PENDING) {
    const { table, dueAt } = each;
    // Rows written from now on need no change. Without this end, the steps could follow new rows for ever.
    const { rows } = await db.read(
      `SELECT max(${dueAt}) AS last FROM ${table} WHERE merchant_id = $1 AND epoch = $2 AND ${dueAt} IS NOT NULL`,
      [merchantId, epoch],
    );
    const last = rows[0]!.last as number | null;
    for (let place: Place | undefined = last === null ? undefined : [0, ""]; place;) {
      const range = { after: place, last: last! };
      place = await db.transaction((query) => step(query, merchantId, each, range), { repeatable: true });
    }
  }
  // Changes nothing if a later move has set another offset, because that move may still be recomputing rows.
  const end = "UPDATE merchants SET rebasing_until_real = NULL WHERE id = $1 AND epoch = $2 AND clock_offset = $3";
  await db.transaction((query) => query(end, [merchantId, epoch, clockOffset]), { repeatable: true });
}

/** Recomputes the next rows. Resolves with the last place, or undefined after the last row. */
async function step(query: Query, merchantId: string, { table, key, dueAt, which }: Pending, { after, last }: Range) {
  const { epoch, clockOffset } = await lockMerchant(query, merchantId, "shares");
  const { rows } = await query(
    `SELECT ${key} AS key, ${dueAt} AS due_at FROM ${table} WHERE merchant_id = $1 AND epoch = $2
       AND ${dueAt} IS NOT NULL AND (${dueAt}, ${key}) > ($3, $4)
       AND ${dueAt} <= $5 ORDER BY ${dueAt}, ${key} LIMIT ${STEP}`,
    [merchantId, epoch, ...after, last],
  );
  await query(
    `UPDATE ${table} SET due_real = ${dueAt} - $3 WHERE merchant_id = $1 AND ${key} = ANY($2::text[]) AND ${which}`,
    [merchantId, rows.map((row) => row.key), clockOffset],
  );
  const end = rows.at(-1);
  return rows.length === STEP && end ? ([end.due_at, end.key] as Place) : undefined;
}

/**
 * Finishes the moves of merchants' clocks that the end of a process interrupted.
 * @param all true for those too whose process may still be working
 */
export async function finishRebases(context: Context, { all }: { all: boolean }): Promise<void> {
  const { rows } = await context.db.read(
    "SELECT * FROM merchants WHERE rebasing_until_real IS NOT NULL AND (rebasing_until_real < (SELECT :now) OR $1)",
    [all],
  );
  for (const row of rows) await rebase(context, toStored(row));
}
