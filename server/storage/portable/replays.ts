import { actorName } from "../../domain/audit.ts";
import type { Replay, ReplayStore } from "../../domain/webhooks.ts";
import { fields, type Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { countDeliveries, courseOf, nextOnCourse } from "./events.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { given, run, type Executor, type Work } from "./query.ts";

const INSERT = `INSERT INTO replays
    (merchant_id, id, filter, pace, expected, started_real, started_by, seq, last_seq, state, due_at)
  SELECT :merchant, :id, :filter, :pace, :expected, given.now, :actor, :seq, :lastSeq, 'running', given.now
  FROM (SELECT :now AS now) AS given WHERE true ON CONFLICT DO NOTHING RETURNING *`;
const STOP = `UPDATE replays SET state = 'stopped', ended_real = :now, stopped_by = :actor
  WHERE merchant_id = :merchant AND id = :id AND state = 'running'`;
const FIND = "SELECT * FROM replays WHERE merchant_id = :merchant AND id = :id";
const NEWEST = "SELECT * FROM replays WHERE merchant_id = :merchant ORDER BY id DESC LIMIT :limit";
const DUE = "SELECT * FROM replays WHERE state = 'running' AND due_at <= (SELECT :now) ORDER BY due_at LIMIT 1";
const LOCK = "SELECT seq, state FROM replays WHERE merchant_id = :merchant AND id = :id FOR UPDATE";
/** Skips deliveries that have changed since they were read. */
const MAKE_READY = `UPDATE events AS e SET status = 'pending', step = 0, next_attempt_at = :now, ready = true
  FROM :rows WHERE e.merchant_id = :merchant AND e.id = given.id AND e.status = given.status
    AND NOT e.ready AND e.leased_until IS NULL`;
const RECORD = `UPDATE replays SET seq = :seq, replayed = replayed + :replayed, skipped = skipped + :skipped,
    due_at = :due, state = :state, ended_real = :ended WHERE merchant_id = :merchant AND id = :id`;

/**
 * How many steps per second a replay has while nothing is skipped. Each step is a transaction, and makes an equal part of
 * the second's deliveries ready.
 */
const STEPS_PER_SECOND = 4;

const toReplay = fields<Replay>(
  "id merchant_id filter pace expected started_real started_by replayed skipped state ended_real stopped_by",
);

/** Times are the only numbers of a filter. */
const textOf = (value: string | number): string => (typeof value === "number" ? new Date(value).toISOString() : value);

export function replays(executor: Executor): ReplayStore {
  const { read, write } = executor;
  return {
    countDeliveries: (merchantId, filter) => countDeliveries(executor, { ...filter, merchantId }),
    async startReplay({ id, merchantId, filter, pace, expected }, actor) {
      const course = await courseOf(executor, { ...filter, merchantId });
      return write(function* () {
        const values = { merchant: merchantId, id, filter: JSON.stringify(filter), pace, expected, ...course };
        const [row] = (yield* run(INSERT, { ...values, actor: actorName(actor) })).rows;
        if (!row) return undefined;
        const conditions = Object.entries(filter).map(([name, value]) => [name, textOf(value)]);
        const details = {
          replay: id,
          ...Object.fromEntries(conditions),
          pace: `${pace} per second`,
          ...(expected !== undefined && { deliveries: String(expected) }),
        };
        yield* recordAction({ actor, action: "replay.start", merchantId, details });
        return toReplay(row);
      });
    },
    stopReplay: (merchantId, id, actor) =>
      write(function* () {
        const { count } = yield* run(STOP, { merchant: merchantId, id, actor: actorName(actor) });
        if (count === 0) return false;
        yield* recordAction({ actor, action: "replay.stop", merchantId, details: { replay: id } });
        return true;
      }),
    async findReplay(merchant, id) {
      const [row] = await read({ text: FIND, values: { merchant, id } });
      return row && toReplay(row);
    },
    async listReplays(merchant, limit) {
      return (await read({ text: NEWEST, values: { merchant, limit } })).map(toReplay);
    },
    async advanceReplay() {
      const [row] = await read({ text: DUE });
      if (!row) return undefined;
      const { id, merchantId, filter, pace } = toReplay(row);
      const course = { seq: row.seq, lastSeq: row.last_seq };
      const size = Math.ceil(pace / STEPS_PER_SECOND);
      const next = await nextOnCourse(executor, { ...filter, merchantId }, course, size);

      /** Makes the deliveries ready that were read, unless another process has done so or the replay has ended. */
      function* step(): Work<number> {
        const merchant = yield* lockMerchant(merchantId, "shares");
        const [current] = (yield* run(LOCK, { merchant: merchantId, id })).rows;
        if (current?.state !== "running" || current.seq !== course.seq) return 0;
        const values = next.rows.map(({ id: event, status }: Row) => ({ id: event, status }));
        const rows = given("events", values);
        const [made] = yield [{ text: MAKE_READY, values: { merchant: merchantId }, rows }];
        const replayed = made!.count;
        const isDone = next.seq >= course.lastSeq;
        yield* run(RECORD, {
          merchant: merchantId,
          id,
          seq: next.seq,
          replayed,
          skipped: next.rows.length - replayed,
          // The pause keeps the pace.
          due: merchant.now + Math.ceil((replayed * 1_000) / pace),
          state: isDone ? "done" : "running",
          ended: isDone ? merchant.now : null,
        });
        return replayed;
      }
      // A power failure may undo attempts, which are then repeated, but it never undoes a step whose webhooks were
      // sent. If the step is repeated although it was committed, the position has changed.
      return write(step, { commit: "writeSoon", repeatable: true });
    },
  };
}
