// What is deleted, and when.
import { createHmac } from "node:crypto";
import { REQUESTS_KEPT } from "../../domain/request-log.ts";
import type { ClockStore, Housekeeping } from "../../domain/storage.ts";
import type { Sealing } from "../sealing.ts";
import { recordAction } from "./audit.ts";
import { erasePhones } from "./erasure.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Work } from "./query.ts";
import { changeSecrets } from "./merchants.ts";

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
const DELETED_AT_ONCE = ["accounts", "daily_sums", "erasures"];
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

const NEXT_EVENTS = `SELECT seq, created_at < :before AS is_old FROM events
  WHERE ${OF_MERCHANT} AND seq > :after ORDER BY seq LIMIT :limit`;
/** Sandbox time is never behind real time, so an event with an earlier sandbox time is at least as old in real time. */
const FORGET_EVENTS = `DELETE FROM events WHERE ${OF_MERCHANT} AND seq > :after AND seq <= :last AND created_at < :before
  AND (url IS NULL OR status = 'delivered') AND NOT ready AND leased_until IS NULL
  AND coalesce(attempted_real, 0) < :before`;

/**
 * Deletes rows of a locked merchant. Returns true if there may be more of them. The last step finds few rows in every
 * table, so what was written since the first step is deleted completely or not at all.
 */
function* resetStep(sealing: Sealing, { id: merchant, customerSecret }: LockedMerchant): Work<boolean> {
  const results = yield* runAll(DELETE.map((text) => ({ text, values: { merchant } })));
  const resetting = results.slice(0, -DELETED_AT_ONCE.length).some(({ count }) => count >= STEP);
  const secret = createHmac("sha256", customerSecret).update("reset").digest("hex");
  yield* run(RESET, { merchant, secret, resetting });
  yield* changeSecrets(merchant, sealing, ({ current }) => ({ current, previous: [] }));
  return resetting;
}

export function housekeeping({ read, write, sealing }: Executor): Housekeeping & Pick<ClockStore, "reset"> {
  /** Takes the steps of a reset that are left, if there are any. */
  async function finishReset(merchantId: string): Promise<void> {
    function* step(): Work<boolean> {
      const merchant = yield* lockMerchant(merchantId, "alone");
      return merchant.isResetting === true && (yield* resetStep(sealing, merchant));
    }
    while (await write(step, { idempotent: true }));
  }
  return {
    async reset(merchantId, actor) {
      const isUnfinished = await write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        yield* recordAction({ actor, action: "sandbox.reset", merchantId, details: {} });
        return yield* resetStep(sealing, merchant);
      });
      if (isUnfinished) await finishReset(merchantId);
    },
    async prune(limit) {
      const [unfinished] = await read({ text: RESETTING });
      if (unfinished) await finishReset(unfinished.id);
      const values = { kept: REQUESTS_KEPT.forMs, limit };
      if ((await read({ text: ANY_OLD_REQUEST, values })).length === 0) return 0;
      return (await write(() => run(FORGET_REQUESTS, values), { commit: "writeUnflushed", idempotent: true })).count;
    },
    pruneEvents: (asked) => write(() => pruneEvents(asked), { idempotent: true }),
    erasePhones: (asked) => write(() => erasePhones(asked), { idempotent: true }),
  };
}

function* pruneEvents({
  merchantId: merchant,
  ...step
}: Parameters<Housekeeping["pruneEvents"]>[0]): Work<number | undefined> {
  yield* lockMerchant(merchant, "shares");
  const { rows } = yield* run(NEXT_EVENTS, { merchant, ...step });
  const last = rows.at(-1)?.seq as number | undefined;
  if (last !== undefined) yield* run(FORGET_EVENTS, { merchant, ...step, last });
  // Later events usually have later times. Events of a time that a move of the clock has skipped are an exception: they
  // are deleted when the events before them are old enough.
  return rows.length < step.limit || !rows.every((row) => row.is_old) ? undefined : last;
}
