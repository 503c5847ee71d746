import { toStored, type StoredMerchant } from "../rows.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Work } from "./query.ts";

/** If the work has not ended after this time, in milliseconds, another process repeats it. */
const LEASE_MS = 30_000;
/** How a merchant's row shows that its clock has moved and that the due times of its rows are being recomputed. */
export const REBASING = { sqlite: "rebasing = 1", postgres: `rebasing_until_real = :now + ${LEASE_MS}` };
export const NOT_REBASING = { sqlite: "rebasing = 0", postgres: "rebasing_until_real = NULL" };
/** The number of rows whose due_real is recomputed in one transaction. */
const STEP = 500;
/**
 * The tables with pending rows. `dueAt` is the column in sandbox time from which due_real is computed. `which` selects
 * the rows to recompute. `key` is the column that follows it in the index by due time.
 */
export const PENDING = [
  { table: "disbursements", key: "reference", dueAt: "due_at", which: "due_at IS NOT NULL" },
  { table: "checkouts", key: "reference", dueAt: "due_at", which: "due_at IS NOT NULL" },
  // A move does not change the due_real of a claimed delivery, which is the end of its lease. It does not change the
  // due_real of a ready delivery either, which is NULL.
  { table: "events", key: "id", dueAt: "next_attempt_at", which: "due_real IS NOT NULL AND NOT claimed" },
] as const;

const OF_MERCHANT = "merchant_id = :merchant AND epoch = :epoch";
const selectNext = (
  table: string,
  key: string,
  dueAt: string,
) => `SELECT ${key} AS place, ${dueAt} AS due_at FROM ${table}
  WHERE ${OF_MERCHANT} AND ${dueAt} IS NOT NULL AND (${dueAt}, ${key}) > (:at, :place) AND ${dueAt} <= :last
  ORDER BY ${dueAt}, ${key} LIMIT ${STEP}`;
const STATEMENTS = PENDING.map(({ table, key, dueAt, which }) => {
  const change = `UPDATE ${table} SET due_real = ${dueAt} - :offset WHERE merchant_id = :merchant AND ${which} AND`;
  return {
    last: `SELECT max(${dueAt}) AS last FROM ${table} WHERE ${OF_MERCHANT} AND ${dueAt} IS NOT NULL`,
    select: { sqlite: selectNext(table, "rowid", dueAt), postgres: selectNext(table, key, dueAt) },
    change: {
      sqlite: `${change} rowid = ANY(:places)`,
      postgres: `${change} ${key} = ANY(:places::text[])`,
    },
  };
});
type Statements = (typeof STATEMENTS)[number];

const endOf = (notRebasing: string) =>
  `UPDATE merchants SET ${notRebasing} WHERE id = :merchant AND epoch = :epoch AND clock_offset = :offset`;
/** Changes nothing if a later move has set another offset, because that move may still be recomputing rows. */
const END = { sqlite: endOf(NOT_REBASING.sqlite), postgres: endOf(NOT_REBASING.postgres) };

interface Range {
  at: number;
  place: string | number;
  /** The last due time to recompute. */
  last: number;
}

/**
 * Recomputes when a merchant's pending rows fall due in real time, in steps that let other work run in between. Rows
 * written meanwhile already use the new offset.
 */
export async function rebase(
  { read, write }: Executor,
  { id: merchant, epoch, clockOffset }: StoredMerchant,
): Promise<void> {
  for (const statements of STATEMENTS) {
    // Rows that are written from now on need no change. Without this limit, the steps could follow new rows for ever.
    const [found] = await read({ text: statements.last, values: { merchant, epoch } });
    const last = found!.last as number | null;
    for (let range: Range | undefined = last === null ? undefined : { at: 0, place: 0, last }; range;) {
      const next: Range = range;
      range = await write(() => step(merchant, statements, next), { repeatable: true });
    }
  }
  await write(() => run(END, { merchant, epoch, offset: clockOffset }), { repeatable: true });
}

/** Recomputes the next rows. Returns where the next step begins, or undefined after the last row. */
function* step(merchant: string, { select, change }: Statements, range: Range): Work<Range | undefined> {
  const { epoch, clockOffset } = yield* lockMerchant(merchant, "shares");
  const { rows } = yield* run(select, { merchant, epoch, ...range });
  yield* run(change, { merchant, offset: clockOffset, places: rows.map(({ place }) => place as string) });
  const end = rows.at(-1);
  return rows.length === STEP && end
    ? { at: end.due_at as number, place: end.place as string, last: range.last }
    : undefined;
}

const INTERRUPTED = `SELECT * FROM merchants WHERE rebasing_until_real IS NOT NULL
  AND (rebasing_until_real < (SELECT :now) OR :all)`;

/**
 * Finishes the moves of merchants' clocks that the end of a process interrupted, in PostgreSQL. SQLite's file has one
 * process, which does this when it opens the file.
 * @param all true to include moves whose process may still be working
 */
export async function finishRebases(executor: Executor, { all }: { all: boolean }): Promise<void> {
  for (const row of await executor.read({ text: INTERRUPTED, values: { all } })) await rebase(executor, toStored(row));
}
