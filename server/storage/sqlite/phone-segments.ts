// Payouts by phone number. An index makes each create change a random page; a segment is written at once.
// The time in references repeats after 397 days (D19). The references of the following year then belong to the segments of the
// year before, into which a trigger writes them.
import type { DatabaseSync } from "node:sqlite";
import type { Executor, Query } from "../portable/query.ts";
import type { Row } from "../rows.ts";

/** The number of segments that one statement searches, so that it does not block the event loop. */
const AT_ONCE = 16;
const LAST = "SELECT number, last_reference FROM phone_segments WHERE number > 0 ORDER BY number DESC LIMIT 1";

interface Search {
  /** Conditions on the payout `r`. */
  conditions: string;
  /** Conditions on its row `p` of the segment. */
  scope?: string;
  /** The values of the conditions, and the phone number as `phone`. */
  values: NonNullable<Query["values"]>;
  limit: number;
}

/** Finds the newest payouts to a phone number: in all segments, and after the last. */
export async function payoutsOfPhone(
  { read }: Pick<Executor, "read">,
  { conditions, scope = "", values, limit }: Search,
): Promise<Row[]> {
  const end = "ORDER BY r.created_at DESC, r.rowid DESC LIMIT :limit";
  const [last = { number: 0, last_reference: "" }] = await read({ text: LAST });
  const newest = `SELECT r.rowid, r.* FROM disbursements r WHERE r.reference > :after AND r.phone_number IS :phone
    AND ${conditions} ${end}`;
  const found = [...(await read({ text: newest, values: { ...values, limit, after: last.last_reference as string } }))];
  const inSegments = `SELECT r.rowid, r.* FROM payouts_by_phone p CROSS JOIN disbursements r
    WHERE p.segment = ANY(:segments) AND p.phone_number = :phone ${scope} AND r.reference = p.reference AND ${conditions} ${end}`;
  for (let first = 1; first <= (last.number as number); first += AT_ONCE) {
    const segments = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    found.push(...(await read({ text: inSegments, values: { ...values, limit, segments } })));
  }
  return found.toSorted(newestFirst).slice(0, limit);
}

const newestFirst = (a: Row, b: Row) =>
  Number(b.created_at) - Number(a.created_at) || Number(b.rowid) - Number(a.rowid);

/** Writing a segment of this many payouts blocks the event loop for some milliseconds. */
const IN_A_SEGMENT = 4_096;

/**
 * Finds out whether enough payouts are newer than the last segment, and writes them as a segment. `write` returns the number
 * of payouts in the segment.
 * @param size how many payouts are enough; tests use fewer
 */
export function segmentWriter(db: DatabaseSync, size = IN_A_SEGMENT): { isDue(): boolean; write(): number } {
  const selectLast = db.prepare(LAST);
  const selectEnd = db.prepare(
    "SELECT reference FROM disbursements WHERE reference > ? ORDER BY reference LIMIT 1 OFFSET ?",
  );
  const insertSegment = db.prepare("INSERT INTO phone_segments (number, last_reference) VALUES (?, ?)");
  const insertPayouts = db.prepare(`INSERT INTO payouts_by_phone
    SELECT ?, phone_number, merchant_id, epoch, created_at, reference FROM disbursements
    WHERE reference > ? AND reference <= ? ORDER BY phone_number, merchant_id, epoch, created_at, reference`);
  function next() {
    const { number, last_reference: after } = selectLast.get() ?? { number: 0, last_reference: "" };
    const end = selectEnd.get(after!, size - 1)?.reference;
    return end === undefined ? undefined : { number: (number as number) + 1, after: after!, end };
  }
  return {
    isDue: () => next() !== undefined,
    write() {
      const segment = next();
      if (!segment) return 0;
      insertPayouts.run(segment.number, segment.after, segment.end);
      insertSegment.run(segment.number, segment.end);
      return size;
    },
  };
}
