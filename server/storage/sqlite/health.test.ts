import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "./database.ts";
import { watchHealth } from "./health.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "health-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sqliteError = (errcode: number) => Object.assign(new Error("disk"), { code: "ERR_SQLITE_ERROR", errcode });
const [FULL, FSYNC] = [13, 1_034];

function watch() {
  const path = join(folder, "server.db");
  const db = openDatabase(path);
  db.exec("CREATE TABLE any (id INTEGER)");
  const reports: boolean[] = [];
  let time = 0;
  const health = watchHealth(
    path,
    () => time,
    (name, event) => void (name === "storage" && reports.push((event as { working: boolean }).working)),
  );
  return { health, reports, pass: (milliseconds: number) => (time += milliseconds), close: () => health.close(db) };
}

test("if the flush of a checkpoint fails, neither the commit in progress nor a later one counts", () => {
  const { health, reports, pass, close } = watch();
  health.require();
  health.checkpointFailed(sqliteError(FSYNC));
  expect(health.committed).toThrow("failed to store the log");
  pass(60_000);
  expect(health.require).toThrow("Check the disk");
  expect(reports).toEqual([false]);
  close();
});

test("if the flush of a commit fails, no later commit follows it in the log", () => {
  const { health, close } = watch();
  const error = sqliteError(FSYNC);
  // Whether this commit was stored is unknown.
  expect(health.explain(error)).toBe(error);
  expect(health.require).toThrow("Check the disk");
  close();
});

test("a checkpoint for which the disk is too full is reported, and commits go on", () => {
  const { health, reports, pass, close } = watch();
  health.checkpointFailed(sqliteError(FULL));
  health.require();
  health.committed();
  pass(60_000);
  health.committed();
  expect(reports).toEqual([false, true]);
  close();
});
