import { setImmediate as nextTurn } from "node:timers/promises";
import { MOST_COUNTED } from "../../domain/storage.ts";
import type { DeliveryCount } from "../../domain/webhooks.ts";
import type { DeliveryFilter, DeliverySearch, PageQuery } from "../../domain/deliveries.ts";
import type { Page } from "../../domain/pages.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import type { Row } from "../rows.ts";
import { mergedRanges, type Executor } from "./query.ts";

type Value = string | number;
/** A range of positions: greater than `after` and less than `before`. */
type Range = Record<"after" | "before", number>;
/** A part of an SQL statement, and the parameter after it. */
type Condition = [sql: string, value?: Value];

/** A search in a merchant's events. */
interface Look {
  merchantId: string;
  search: DeliverySearch;
  range: Range;
  /** Whether to find only events with an address. */
  hasAddress: boolean;
  /** Further conditions. */
  others?: readonly Condition[];
  /** True if the range contains only events of the period in `search`. */
  isTimed?: boolean;
  order: "ASC" | "DESC";
  columns: string;
  limit: number;
}

interface Found {
  rows: readonly Row[];
  /** The last entry that was read, if there are unread entries after it. */
  reached?: { seq: number; createdAt: number };
}

/**
 * The status is part of the statement. If the status were a parameter, PostgreSQL could not know that the status is
 * rare, and would read the events of all other statuses.
 */
const BY_STATUS: Readonly<Record<DeliveryFilter, Condition>> = {
  pending: ["status = 'pending'"],
  delivered: ["status = 'delivered'"],
  ended: ["status = 'ended'"],
  exhausted: ["status = 'exhausted'"],
  // The condition of the indexes `deliveries_failed` and `deliveries_failed_by_host`.
  failed: ["status IN ('ended', 'exhausted')"],
};
const WITH_ADDRESS: Condition = ["url IS NOT NULL"];
/** The statuses of events with an address. */
const STATUSES = ["pending", "delivered", "ended", "exhausted"] as const;
/** The clock of the event's merchant, with which `toDelivery` shows the time of the next attempt. */
export const OFFSET = "(SELECT clock_offset FROM merchants WHERE id = merchant_id) AS clock_offset";
/** Pending deliveries that are ready or being attempted need no replay. */
const REPLAYABLE: Condition = ["NOT ready AND leased_until IS NULL"];
const EVERYTHING: Range = { after: 0, before: Number.MAX_SAFE_INTEGER };

/**
 * How many entries a look reads at most, if it must also read entries that do not match. SQLite blocks the event loop
 * meanwhile, for some microseconds per row.
 */
const MOST_PER_LOOK = 2_000;
/** After this many looks a count ends. */
const MOST_LOOKS = 10;

/**
 * The conditions of a search. The database tests `others` on the row of each entry, and `indexed` on the index alone. The
 * entries that meet `indexed` are one range of an index, ordered by position; without a status, those with an address are a range
 * for each status.
 */
function conditionsOf({ search, hasAddress, others: given = [], isTimed }: Look) {
  const { reference, status, type, host, createdAfter, createdBefore } = search;
  const indexed: Condition[] = hasAddress ? [WITH_ADDRESS] : [];
  const others = [...given];
  if (reference !== undefined) indexed.push(["reference =", reference]);
  // A record has one event, so the index by reference is best.
  const byStatus = reference === undefined ? indexed : others;
  if (status !== undefined) byStatus.push(BY_STATUS[status]);
  if (host !== undefined) (status === "failed" ? byStatus : others).push(["host =", host]);
  if (type !== undefined) others.push(["type =", type]);
  if (!isTimed && createdAfter !== undefined) others.push(["created_at >=", createdAfter]);
  if (!isTimed && createdBefore !== undefined) others.push(["created_at <", createdBefore]);
  const isOneRange = !hasAddress || status !== undefined || reference !== undefined;
  return { ranges: isOneRange ? [indexed] : STATUSES.map((each) => [...indexed, BY_STATUS[each]]), others };
}

