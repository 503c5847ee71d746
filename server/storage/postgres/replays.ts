import { actorName } from "../../domain/audit.ts";
import type { ReplayStore } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import { countDeliveries, courseOf, nextOnCourse } from "../event-search.ts";
import {
  pauseAfter,
  startEntry,
  stepSize,
  stopEntry,
  toReplay,
  toStoredReplay,
  type StoredReplay,
} from "../replay-rows.ts";
import type { Row } from "../rows.ts";
import { recordAction } from "./executor.ts";
import { unnested, type Context } from "./context.ts";
import type { Query } from "./database.ts";
import { eventReader } from "./event-log.ts";
import { lockMerchant } from "./merchant-rows.ts";

const INSERT = `INSERT INTO replays
    (merchant_id, id, filter, pace, expected, started_real, started_by, seq, last_seq, state, due_real)
  SELECT $1, $2, $3, $4, $5, t.now, $6, $7, $8, 'running', t.now FROM (SELECT :now AS now) t
  ON CONFLICT DO NOTHING RETURNING *`;
const STOP = `UPDATE replays SET state = 'stopped', ended_real = :now, stopped_by = $3
  WHERE merchant_id = $1 AND id = $2 AND state = 'running'`;
const DUE = `SELECT * FROM replays WHERE state = 'running' AND due_real <= (SELECT :now) ORDER BY due_real LIMIT 1`;
const LOCK = "SELECT seq, state FROM replays WHERE merchant_id = $1 AND id = $2 FOR UPDATE";
/** Leaves alone what has changed since it was read. */
const MAKE_READY = `UPDATE events e SET status = 'pending', step = 0, next_attempt_at = $4, due_real = NULL, ready = true
  FROM ${unnested(["text", "text", "text"])} AS found (merchant_id, id, status)
  WHERE e.merchant_id = found.merchant_id AND e.id = found.id AND e.status = found.status
    AND NOT e.ready AND NOT e.claimed`;
const RECORD = `UPDATE replays SET seq = $3, replayed = replayed + $4, skipped = skipped + $5, due_real = $6,
    state = $7, ended_real = $8 WHERE merchant_id = $1 AND id = $2`;

export function replays(context: Context): ReplayStore {
  const { db } = context;
  const reader = eventReader(context);
  return {
    countDeliveries: (merchantId, filter) => countDeliveries(reader, merchantId, filter),
    async startReplay(replay, actor) {
      const { id, merchantId, filter, pace, expected = null } = replay;
      const { seq, lastSeq } = await courseOf(reader, merchantId, filter);
      return db.transaction(async (query) => {
        const values = [merchantId, id, JSON.stringify(filter), pace, expected, actorName(actor), seq, lastSeq];
        const [row] = (await query(INSERT, values)).rows;
        if (!row) return undefined;
        await recordAction(query, startEntry(replay, actor));
        return toReplay(row);
      });
    },
    stopReplay: (merchantId, id, actor) =>
      db.transaction(async (query) => {
        if ((await query(STOP, [merchantId, id, actorName(actor)])).count === 0) return false;
        await recordAction(query, stopEntry(merchantId, id, actor));
        return true;
      }),
    async findReplay(merchantId, id) {
      const { rows } = await db.read("SELECT * FROM replays WHERE merchant_id = $1 AND id = $2", [merchantId, id]);
      return rows[0] && toReplay(rows[0]);
    },
    async listReplays(merchantId, limit) {
      const sql = "SELECT * FROM replays WHERE merchant_id = $1 ORDER BY id DESC LIMIT $2";
      return (await db.read(sql, [merchantId, limit])).rows.map(toReplay);
    },
    async advanceReplay() {
      const [due] = (await db.read(DUE)).rows;
      if (!due) return undefined;
      const replay = toStoredReplay(due);
      const { merchantId, filter, course, pace } = replay;
      const next = await nextOnCourse(reader, merchantId, filter, course, stepSize(pace));
      // If it is repeated although it was committed, the position has changed.
      return db.transaction((query) => step(query, replay, next), { repeatable: true });
    },
  };
}

/** Makes the deliveries ready that were read, unless another process has done so or the replay has ended. */
async function step(
  query: Query,
  { merchantId, id, pace, course }: StoredReplay,
  { rows, seq }: { rows: readonly Row[]; seq: number },
): Promise<number> {
  const merchant = await lockMerchant(query, merchantId, "shares");
  const [current] = (await query(LOCK, [merchantId, id])).rows;
  if (current?.state !== "running" || current.seq !== course.seq) return 0;
  const found = [rows.map(() => merchantId), rows.map((row) => row.id), rows.map(({ status }) => status)];
  const { count } = await query(MAKE_READY, [...found, sandboxTime(merchant, merchant.now)]);
  const isDone = seq >= course.lastSeq;
  const end = isDone ? ["done", merchant.now] : ["running", null];
  const due = merchant.now + pauseAfter(count, pace);
  await query(RECORD, [merchantId, id, seq, count, rows.length - count, due, ...end]);
  return count;
}
