import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { startServer } from "../../testing/server.ts";
import { aDisbursement } from "../../testing/storage/fixtures.ts";
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

test("a checkpoint for which the disk is too full is reported, and commits go on", () => {
  const { health, reports, pass } = watch();
  health.checkpointFailed(sqliteError(FULL));
  health.require();
  health.committed();
  pass(60_000);
  health.committed();
  expect(reports).toEqual([false, true]);
});

/** Starts a server whose flush fails at the next statement `what`, once there is a payout. */
async function failingAt(what: string) {
  const server = await startServer();
  onTestFinished(server.close);
  const { exec } = DatabaseSync.prototype;
  let hasFailed = false;
  const spy = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
    // The operating system reports a failed flush once.
    const fails = sql === what && !hasFailed && this.prepare("SELECT 1 FROM disbursements").get() !== undefined;
    hasFailed ||= fails;
    if (fails) throw sqliteError(FSYNC);
    exec.call(this, sql);
  });
  onTestFinished(() => spy.mockRestore());
  return { server, hasFailed: () => hasFailed };
}

test.each([
  ["checkpoint", "PRAGMA wal_checkpoint(PASSIVE)", { code: "unavailable" }],
  ["commit", "COMMIT", { name: "UnknownOutcome" }],
])(
  "after the flush of a %s has failed, nothing is acknowledged, and log and /readyz say so",
  async (_, what, reason) => {
    const { server, hasFailed } = await failingAt(what);
    const pay = () => server.storage.insertDisbursement(aDisbursement(server.merchant.id));
    let results: PromiseSettledResult<unknown>[] = [];
    while (!hasFailed()) results = await Promise.allSettled([pay(), pay()]);
    const refused = { status: "rejected", reason };
    expect(results).toMatchObject([refused, refused]);
    expect([(await server.createPayout()).status, (await server.request("GET", "/readyz")).status]).toEqual([503, 503]);
    expect(
      server.logged().filter(({ level, msg }) => level === 50 && msg.startsWith("The disk has failed")),
    ).toHaveLength(1);
  },
);

test("no response claims that nothing was recorded in a commit whose flush failed: a restart may find it", async () => {
  const { server } = await failingAt("COMMIT");
  const { status, body } = await server.createPayout();
  expect([status, body.code, body.message]).toEqual([
    500,
    "internal_error",
    expect.stringContaining("It is not known whether this was recorded: disbursement payout-"),
  ]);
});
