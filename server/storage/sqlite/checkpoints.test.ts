import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createCheckpoints } from "./checkpoints.ts";
import { openDatabase } from "./database.ts";
import { watchFiles } from "./file-watch.ts";

const PAGE = 4_096;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "checkpoints-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open() {
  const path = join(folder, "server.db");
  const db = openDatabase(path);
  db.exec("PRAGMA synchronous = OFF; CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB)");
  const insert = db.prepare(`INSERT INTO pages (content) VALUES (zeroblob(${250 * PAGE}))`);
  const files = watchFiles(path);
  const checkpoints = createCheckpoints(db, path);
  return {
    file: () => statSync(path).size,
    log: files.log,
    logFile: () => statSync(`${path}-wal`).size,
    /** Commits about 250 pages. */
    write() {
      insert.run();
      expect(files.look()).toBeUndefined();
      checkpoints.committed(files.log());
    },
    async close() {
      await checkpoints.close();
      expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      files.close();
      db.close();
    },
  };
}

test("a thread copies a long log into the file, and no commit does", async () => {
  const database = open();
  for (let count = 0; count < 15; count += 1) database.write();
  expect(database.file()).toBeLessThan(250 * PAGE);
  for (let count = 0; count < 2; count += 1) database.write();
  await vi.waitFor(() => expect(database.file()).toBeGreaterThan(16 * 250 * PAGE), 30_000);
  await database.close();
});

test("the log is written from its beginning again although the writes go on", async () => {
  const database = open();
  let isRestarted = false;
  // On a busy machine, the thread needs more turns.
  for (let count = 0, before = 0; count < 2_000 && !isRestarted; count += 1) {
    database.write();
    const { all } = database.log();
    isRestarted = all < before;
    before = all;
    await turn();
  }
  expect(isRestarted).toBe(true);
  await database.close();
});

test("without the thread, commits copy the log before it is too long", async () => {
  const database = open();
  // This turn of the event loop does not end, so that no answer of the thread arrives. Its only copy may be late.
  for (let count = 0; count < 400; count += 1) database.write();
  expect(database.logFile()).toBeLessThan(60_000 * PAGE);
  await database.close();
});
