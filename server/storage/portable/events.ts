// Lists and searches of events and their deliveries.
import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  Attempt,
  Delivery,
  DeliveryFilter,
  DeliverySearch,
  EventLog,
  PageQuery,
} from "../../domain/deliveries.ts";
import type { Page } from "../../domain/pages.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import type { Event } from "../../domain/events.ts";
import type { DeliveryCount } from "../../domain/webhooks.ts";
import { fields, type Row } from "../rows.ts";
import { placeOf, toPage } from "./pages.ts";
import { LAST, type Executor } from "./query.ts";

/** A range of positions: greater than `after` and less than `before`. */
interface Range {
  after: number;
  before: number;
  /** True if the range contains only events of the period of the search. */
  isTimed: boolean;
}

/** A search in a merchant's events. */
interface Look {
  search: OfMerchant;
  range: Range;
  /** Whether to find only events with an address. */
  hasAddress: boolean;
  /** A further condition. */
  other?: string;
  order: "ASC" | "DESC";
  columns: string;
  limit: number;
}
type OfMerchant = DeliverySearch & { merchantId: string };

interface Found {
  rows: readonly Row[];
  /** The last entry that was read, if there are unread entries after it. */
  reached?: Row;
}

/**
 * The status is part of the statement. If the status were a parameter, PostgreSQL could not know that the status is
 * rare, and would read the events of all other statuses.
 */
const BY_STATUS: Readonly<Record<DeliveryFilter, string>> = {
  pending: "status = 'pending'",
  delivered: "status = 'delivered'",
  ended: "status = 'ended'",
  exhausted: "status = 'exhausted'",
  // The condition of the index `deliveries_failed`.
  failed: "status IN ('ended', 'exhausted')",
};
/** Pending deliveries that are ready or being attempted need no replay. */
const REPLAYABLE = "NOT ready AND leased_until IS NULL";

/**
 * How many entries a look reads at most, if it must also read entries that do not match. SQLite blocks the event loop
 * meanwhile, for some microseconds per row.
 */
const MOST_PER_LOOK = 2_000;
/** After this many looks a count ends. */
const MOST_LOOKS = 10;

/**
 * The conditions of a search. The database tests `others` on the row of each entry. The entries that meet `indexed` are one
 * range of an index, ordered by position.
 */
function conditionsOf({ search, range, hasAddress, other }: Look) {
  const { reference, status, type, host, createdAfter, createdBefore } = search;
  const byStatus = hasAddress ? ["url IS NOT NULL"] : [];
  if (status !== undefined) byStatus.push(BY_STATUS[status]);
  const others = other === undefined ? [] : [other];
  if (host !== undefined) others.push("host = :host");
  if (type !== undefined) others.push("type = :type");
  if (!range.isTimed && createdAfter !== undefined) others.push("created_at >= :createdAfter");
  if (!range.isTimed && createdBefore !== undefined) others.push("created_at < :createdBefore");
  // A record has one event, so the index by reference is best.
  if (reference !== undefined) return { indexed: ["reference = :reference"], others: [...byStatus, ...others] };
  return status === undefined ? { indexed: [], others: [...byStatus, ...others] } : { indexed: byStatus, others };
}

/** Rewrites a condition, if necessary, so that the database does not choose an index for it. */
const UNINDEXED = { sqlite: (condition: string) => `+${condition}`, postgres: (condition: string) => condition };

