// Migrations from every released version, beside another program that reads and writes.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { readMigrations } from "../migrations.ts";
import { migrateSqlite } from "./migrate.ts";

const MIGRATIONS = readMigrations(new URL("migrations/", import.meta.url));
let folder: string;
/** The contents of a new file. */
let latest: ReturnType<typeof contentsOf>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "migrate-"));
  latest = contentsOf(fileOf(MIGRATIONS.length, "latest.db"));
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "migrate-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function fileOf(version: number, name: string): string {
  const path = join(folder, name);
  const db = new DatabaseSync(path);
  db.enableDefensive(false);
  db.exec("PRAGMA journal_mode = WAL");
  for (const { sql } of MIGRATIONS.slice(0, version)) db.exec(sql);
  db.exec(`CREATE TABLE load (id INTEGER PRIMARY KEY); PRAGMA user_version = ${version}`);
  db.close();
  return path;
}

function contentsOf(path: string) {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return {
      schema: db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all(),
      version: db.prepare("PRAGMA user_version").get(),
      check: db.prepare("PRAGMA integrity_check").get(),
      load: (db.prepare("SELECT count(*) AS count FROM load").get() as { count: number }).count,
    };
  } finally {
    db.close();
  }
}

const LOAD = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  const db = new DatabaseSync(workerData.path, { timeout: 30000 });
  let count = 0;
  function write() {
    db.exec("BEGIN IMMEDIATE; INSERT INTO load DEFAULT VALUES");
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    db.exec("COMMIT");
    count += 1;
    if (count === 1) parentPort.postMessage("writing");
    // SQLite's lock has no queue, so leave room for others.
    if (Atomics.load(workerData.ended, 0) === 0) return setTimeout(write, 2);
    db.close();
    parentPort.postMessage(count);
  }
  write();`;

test.each(MIGRATIONS.map(({ version }) => version))(
  "migrates from version %i beside a program that writes",
  async (version) => {
    const path = fileOf(version, "old.db");
    const ended = new Int32Array(new SharedArrayBuffer(4));
    const other = new Worker(LOAD, { eval: true, workerData: { path, ended } });
    await once(other, "message");
    expect(migrateSqlite(path)).toEqual({ from: version, to: MIGRATIONS.length });
    Atomics.store(ended, 0, 1);
    const [written] = (await once(other, "message")) as [number];
    await other.terminate();
    const { load, ...migrated } = contentsOf(path);
    expect(load).toBe(written);
    expect(migrated).toEqual({ schema: latest.schema, version: latest.version, check: { integrity_check: "ok" } });
  },
);
