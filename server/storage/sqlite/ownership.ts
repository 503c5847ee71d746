import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { ServiceError } from "../../domain/errors.ts";
import { StorageError } from "../storage-error.ts";

const WAIT_MS = 1_500;
const LOOK_EVERY_MS = 50;

export interface Ownership {
  /** Runs at the end of each transaction. @throws ServiceError if another server has taken the database over */
  require(): void;
  isChallenged(): boolean;
  /** Removes the challenge that a second server has left at its start, to show that this server is running. */
  respond(): void;
}

/**
 * Makes this process the only server of a database, even if the lock file was deleted or the database is opened by
 * another name. The lock file proves that the previous server has ended, but only if it is the file that the previous
 * server held. Otherwise this process leaves a challenge, which a running server removes.
 * @param lockFile identifies the lock file that this process holds
 * @throws StorageError if another server is running
 */
export function takeOwnership(db: DatabaseSync, path: string, lockFile: string): Ownership {
  const instance = randomUUID();
  const select = db.prepare("SELECT instance, lock_file, challenge FROM server WHERE id = 1");
  const previous = select.get();
  if (previous && previous.lock_file !== lockFile && isAlive(db)) {
    throw new StorageError(
      `Another server is using ${path}, although its lock file was deleted or replaced. Stop that server first.`,
    );
  }
  db.prepare("INSERT OR REPLACE INTO server (id, instance, lock_file) VALUES (1, ?, ?)").run(instance, lockFile);
  const removeChallenge = db.prepare("UPDATE server SET challenge = NULL WHERE id = 1 AND instance = ?");
  return {
    require() {
      if (select.get()?.instance === instance) return;
      const message = "Another server has taken over the database of this server.";
      throw new ServiceError("unavailable", message, { retryAfterSeconds: 5 });
    },
    isChallenged: () => Boolean(select.get()?.challenge),
    respond: () => void removeChallenge.run(instance),
  };
}

/** Leaves a challenge and waits until a running server removes it, or until it has waited long enough. */
function isAlive(db: DatabaseSync): boolean {
  const challenge = randomUUID();
  db.prepare("UPDATE server SET challenge = ? WHERE id = 1").run(challenge);
  const select = db.prepare("SELECT challenge FROM server WHERE id = 1");
  for (let waited = 0; waited < WAIT_MS; waited += LOOK_EVERY_MS) {
    // The process has no other work yet, so it may block.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
    if (select.get()?.challenge !== challenge) return true;
  }
  return false;
}