/** Reads the next matching entries. Reads a bounded number of entries if no index has only matching entries. */
async function look({ database, read }: Executor, asked: Look): Promise<Found> {
  const { indexed, others } = conditionsOf(asked);
  const { order, columns, limit: most, search } = asked;

  function find(what: string, range: Range, conditions: readonly string[], limit: number, skipped = 0) {
    const all = ["merchant_id = :merchantId", ...indexed, ...conditions.map(UNINDEXED[database])];
    // PostgreSQL would expect few rows in a range with two ends, and could sort them.
    if (range.after > 0) all.push("seq > :after");
    if (range.before < LAST) all.push("seq < :before");
    const text = `SELECT ${what} FROM events WHERE ${all.join(" AND ")} ORDER BY seq ${order} LIMIT :limit OFFSET :skipped`;
    return read({ text, values: { ...search, ...range, limit, skipped } });
  }

  const isBounded = others.length > 0 && search.reference === undefined;
  const [reached] = isBounded ? await find("seq, created_at", asked.range, [], 1, MOST_PER_LOOK - 1) : [];
  if (!reached) return { rows: await find(columns, asked.range, others, most) };
  const seq = reached.seq as number;
  const range = { ...asked.range, ...(order === "ASC" ? { before: seq + 1 } : { after: seq - 1 }) };
  return { rows: await find(columns, range, others, most), reached };
}

const EVENT = "id merchant_id type reference created_at body";
export const toEvent = fields<Event>(EVENT);

const deliveryOf = fields<Delivery>(`${EVENT} url status step next_attempt_at`);
/** @param row with its merchant's clock_offset */
const toDelivery = (row: Row, attempts: Attempt[]): Delivery => ({
  ...deliveryOf(row),
  ...(row.next_attempt_at !== null && { nextAttemptAt: row.next_attempt_at + row.clock_offset }),
  attempts,
});

/** The clock of the event's merchant, with which `toDelivery` shows the time of the next attempt. */
const WITH_OFFSET = "*, (SELECT clock_offset FROM merchants WHERE id = merchant_id) AS clock_offset";
const FIND = `SELECT ${WITH_OFFSET} FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL`;
const ATTEMPTS = "SELECT * FROM attempts WHERE merchant_id = :merchant AND event_id = ANY(:ids::text[])";
const toAttempt = fields<Attempt>("number at sent_real latency_ms http_status response_body error");

export function eventLog(executor: Executor): EventLog {
  /** Returns deliveries of one merchant with their attempts. */
  async function withAttempts(merchant: string, rows: readonly Row[]): Promise<Delivery[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id as string);
    const found = await executor.read({ text: ATTEMPTS, values: { merchant, ids } });
    const attempts = Map.groupBy(
      found.toSorted((a, b) => a.number - b.number),
      ({ event_id }) => event_id,
    );
    return rows.map((row) => toDelivery(row, (attempts.get(row.id) ?? []).map(toAttempt)));
  }

  /**
   * Reads a page, newest first. Positions are in the order of commits, so no entry appears behind another one later
   * (D42).
   */
  async function pageOf(list: "events" | "deliveries", query: PageQuery & DeliverySearch): Promise<Page<Row>> {
    const asked = { ...query, list, scope: query.merchantId, start: { seq: LAST } };
    const range = await rangeOf(executor, query);
    const { rows, reached } = await look(executor, {
      search: query,
      range: { ...range, before: Math.min(placeOf(asked).seq as number, range.before) },
      hasAddress: list === "deliveries",
      order: "DESC",
      columns: WITH_OFFSET,
      limit: query.limit + 1,
    });
    return toPage(asked, rows, (row) => row, reached);
  }

  return {
    async findDelivery(merchant, id) {
      return (await withAttempts(merchant, await executor.read({ text: FIND, values: { merchant, id } })))[0];
    },
    async listEvents(query) {
      const page = await pageOf("events", query);
      return { ...page, items: page.items.map(toEvent) };
    },
    async listDeliveries(query) {
      const page = await pageOf("deliveries", query);
      return { ...page, items: await withAttempts(query.merchantId, page.items) };
    },
  };
}

