// Lists and searches of events and their deliveries.
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  MOST_REPLAYED,
  type Attempt,
  type Delivery,
  type DeliveryFilter,
  type DeliverySearch,
  type EventLog,
  type EventQuery,
} from "../../domain/deliveries.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Page } from "../../domain/pages.ts";
import type { Event } from "../../domain/events.ts";
import { fields, type Row } from "../rows.ts";
import { placeOf, toPage } from "./pages.ts";
import { LAST, type Executor } from "./query.ts";

/** A range of positions: greater than `after` and less than `before`. */
interface Range {
  after: number;
  before: number;
}

/** A search in a merchant's events. */
interface Look {
  search: OfMerchant;
  range: Range;
  which: "events" | "deliveries" | "replayable";
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
/** After this many looks a search for a replay ends. */
const MOST_LOOKS = 10;

/**
 * The conditions of a search. The database tests `others` on the row of each entry. The entries that meet `indexed` are one
 * range of an index, ordered by position.
 */
function conditionsOf({ search, which }: Look) {
  const { reference, status, type, host, createdAfter, createdBefore } = search;
  const byStatus = which === "events" ? [] : ["url IS NOT NULL"];
  if (status !== undefined) byStatus.push(BY_STATUS[status]);
  const others = which === "replayable" ? [REPLAYABLE] : [];
  if (host !== undefined) others.push("host = :host");
  if (type !== undefined) others.push("type = :type");
  if (createdAfter !== undefined) others.push("created_at >= :createdAfter");
  if (createdBefore !== undefined) others.push("created_at < :createdBefore");
  // A record has one event, so the index by reference is best.
  if (reference !== undefined) return { indexed: ["reference = :reference"], others: [...byStatus, ...others] };
  return status === undefined ? { indexed: [], others: [...byStatus, ...others] } : { indexed: byStatus, others };
}

/** Rewrites a condition, if necessary, so that the database does not choose an index for it. */
const UNINDEXED = { sqlite: (condition: string) => `+${condition}`, postgres: (condition: string) => condition };

/** Reads the next matching entries, newest first. Reads a bounded number of entries if no index has only matching entries. */
async function look({ database, read }: Executor, asked: Look): Promise<Found> {
  const { indexed, others } = conditionsOf(asked);
  const { columns, limit: most, search } = asked;

  function find(what: string, range: Range, conditions: readonly string[], limit: number, skipped = 0) {
    const all = ["merchant_id = :merchantId", ...indexed, ...conditions.map(UNINDEXED[database])];
    // PostgreSQL would expect few rows in a range with two ends, and could sort them.
    if (range.after > 0) all.push("seq > :after");
    if (range.before < LAST) all.push("seq < :before");
    const text = `SELECT ${what} FROM events WHERE ${all.join(" AND ")} ORDER BY seq DESC LIMIT :limit OFFSET :skipped`;
    return read({ text, values: { ...search, ...range, limit, skipped } });
  }

  const isBounded = others.length > 0 && search.reference === undefined;
  const [reached] = isBounded ? await find("seq, created_at", asked.range, [], 1, MOST_PER_LOOK - 1) : [];
  if (!reached) return { rows: await find(columns, asked.range, others, most) };
  const range = { ...asked.range, after: (reached.seq as number) - 1 };
  return { rows: await find(columns, range, others, most), reached };
}

export const EVENT = "id merchant_id type reference created_at body";
const toEvent = fields<Event>(EVENT);

const deliveryOf = fields<Delivery>(`${EVENT} url status step next_attempt_at`);
/** An attempt with the token of the claim under which it was made. A repeated report has the same token. */
export type StoredAttempt = Attempt & { token: number };
/** @param row with its merchant's clock_offset */
const toDelivery = (row: Row): Delivery => ({
  ...deliveryOf(row),
  ...(row.next_attempt_at !== null && { nextAttemptAt: row.next_attempt_at + row.clock_offset }),
  attempts: (JSON.parse(row.attempts) as StoredAttempt[]).map((attempt) => ({ ...attempt, token: undefined })),
});

/** The clock of the event's merchant, with which `toDelivery` shows the time of the next attempt. */
const WITH_OFFSET = "*, (SELECT clock_offset FROM merchants WHERE id = merchant_id) AS clock_offset";
const FIND = `SELECT ${WITH_OFFSET} FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL`;

export function eventLog(executor: Executor): Omit<EventLog, "countDeliveries"> {
  /**
   * Reads a page, newest first. Positions are in the order of commits, so no entry appears behind another one later
   * (D42).
   */
  async function pageOf(list: "events" | "deliveries", query: EventQuery & DeliverySearch): Promise<Page<Row>> {
    const asked = { ...query, list, scope: query.merchantId, start: { seq: LAST } };
    const { search, range } = await inPlace(executor, query);
    const { rows, reached } = await look(executor, {
      search,
      range: { ...range, before: Math.min(placeOf(asked).seq as number, range.before) },
      which: list,
      columns: WITH_OFFSET,
      limit: query.limit + 1,
    });
    return toPage(asked, rows, (row) => row, reached);
  }

  return {
    async findDelivery(merchant, id) {
      return (await executor.read({ text: FIND, values: { merchant, id } })).map(toDelivery)[0];
    },
    async listEvents(query) {
      const page = await pageOf("events", query);
      return { ...page, items: page.items.map(toEvent) };
    },
    async listDeliveries(query) {
      const page = await pageOf("deliveries", query);
      return { ...page, items: page.items.map(toDelivery) };
    },
  };
}

/**
 * Finds the deliveries that a replay sends again, the newest first. Reads a bounded number of deliveries.
 * @throws ServiceError `invalid_value` if there may be more than MOST_REPLAYED
 */
export async function findReplayable(executor: Executor, asked: OfMerchant): Promise<Row[]> {
  const { search, range } = await inPlace(executor, asked);
  const how = { search, which: "replayable", columns: "id, seq, status, host", limit: MOST_REPLAYED + 1 } as const;
  const found: Row[] = [];
  for (let looks = 0; looks < MOST_LOOKS && found.length <= MOST_REPLAYED; looks += 1) {
    const { rows, reached } = await look(executor, { ...how, range });
    found.push(...rows);
    if (!reached && found.length <= MOST_REPLAYED) return found;
    if (reached) range.before = reached.seq;
    // Let requests run in between.
    await nextTurn();
  }
  throw new ServiceError(
    "invalid_value",
    `A replay sends at most ${MOST_REPLAYED} webhooks, and there may be more. Choose a shorter time, or one host.`,
  );
}

/**
 * Returns the range of positions of a search, and what else is searched. Events are written in the order of their times,
 * unless the merchant's clock was moved. After a move, events of the skipped time may follow events with later times, and
 * a period says nothing about positions.
 */
async function inPlace(executor: Executor, asked: OfMerchant): Promise<Pick<Look, "search" | "range">> {
  const { createdAfter, createdBefore, ...search } = asked;
  const range = { after: 0, before: LAST };
  if (createdAfter === undefined && createdBefore === undefined) return { search, range };
  const [merchant] = await executor.read({ text: CLOCK, values: { merchant: asked.merchantId } });
  if (merchant?.clock_offset !== 0) return { search: asked, range };
  if (createdAfter !== undefined) range.after = (await firstAt(executor, asked.merchantId, createdAfter)) - 1;
  if (createdBefore !== undefined) range.before = await firstAt(executor, asked.merchantId, createdBefore);
  return { search, range };
}

const CLOCK = "SELECT clock_offset FROM merchants WHERE id = :merchant";
/** When the first event at or after a position was created. */
const TIME = `SELECT seq, created_at FROM events WHERE merchant_id = :merchant AND seq >= :place ORDER BY seq LIMIT 1`;

/** Returns the position of the first event at or after `time`, or a later position than that of all events. */
async function firstAt({ read }: Executor, merchant: string, time: number): Promise<number> {
  let [low, high] = [0, LAST];
  while (low < high) {
    const place = Math.floor(low + (high - low) / 2);
    const [row] = await read({ text: TIME, values: { merchant, place } });
    if (row === undefined || row.created_at >= time) high = place;
    else low = row.seq + 1;
  }
  return high;
}
