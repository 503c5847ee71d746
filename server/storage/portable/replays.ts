import { actorName } from "../../domain/audit.ts";
import type { DeliveryStatus } from "../../domain/deliveries.ts";
import type { ReplayStore } from "../../domain/webhooks.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import { countDeliveries, courseOf, nextOnCourse } from "./event-search.ts";
import {
  pauseAfter,
  startEntry,
  stepSize,
  stopEntry,
  toReplay,
  toStoredReplay,
  type StoredReplay,
} from "./replay-rows.ts";
import type { Row, Values } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Work } from "./query.ts";

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
const MAKE_READY = `UPDATE events AS e SET status = 'pending', step = 0, next_attempt_at = :now, ready = true,
    replay = given.replay
  FROM :rows WHERE e.merchant_id = given.merchant_id AND e.id = given.id AND e.status = given.status
    AND NOT e.ready AND e.leased_until IS NULL`;
const RECORD = `UPDATE replays SET seq = :seq, replayed = replayed + :replayed, skipped = skipped + :skipped,
    due_at = :due, state = :state, ended_real = :ended WHERE merchant_id = :merchant AND id = :id`;

const BY_STATUS = ["pending", "delivered", "ended", "exhausted"] as const satisfies DeliveryStatus[];
/** One range of the index for each status. A pending webhook that was attempted since its replay has left the first step. */
const OUTCOMES = [...BY_STATUS.map((status) => `'${status}'`), "'pending' AND step > 0"].map(
  (outcome) => `SELECT count(*) AS count FROM (SELECT 1 FROM events
  WHERE merchant_id = :merchant AND replay = :id AND status = ${outcome} LIMIT ${MOST_COUNTED + 1}) AS found`,
);

export function replays(executor: Executor): ReplayStore {
  const { read, readAll, write } = executor;
  return {
    countDeliveries: (merchantId, filter) => countDeliveries(executor, merchantId, filter),
    async startReplay(replay, actor) {
      const { id, merchantId, filter, pace, expected = null } = replay;
      const { seq, lastSeq } = await courseOf(executor, merchantId, filter);
      return write(function* () {
        const values = { merchant: merchantId, id, filter: JSON.stringify(filter), pace, expected };
        const [row] = (yield* run(INSERT, { ...values, actor: actorName(actor), seq, lastSeq })).rows;
        if (!row) return undefined;
        yield* recordAction(startEntry(replay, actor));
        return toReplay(row);
      });
    },
    stopReplay: (merchantId, id, actor) =>
      write(function* () {
        const { count } = yield* run(STOP, { merchant: merchantId, id, actor: actorName(actor) });
        if (count === 0) return false;
        yield* recordAction(stopEntry(merchantId, id, actor));
        return true;
      }),
    async findReplay(merchantId, id) {
      const [row] = await read({ text: FIND, values: { merchant: merchantId, id } });
      return row && toReplay(row);
    },
    async countReplayed(merchantId, id) {
      const values = { merchant: merchantId, id };
      const found = await readAll(OUTCOMES.map((text) => ({ text, values })));
      const [waiting, delivered, ended, exhausted, again] = found.map(([row]) => row!.count);
      return { waiting: waiting!, again: again!, delivered: delivered!, failed: ended! + exhausted! };
    },
    async listReplays(merchantId, limit) {
      return (await read({ text: NEWEST, values: { merchant: merchantId, limit } })).map(toReplay);
    },
    async advanceReplay() {
      const [due] = await read({ text: DUE });
      if (!due) return undefined;
      const replay = toStoredReplay(due);
      const { merchantId, filter, course, pace } = replay;
      const next = await nextOnCourse(executor, merchantId, filter, course, stepSize(pace));
      // A power failure may undo attempts, which are then repeated, but it never undoes a step whose webhooks were
      // sent. If the step is repeated although it was committed, the position has changed.
      return write(() => step(replay, next), { commit: "writeSoon", repeatable: true });
    },
  };
}

/** Makes the deliveries ready that were read, unless another process has done so or the replay has ended. */
function* step(
  { merchantId, id, pace, course }: StoredReplay,
  { rows, seq }: { rows: readonly Row[]; seq: number },
): Work<number> {
  const merchant = yield* lockMerchant(merchantId, "shares");
  const [current] = (yield* run(LOCK, { merchant: merchantId, id })).rows;
  if (current?.state !== "running" || current.seq !== course.seq) return 0;
  const found = rows.map((row) => ({ merchant_id: merchantId, id: row.id, status: row.status, replay: id }) as Values);
  const columns = { merchant_id: "text", id: "text", status: "text", replay: "text" };
  const [made] = yield [{ text: MAKE_READY, rows: { columns, values: found } }];
  const replayed = made!.count;
  const isDone = seq >= course.lastSeq;
  yield* run(RECORD, {
    merchant: merchantId,
    id,
    seq,
    replayed,
    skipped: rows.length - replayed,
    due: merchant.now + pauseAfter(replayed, pace),
    state: isDone ? "done" : "running",
    ended: isDone ? merchant.now : null,
  });
  return replayed;
}
