import { actorName } from "../../domain/audit.ts";
import type { ReplayStore } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import { countDeliveries, courseOf, nextOnCourse } from "../event-search.ts";
import { pauseAfter, startEntry, stepSize, stopEntry, toReplay, toStoredReplay } from "../replay-rows.ts";
import type { Row } from "../rows.ts";
import type { Context } from "./context.ts";

export function replays({ db, write, writeSoon, now, merchantOf, audit, reader }: Context): ReplayStore {
  const insert = db.prepare(
    `INSERT INTO replays
       (merchant_id, id, filter, pace, expected, started_real, started_by, seq, last_seq, state, due_real)
     VALUES (:merchant, :id, :filter, :pace, :expected, :now, :actor, :seq, :lastSeq, 'running', :now)
     ON CONFLICT DO NOTHING RETURNING *`,
  );
  const stop = db.prepare(
    `UPDATE replays SET state = 'stopped', ended_real = ?, stopped_by = ?
     WHERE merchant_id = ? AND id = ? AND state = 'running'`,
  );
  const select = db.prepare("SELECT * FROM replays WHERE merchant_id = ? AND id = ?");
  const selectNewest = db.prepare("SELECT * FROM replays WHERE merchant_id = ? ORDER BY id DESC LIMIT ?");
  const selectDue = db.prepare(
    "SELECT * FROM replays WHERE state = 'running' AND due_real <= ? ORDER BY due_real LIMIT 1",
  );
  const isAt = db.prepare("SELECT 1 FROM replays WHERE merchant_id = ? AND id = ? AND state = 'running' AND seq = ?");
  const makeReady = db.prepare(
    `UPDATE events SET status = 'pending', step = 0, next_attempt_at = ?, due_real = NULL, ready = 1
     WHERE seq = ? AND status = ? AND ready = 0 AND claimed = 0`,
  );
  const record = db.prepare(
    `UPDATE replays SET seq = :seq, replayed = replayed + :replayed, skipped = skipped + :skipped, due_real = :due,
       state = :state, ended_real = :ended WHERE merchant_id = :merchant AND id = :id`,
  );

  return {
    countDeliveries: (merchantId, filter) => countDeliveries(reader, merchantId, filter),
    async startReplay(replay, actor) {
      const { id, merchantId, filter, pace, expected = null } = replay;
      const course = await courseOf(reader, merchantId, filter);
      return write(() => {
        const values = { merchant: merchantId, id, filter: JSON.stringify(filter), pace, expected };
        const row = insert.get({ ...values, now: now(), actor: actorName(actor), ...course });
        if (!row) return undefined;
        audit.record(startEntry(replay, actor));
        return toReplay(row);
      });
    },
    stopReplay: (merchantId, id, actor) =>
      write(() => {
        if (stop.run(now(), actorName(actor), merchantId, id).changes === 0) return false;
        audit.record(stopEntry(merchantId, id, actor));
        return true;
      }),
    async findReplay(merchantId, id) {
      const row = select.get(merchantId, id);
      return row && toReplay(row);
    },
    async listReplays(merchantId, limit) {
      return selectNewest.all(merchantId, limit).map(toReplay);
    },
    async advanceReplay() {
      const due = selectDue.get(now());
      if (!due) return undefined;
      const { merchantId, id, filter, pace, course } = toStoredReplay(due);
      const { rows, seq } = await nextOnCourse(reader, merchantId, filter, course, stepSize(pace));
      // A loss of power may undo attempts, which then are repeated, but never a step whose webhooks were sent.
      return writeSoon(() => {
        if (!isAt.get(merchantId, id, course.seq)) return 0;
        const at = sandboxTime(merchantOf(merchantId)!, now());
        const replayed = rows.filter((row) => makeReady.run(at, ...keyOf(row)).changes === 1).length;
        const isDone = seq >= course.lastSeq;
        record.run({
          merchant: merchantId,
          id,
          seq,
          replayed,
          skipped: rows.length - replayed,
          due: now() + pauseAfter(replayed, pace),
          state: isDone ? "done" : "running",
          ended: isDone ? now() : null,
        });
        return replayed;
      });
    },
  };
}

/** What shows that a delivery is still as it was read. */
const keyOf = ({ seq, status }: Row) => [seq as number, status as string] as const;
