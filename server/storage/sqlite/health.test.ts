import { expect, test } from "vitest";
import { createHealth } from "./health.ts";

const sqliteError = (errcode: number) => Object.assign(new Error("disk"), { code: "ERR_SQLITE_ERROR", errcode });
const [FULL, FSYNC] = [13, 1_034];

function watch() {
  const reports: boolean[] = [];
  let time = 0;
  const health = createHealth(
    () => time,
    (name, event) => void (name === "storage" && reports.push((event as { working: boolean }).working)),
  );
  return { health, reports, pass: (milliseconds: number) => (time += milliseconds) };
}

test("if the flush of a checkpoint fails, no later commit counts", () => {
  const { health, reports, pass } = watch();
  health.require();
  health.checkpointFailed(sqliteError(FSYNC));
  pass(60_000);
  health.committed();
  expect(health.require).toThrow("Check the disk");
  expect(reports).toEqual([false]);
});

test("if the flush of a commit fails, no later commit follows it in the log", () => {
  const { health } = watch();
  const error = sqliteError(FSYNC);
  // Whether this commit was stored is unknown.
  expect(health.explain(error)).toBe(error);
  expect(health.require).toThrow("Check the disk");
});

test("a checkpoint for which the disk is too full is reported, and commits go on", () => {
  const { health, reports, pass } = watch();
  health.checkpointFailed(sqliteError(FULL));
  health.require();
  health.committed();
  pass(60_000);
  health.committed();
  expect(reports).toEqual([false, true]);
});