/** Collects the parameters of a statement. */
function parameters() {
  const values: Record<string, Value> = {};
  const put = (value: Value) => {
    const name = `p${Object.keys(values).length + 1}`;
    values[name] = value;
    return `:${name}`;
  };
  const render = ([sql, value]: Condition) => (value === undefined ? sql : `${sql} ${put(value)}`);
  return { values, put, render };
}

/** Rewrites a condition, if necessary, so that the database does not choose an index for it. */
const UNINDEXED = { sqlite: (condition: string) => `+${condition}`, postgres: (condition: string) => condition };

/** Reads the next matching entries. Reads a bounded number of entries if no index has only matching entries. */
async function look(executor: Executor, asked: Look): Promise<Found> {
  const { ranges, others } = conditionsOf(asked);
  const { order, columns, limit, search } = asked;

  function read(what: string, { after, before }: Range, conditions: readonly Condition[], count: number, skipped = 0) {
    const { values, put, render } = parameters();
    const all = [`merchant_id = ${put(asked.merchantId)}`];
    all.push(...conditions.map((each) => UNINDEXED[executor.database](render(each))));
    // PostgreSQL would expect few rows in a range with two ends, and could sort them.
    if (after > EVERYTHING.after) all.push(`seq > ${put(after)}`);
    if (before < EVERYTHING.before) all.push(`seq < ${put(before)}`);
    const selects = ranges.map(
      (indexed) => `SELECT ${what} FROM events WHERE ${[...all, ...indexed.map(render)].join(" AND ")}`,
    );
    const [end, endOfPart] = [`LIMIT ${put(count)} OFFSET ${put(skipped)}`, `LIMIT ${put(count + skipped)}`];
    const text = mergedRanges(executor.database, selects, `ORDER BY seq ${order}`, end, endOfPart);
    return executor.read({ text, values });
  }

  const isBounded = others.length > 0 && search.reference === undefined;
  const [end] = isBounded ? await read("seq, created_at", asked.range, [], 1, MOST_PER_LOOK - 1) : [];
  if (!end) return { rows: await read(columns, asked.range, others, limit) };
  const seq = end.seq as number;
  const range = order === "ASC" ? { ...asked.range, before: seq + 1 } : { ...asked.range, after: seq - 1 };
  const rows = await read(columns, range, others, limit);
  return { rows, reached: { seq, createdAt: end.created_at as number } };
}

/**
 * Reads a page of a list of events or deliveries, newest first. Positions are in the order of commits, so no entry appears
 * behind another one later (D42).
 */
export async function pageOf(
  executor: Executor,
  list: "events" | "deliveries",
  query: PageQuery & DeliverySearch,
): Promise<Page<Row>> {
  const { merchantId, limit, cursor } = query;
  const before = cursor === undefined ? EVERYTHING.before : openCursor(list, merchantId, cursor, 1)[0]!;
  const { isTimed, ...timed } = await rangeOf(executor, merchantId, query);
  const { rows: found, reached } = await look(executor, {
    merchantId,
    search: query,
    range: { ...timed, before: Math.min(before, timed.before) },
    hasAddress: list === "deliveries",
    isTimed,
    order: "DESC",
    columns: `*, ${OFFSET}`,
    // A row more than the page needs shows whether another page follows.
    limit: limit + 1,
  });
  const rows = found.slice(0, limit);
  const seal = (seq: unknown) => sealCursor(list, merchantId, [seq as number]);
  if (found.length > limit) return { items: rows, cursor: seal(rows.at(-1)!.seq) };
  return reached ? { items: rows, cursor: seal(reached.seq), searchedTo: reached.createdAt } : { items: rows };
}

