import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCheckpoints } from "./checkpoints.ts";
import { openDatabase } from "./database.ts";
import { watchFiles } from "./file-watch.ts";

const PAGE = 4_096;
const unexpected = (error: unknown) => {
  throw error;
};
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "checkpoints-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function open(options: Partial<Parameters<typeof createCheckpoints>[2]> = {}) {
  const path = join(folder, "server.db");
  const db = openDatabase(path);
  db.exec("PRAGMA synchronous = OFF; CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB)");
  const insert = db.prepare(`INSERT INTO pages (content) VALUES (zeroblob(${250 * PAGE}))`);
  const files = watchFiles(path);
  const checkpoints = createCheckpoints(db, path, { failed: unexpected, ...options });
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
  await expect.poll(() => database.file()).toBeGreaterThan(16 * 250 * PAGE);
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

test("on a small volume, the log leaves room for the database", async () => {
  const database = open({ freeBytes: () => 16 * 1024 * 1024 });
  for (let count = 0; count < 100; count += 1) {
    database.write();
    await turn();
  }
  expect(database.logFile()).toBeLessThan(2_000 * PAGE);
  await database.close();
});

test("a checkpoint that fails is reported, by the thread and by the event loop, and does not throw", async () => {
  const path = join(folder, "server.db");
  const db = openDatabase(path);
  const [file, errors] = [join(folder, "no database"), [] as unknown[]];
  writeFileSync(file, "no database ".repeat(1_000));
  const checkpoints = createCheckpoints(db, file, { failed: (error) => errors.push(error) });
  checkpoints.committed({ all: 11_000, uncopied: 10_000 });
  await expect.poll(() => errors).toMatchObject([{ code: "ERR_SQLITE_ERROR", errcode: 26 }]);
  db.close();
  checkpoints.committed({ all: 13_000, uncopied: 0 });
  expect(errors).toHaveLength(2);
  await checkpoints.close();
});
