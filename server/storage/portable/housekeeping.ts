// What is deleted, and when.
import { createHmac } from "node:crypto";
import { REQUESTS_KEPT } from "../../domain/request-log.ts";
import type { ClockStore, Housekeeping, Pruned, PruneQuery } from "../../domain/storage.ts";
import { recordAction } from "./audit.ts";
import { erasePhones } from "./erasure.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Work } from "./query.ts";

const OF_MERCHANT = "merchant_id = :merchant";

/** How many rows of a table a step of a reset deletes. Most sandboxes have fewer, and are reset in one transaction. */
const STEP = 1_000;
/** The tables whose rows a reset deletes, with a column of their key. */
const DELETED = {
  events: "seq",
  disbursements: "merchants_reference",
  checkouts: "merchants_reference",
  entries: "reference",
  refusals: "merchants_reference",
  erasures_waiting: "merchants_reference",
};
const SOME = `${OF_MERCHANT} LIMIT ${STEP}`;
const FIRST_EVENTS = `${OF_MERCHANT} ORDER BY seq LIMIT ${STEP}`;
/** The tables in which a merchant has few rows. */
const DELETED_AT_ONCE = ["accounts", "daily_sums", "erasures", "previous_webhook_secrets"];
const DELETE = [
  ...Object.entries(DELETED).map(
    ([table, key]) => `DELETE FROM ${table} WHERE ${OF_MERCHANT} AND ${key} IN
    (SELECT ${key} FROM ${table} WHERE ${table === "events" ? FIRST_EVENTS : SOME})`,
  ),
  ...DELETED_AT_ONCE.map((table) => `DELETE FROM ${table} WHERE ${OF_MERCHANT}`),
];
const RESET = `UPDATE merchants SET clock_offset = 0, chaos = NULL, customer_secret = :secret, resetting = :resetting
  WHERE id = :merchant`;
const RESETTING = "SELECT id FROM merchants WHERE resetting = true LIMIT 1";

const OLD_REQUESTS = "at_real <= (SELECT :now) - :kept::bigint";
const ANY_OLD_REQUEST = `SELECT 1 FROM request_log WHERE ${OLD_REQUESTS} LIMIT 1`;
const FORGET_REQUESTS = `WITH old AS MATERIALIZED (SELECT merchant_id, at_real, number, request_id FROM request_log
    WHERE ${OLD_REQUESTS} ORDER BY at_real LIMIT :limit FOR UPDATE SKIP LOCKED)
  DELETE FROM request_log WHERE (merchant_id, at_real, number, request_id) IN
    (SELECT merchant_id, at_real, number, request_id FROM old)`;

const DONE = "(url IS NULL OR status = 'delivered') AND NOT ready AND leased_until IS NULL";
/** Sandbox time is never behind real time, so an event with an earlier sandbox time is at least as old in real time. */
const SELECT_EVENTS = `SELECT id, seq, created_at < :before AS is_old, octet_length(body) AS bytes, attempts,
    created_at < :before AND ${DONE} AND coalesce(attempted_real, 0) < :before AS is_unneeded
  FROM events WHERE ${OF_MERCHANT} AND seq > :after ORDER BY seq LIMIT :limit`;
/** A replay may have begun since the event was selected. */
const FORGET_EVENTS = `DELETE FROM events WHERE ${OF_MERCHANT} AND seq = ANY(:seqs::bigint[]) AND ${DONE} RETURNING id`;

/**
 * Deletes rows of a locked merchant. Returns true if there may be more of them. The last step finds few rows in every
 * table, so what was written since the first step is deleted completely or not at all.
 */
function* resetStep({ id: merchant, customerSecret }: LockedMerchant): Work<boolean> {
  const results = yield* runAll(DELETE.map((text) => ({ text, values: { merchant } })));
  const resetting = results.slice(0, -DELETED_AT_ONCE.length).some(({ count }) => count >= STEP);
  const secret = createHmac("sha256", customerSecret).update("reset").digest("hex");
  yield* run(RESET, { merchant, secret, resetting });
  return resetting;
}

export function housekeeping({ read, write }: Executor): Housekeeping & Pick<ClockStore, "reset"> {
  /** Takes the steps of a reset that are left, if there are any. */
  async function finishReset(merchantId: string): Promise<void> {
    function* step(): Work<boolean> {
      const merchant = yield* lockMerchant(merchantId, "alone");
      return merchant.isResetting === true && (yield* resetStep(merchant));
    }
    while (await write(step, { repeatable: true }));
  }
  return {
    async reset(merchantId, actor) {
      const isUnfinished = await write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        if (actor) yield* recordAction({ actor, action: "sandbox.reset", merchantId, details: {} });
        return yield* resetStep(merchant);
      });
      if (isUnfinished) await finishReset(merchantId);
    },
    async prune(limit) {
      const [unfinished] = await read({ text: RESETTING });
      if (unfinished) await finishReset(unfinished.id);
      const values = { kept: REQUESTS_KEPT.forMs, limit };
      if ((await read({ text: ANY_OLD_REQUEST, values })).length === 0) return 0;
      return (await write(() => run(FORGET_REQUESTS, values), { commit: "writeUnflushed", repeatable: true })).count;
    },
    pruneEvents: (asked) => write(() => pruneEvents(asked), { repeatable: true }),
    erasePhones: (asked) => write(() => erasePhones(asked), { repeatable: true }),
  };
}

function* pruneEvents({ merchantId: merchant, before, after, limit, dryRun }: PruneQuery): Work<Pruned> {
  yield* lockMerchant(merchant, "shares");
  const { rows } = yield* run(SELECT_EVENTS, { merchant, before, after, limit });
  let gone = rows.filter((row) => row.is_unneeded);
  if (!dryRun) {
    const forgotten = yield* run(FORGET_EVENTS, { merchant, seqs: gone.map(({ seq }) => seq) });
    const ids = new Set(forgotten.rows.map(({ id }) => id as string));
    gone = gone.filter(({ id }) => ids.has(id));
  }
  // Later events usually have later times. Events of a time that a move of the clock has skipped are an exception: they
  // are deleted when the events before them are old enough.
  const isLast = rows.length < limit || !rows.every((row) => row.is_old);
  return {
    events: gone.length,
    attempts: gone.flatMap(({ attempts }) => JSON.parse(attempts) as unknown[]).length,
    bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(!isLast && { next: rows.at(-1)!.seq as number }),
  };
}
