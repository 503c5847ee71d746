import { REQUESTS_KEPT } from "../../domain/request-log.ts";
import type { Housekeeping, Pruned, PruneQuery } from "../../domain/storage.ts";
import { erasePhones } from "./erasure.ts";
import type { Row } from "../rows.ts";
import { finishReset } from "./clocks.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Work } from "./query.ts";

const OF_MERCHANT = "merchant_id = :merchant";

const OLD_REQUESTS = "at_real <= (SELECT :now) - :kept::bigint";
const ANY_OLD_REQUEST = `SELECT 1 FROM request_log WHERE ${OLD_REQUESTS} LIMIT 1`;
const FORGET_REQUESTS = `WITH old AS MATERIALIZED (SELECT merchant_id, at_real, number, request_id FROM request_log
    WHERE ${OLD_REQUESTS} ORDER BY at_real LIMIT :limit FOR UPDATE SKIP LOCKED)
  DELETE FROM request_log WHERE (merchant_id, at_real, number, request_id) IN
    (SELECT merchant_id, at_real, number, request_id FROM old)`;

const SELECT = `SELECT id, seq, created_at, octet_length(body) AS bytes, url, status, ready, leased_until
  FROM events WHERE ${OF_MERCHANT} AND seq > :after ORDER BY seq LIMIT :limit`;
const OF_EVENTS = `${OF_MERCHANT} AND event_id = ANY(:ids::text[])`;
const ATTEMPTS = `SELECT event_id, count(*) AS count, max(sent_real) AS last FROM attempts
  WHERE ${OF_EVENTS} GROUP BY event_id`;
/** A replay may have begun since the event was selected. */
const FORGET = `DELETE FROM events WHERE ${OF_MERCHANT} AND seq = ANY(:seqs::bigint[])
  AND (url IS NULL OR status = 'delivered') AND NOT ready AND leased_until IS NULL RETURNING id`;
const FORGET_ATTEMPTS = `DELETE FROM attempts WHERE ${OF_EVENTS}`;

export function housekeeping(executor: Executor): Housekeeping {
  const { write } = executor;
  return {
    async prune(limit) {
      await finishReset(executor);
      return pruneRequests(executor, limit);
    },
    pruneEvents: (asked) => write(() => pruneEvents(asked), { repeatable: true }),
    erasePhones: (asked) => write(() => erasePhones(asked), { repeatable: true }),
  };
}

async function pruneRequests({ read, write }: Executor, limit: number): Promise<number> {
  const values = { kept: REQUESTS_KEPT.forMs, limit };
  if ((await read({ text: ANY_OLD_REQUEST, values })).length === 0) return 0;
  const options = { commit: "writeApart", repeatable: true } as const;
  return (await write(() => run(FORGET_REQUESTS, values), options)).count;
}

function* pruneEvents(asked: PruneQuery): Work<Pruned> {
  const { merchantId: merchant, before, after, limit, dryRun } = asked;
  yield* lockMerchant(merchant, "shares");
  const { rows } = yield* run(SELECT, { merchant, after, limit });
  const { candidates, next } = prunable(rows, asked);
  const found = yield* run(ATTEMPTS, { merchant, ids: idsOf(candidates) });
  const attempts = new Map(found.rows.map((row) => [row.event_id, row]));
  const old = candidates.filter(({ id }) => ((attempts.get(id)?.last ?? 0) as number) < before);
  if (dryRun) {
    const count = old.reduce((sum, { id }) => sum + ((attempts.get(id)?.count ?? 0) as number), 0);
    return prunedOf(old, count, next);
  }
  const seqs = old.map(({ seq }) => seq as number);
  const deleted = new Set((yield* run(FORGET, { merchant, seqs })).rows.map(({ id }) => id));
  const gone = old.filter(({ id }) => deleted.has(id));
  const { count } = yield* run(FORGET_ATTEMPTS, { merchant, ids: idsOf(gone) });
  return prunedOf(gone, count, next);
}

const idsOf = (events: readonly Row[]) => events.map(({ id }) => id as string);

const isDone = ({ url, status, ready, leased_until: leased }: Row) =>
  (url === null || status === "delivered") && !ready && leased === null;

/**
 * Splits a page of a merchant's events.
 * @returns the events that may be deleted unless they had a recent attempt, and where the next page begins
 */
function prunable(rows: readonly Row[], { before, limit }: PruneQuery) {
  // Sandbox time is never behind real time, so an event with an earlier sandbox time is at least as old in real time.
  const isOld = ({ created_at: createdAt }: Row) => (createdAt as number) < before;
  // Later events usually have later times. Events of a time that a move of the clock has skipped are an exception: they
  // are deleted when the events before them are old enough.
  const isLast = rows.length < limit || !rows.every(isOld);
  return {
    candidates: rows.filter((row) => isOld(row) && isDone(row)),
    ...(isLast ? {} : { next: rows.at(-1)!.seq as number }),
  };
}

/** Adds up what the deletion of these events removes. */
function prunedOf(rows: readonly Row[], attempts: number, next?: number) {
  const bytes = rows.reduce((sum, row) => sum + (row.bytes as number), 0);
  return { events: rows.length, attempts, bytes, ...(next === undefined ? {} : { next }) };
}