/** Counts the deliveries that a replay would make ready. */
export async function countDeliveries(
  executor: Executor,
  merchantId: string,
  search: DeliverySearch,
): Promise<DeliveryCount> {
  const { isTimed, ...timed } = await rangeOf(executor, merchantId, search);
  const hosts: string[] = [];
  const how = {
    hasAddress: true,
    others: [REPLAYABLE],
    order: "DESC",
    columns: "host, seq",
    limit: MOST_COUNTED + 1,
  } as const;
  let isExact = false;
  for (let looks = 0, range: Range = timed; looks < MOST_LOOKS && hosts.length <= MOST_COUNTED; looks += 1) {
    const { rows, reached } = await look(executor, { merchantId, search, range, isTimed, ...how });
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
export async function courseOf(executor: Executor, merchantId: string, search: DeliverySearch): Promise<Course> {
  const [{ after, before }, last] = [await rangeOf(executor, merchantId, search), await lastSeq(executor, merchantId)];
  return { seq: after, lastSeq: Math.min(before - 1, last) };
}

/**
 * Reads the next deliveries on a replay's course.
 * @returns their rows, and the position up to which the course has been read
 */
export async function nextOnCourse(
  executor: Executor,
  merchantId: string,
  search: DeliverySearch,
  { seq, lastSeq: end }: Course,
  limit: number,
): Promise<{ rows: readonly Row[]; seq: number }> {
  const { rows, reached } = await look(executor, {
    merchantId,
    search,
    range: { after: seq, before: end + 1 },
    hasAddress: true,
    order: "ASC",
    columns: "id, seq, status",
    limit,
  });
  return { rows, seq: rows.length === limit ? (rows.at(-1)!.seq as number) : (reached?.seq ?? end) };
}

/**
 * Returns the positions of the events of a period. Events are written in the order of their times, unless the
 * merchant's clock was moved. After a move, events of the skipped time may follow events with later times, and the
 * period says nothing about positions.
 */
async function rangeOf(
  executor: Executor,
  merchantId: string,
  { createdAfter, createdBefore }: DeliverySearch,
): Promise<Range & { isTimed: boolean }> {
  if (createdAfter === undefined && createdBefore === undefined) return { ...EVERYTHING, isTimed: true };
  const values = { merchant: merchantId };
  const [merchant] = await executor.read({ text: "SELECT clock_offset FROM merchants WHERE id = :merchant", values });
  if (merchant?.clock_offset !== 0) return { ...EVERYTHING, isTimed: false };
  const last = await lastSeq(executor, merchantId);
  return {
    after: createdAfter === undefined ? 0 : (await firstSince(executor, merchantId, createdAfter, last)) - 1,
    before:
      createdBefore === undefined ? EVERYTHING.before : await firstSince(executor, merchantId, createdBefore, last),
    isTimed: true,
  };
}

/** The position of a merchant's last event; 0 if it has none. */
async function lastSeq(executor: Executor, merchantId: string): Promise<number> {
  const text = "SELECT seq FROM events WHERE merchant_id = :merchant ORDER BY seq DESC LIMIT 1";
  const [row] = await executor.read({ text, values: { merchant: merchantId } });
  return (row?.seq as number | undefined) ?? 0;
}

/** How many positions a step of a search reads. PostgreSQL needs a round trip for each step. */
const LOOKS_PER_STEP = 16;

/**
 * Returns the position of the first event at or after `time`, or the position after `last` if all events were created
 * earlier.
 */
async function firstSince(executor: Executor, merchantId: string, time: number, last: number): Promise<number> {
  let [low, high] = [0, last + 1];
  while (low < high) {
    const width = (high - low) / LOOKS_PER_STEP;
    const places = Array.from({ length: LOOKS_PER_STEP }, (_, index) => low + Math.floor(index * width));
    const times = await timesAt(executor, merchantId, places);
    const index = times.findIndex((each) => each >= time);
    if (index === -1) low = places.at(-1)! + 1;
    else [low, high] = [index === 0 ? low : places[index - 1]! + 1, places[index]!];
  }
  return high;
}

/** When the first event at or after each of these positions was created; infinite if there is no such event. */
async function timesAt(executor: Executor, merchantId: string, positions: readonly number[]): Promise<number[]> {
  const { values, put } = parameters();
  const merchant = put(merchantId);
  const columns = positions.map(
    (position, index) =>
      `(SELECT created_at FROM events WHERE merchant_id = ${merchant} AND seq >= ${put(position)} ORDER BY seq LIMIT 1) AS t${index}`,
  );
  const [row] = await executor.read({ text: `SELECT ${columns.join(", ")}`, values });
  return positions.map((_, index) => (row![`t${index}`] as number | null) ?? Infinity);
}
