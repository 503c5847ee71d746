import { REQUESTS_KEPT } from "../../domain/request-log.ts";
import type { Housekeeping, Pruned, PruneQuery } from "../../domain/housekeeping.ts";
import { erasePhones } from "./erasure.ts";
import { prunable, PRUNE_COLUMNS, prunedOf } from "./prunable.ts";
import type { Row } from "../rows.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { onAttempts, run, runAll, type Executor, type Work } from "./query.ts";

const KEYS = {
  events: "seq",
  disbursements: "merchants_reference",
  checkouts: "merchants_reference",
  refusals: "merchants_reference",
  entries: "reference",
  accounts: "currency",
  daily_sums: "day",
  erasures: "kind",
  erasures_waiting: "merchants_reference",
} as const;

const OF_EPOCH = "merchant_id = :merchant AND epoch = :epoch";
/** Attempts are found through their events, so they are deleted first. */
const STEPS = [
  onAttempts(
    (which) =>
      `DELETE FROM attempts WHERE ${which} IN (SELECT id FROM events WHERE ${OF_EPOCH} ORDER BY seq LIMIT :limit)`,
  ),
  ...Object.entries(KEYS).map(
    ([table, key]) => `DELETE FROM ${table} WHERE ${OF_EPOCH} AND ${key} IN
      (SELECT ${key} FROM ${table} WHERE ${OF_EPOCH} ${table === "events" ? "ORDER BY seq " : ""}LIMIT :limit)`,
  ),
];

const ANY_DISCARDED = "SELECT 1 FROM discarded_epochs LIMIT 1";
const DISCARDED = "SELECT * FROM discarded_epochs ORDER BY merchant_id, epoch LIMIT 1 FOR UPDATE SKIP LOCKED";
const FORGET_EPOCH = `DELETE FROM discarded_epochs WHERE ${OF_EPOCH}`;

const OLD_REQUESTS = "at_real <= (SELECT :now) - :kept::bigint";
const ANY_OLD_REQUEST = `SELECT 1 FROM request_log WHERE ${OLD_REQUESTS} LIMIT 1`;
const FORGET_REQUESTS = `WITH old AS MATERIALIZED (SELECT merchant_id, at_real, number, request_id FROM request_log
    WHERE ${OLD_REQUESTS} ORDER BY at_real LIMIT :limit FOR UPDATE SKIP LOCKED)
  DELETE FROM request_log WHERE (merchant_id, at_real, number, request_id) IN
    (SELECT merchant_id, at_real, number, request_id FROM old)`;

const SELECT = `SELECT ${PRUNE_COLUMNS} FROM events WHERE ${OF_EPOCH} AND seq > :after ORDER BY seq LIMIT :limit`;
const ATTEMPTS = onAttempts(
  (which) => `SELECT event_id, count(*) AS count, max(sent_real) AS last FROM attempts
    WHERE ${which} = ANY(:ids::text[]) GROUP BY event_id`,
);
/** A replay may have begun since the event was selected. */
const FORGET = `DELETE FROM events WHERE ${OF_EPOCH} AND seq = ANY(:seqs::bigint[])
  AND (url IS NULL OR status = 'delivered') AND NOT ready AND NOT claimed RETURNING id`;
const FORGET_ATTEMPTS = onAttempts((which) => `DELETE FROM attempts WHERE ${which} = ANY(:ids::text[])`);

export function housekeeping(executor: Executor): Housekeeping {
  const { write } = executor;
  return {
    async prune(limit) {
      return (await pruneResets(executor, limit)) + (await pruneRequests(executor, limit));
    },
    pruneEvents: (asked) => write(() => pruneEvents(asked), { repeatable: true }),
    erasePhones: (asked) => write(() => erasePhones(asked), { repeatable: true }),
  };
}

async function pruneResets({ read, write }: Executor, limit: number): Promise<number> {
  if ((await read({ text: ANY_DISCARDED })).length === 0) return 0;
  return write(() => pruneReset(limit), { repeatable: true });
}

function* pruneReset(limit: number): Work<number> {
  const [row] = (yield* run(DISCARDED)).rows;
  if (!row) return 0;
  const place = { merchant: row.merchant_id as string, epoch: row.epoch as number };
  const values = { ...place, limit: Math.ceil(limit / STEPS.length) };
  const results = yield* runAll(STEPS.map((text) => ({ text, values })));
  const deleted = results.reduce((sum, { count }) => sum + count, 0);
  if (deleted === 0) yield* run(FORGET_EPOCH, place);
  return deleted;
}

async function pruneRequests({ read, write }: Executor, limit: number): Promise<number> {
  const values = { kept: REQUESTS_KEPT.forMs, limit };
  if ((await read({ text: ANY_OLD_REQUEST, values })).length === 0) return 0;
  const options = { commit: "writeApart", repeatable: true } as const;
  return (await write(() => run(FORGET_REQUESTS, values), options)).count;
}

function* pruneEvents(asked: PruneQuery): Work<Pruned> {
  const { merchantId: merchant, before, after, limit, dryRun } = asked;
  const { epoch } = yield* lockMerchant(merchant, "shares");
  const { rows } = yield* run(SELECT, { merchant, epoch, after, limit });
  const { candidates, next } = prunable(rows, asked);
  const found = yield* run(ATTEMPTS, { merchant, ids: idsOf(candidates) });
  const attempts = new Map(found.rows.map((row) => [row.event_id, row]));
  const old = candidates.filter(({ id }) => ((attempts.get(id)?.last ?? 0) as number) < before);
  if (dryRun) {
    const count = old.reduce((sum, { id }) => sum + ((attempts.get(id)?.count ?? 0) as number), 0);
    return prunedOf(old, count, next);
  }
  const seqs = old.map(({ seq }) => seq as number);
  const deleted = new Set((yield* run(FORGET, { merchant, epoch, seqs })).rows.map(({ id }) => id));
  const gone = old.filter(({ id }) => deleted.has(id));
  const { count } = yield* run(FORGET_ATTEMPTS, { merchant, ids: idsOf(gone) });
  return prunedOf(gone, count, next);
}

const idsOf = (events: readonly Row[]) => events.map(({ id }) => id as string);