/** Counts the deliveries that a replay would make ready. */
export async function countDeliveries(executor: Executor, search: OfMerchant): Promise<DeliveryCount> {
  const how = { search, hasAddress: true, other: REPLAYABLE, order: "DESC", columns: "host, seq" } as const;
  const hosts: string[] = [];
  let isExact = false;
  let range = await rangeOf(executor, search);
  for (let looks = 0; looks < MOST_LOOKS && hosts.length <= MOST_COUNTED; looks += 1) {
    const { rows, reached } = await look(executor, { ...how, range, limit: MOST_COUNTED + 1 });
    hosts.push(...rows.map(({ host }) => host as string));
    isExact = !reached;
    if (!reached) break;
    range = { ...range, before: reached.seq };
    // Let requests run in between.
    await nextTurn();
  }
  const counted = hosts.slice(0, MOST_COUNTED);
  const byHost = [...Map.groupBy(counted, (host) => host)].map(([host, of]) => ({ host, count: of.length }));
  return {
    count: counted.length,
    isExact: isExact && hosts.length === counted.length,
    hosts: byHost.toSorted((a, b) => b.count - a.count),
  };
}

/** The positions that a replay visits: after `seq`, up to `lastSeq`. */
export interface Course {
  seq: number;
  lastSeq: number;
}

/** Returns the course of a replay that starts now. It excludes later events. */
export async function courseOf(executor: Executor, search: OfMerchant): Promise<Course> {
  const { after, before } = await rangeOf(executor, search);
  const { last } = await clockAndLast(executor, search.merchantId);
  return { seq: after, lastSeq: Math.min(before - 1, last) };
}

/**
 * Reads the next deliveries on a replay's course.
 * @returns their rows, and the position up to which the course has been read
 */
export async function nextOnCourse(
  executor: Executor,
  search: OfMerchant,
  { seq, lastSeq: end }: Course,
  limit: number,
): Promise<{ rows: readonly Row[]; seq: number }> {
  const { rows, reached } = await look(executor, {
    search,
    range: { after: seq, before: end + 1, isTimed: false },
    hasAddress: true,
    order: "ASC",
    columns: "id, seq, status",
    limit,
  });
  return { rows, seq: rows.length === limit ? rows.at(-1)!.seq : (reached?.seq ?? end) };
}

/**
 * Returns the positions of the events of a period. Events are written in the order of their times, unless the
 * merchant's clock was moved. After a move, events of the skipped time may follow events with later times, and the
 * period says nothing about positions.
 */
async function rangeOf(executor: Executor, { merchantId, createdAfter, createdBefore }: OfMerchant): Promise<Range> {
  const everything = { after: 0, before: LAST };
  if (createdAfter === undefined && createdBefore === undefined) return { ...everything, isTimed: true };
  const { offset, last } = await clockAndLast(executor, merchantId);
  if (offset !== 0) return { ...everything, isTimed: false };
  const firstSince = (time: number) => firstAt(executor, merchantId, time, last);
  return {
    after: createdAfter === undefined ? 0 : (await firstSince(createdAfter)) - 1,
    before: createdBefore === undefined ? LAST : await firstSince(createdBefore),
    isTimed: true,
  };
}

const CLOCK_AND_LAST = `SELECT clock_offset,
    (SELECT seq FROM events WHERE merchant_id = :merchant ORDER BY seq DESC LIMIT 1) AS last
  FROM merchants WHERE id = :merchant`;

/** How far a merchant's clock is ahead, and the position of its last event; 0 if it has none. */
async function clockAndLast({ read }: Executor, merchant: string): Promise<{ offset?: number; last: number }> {
  const [row] = await read({ text: CLOCK_AND_LAST, values: { merchant } });
  return { offset: row?.clock_offset, last: row?.last ?? 0 };
}

/** When the first event at or after a position was created. */
const TIME = `SELECT seq, created_at FROM events WHERE merchant_id = :merchant AND seq >= :place ORDER BY seq LIMIT 1`;

/**
 * Returns the position of the first event at or after `time`, or the position after `last` if all events were created
 * earlier.
 */
async function firstAt({ read }: Executor, merchant: string, time: number, last: number): Promise<number> {
  let [low, high] = [0, last + 1];
  while (low < high) {
    const place = Math.floor((low + high) / 2);
    const [row] = await read({ text: TIME, values: { merchant, place } });
    if (row === undefined || row.created_at >= time) high = place;
    else low = row.seq + 1;
  }
  return high;
}
