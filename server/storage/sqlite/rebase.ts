import type { DatabaseSync } from "node:sqlite";
import { PENDING } from "../portable/rebase.ts";

/**
 * Recomputes the due times that a process could not recompute before it crashed, after a merchant's clock was moved.
 * Call it before any other use.
 */
export function finishRebases(db: DatabaseSync): void {
  for (const { id } of db.prepare("SELECT id FROM merchants WHERE rebasing = 1").all()) {
    db.exec("BEGIN IMMEDIATE");
    for (const { table, dueAt, which } of PENDING) {
      db.prepare(
        `UPDATE ${table} SET due_real = ${dueAt} - m.clock_offset FROM merchants m
         WHERE m.id = ? AND ${table}.merchant_id = m.id AND ${table}.epoch = m.epoch AND ${which}`,
      ).run(id!);
    }
    db.prepare("UPDATE merchants SET rebasing = 0 WHERE id = ?").run(id!);
    db.exec("COMMIT");
  }
}
