// Group commit: what is acknowledged is on the disk, and what a failed disk may have lost is not acknowledged.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { silent } from "../../domain/telemetry.ts";
import { startServer } from "../../testing/server.ts";
import { aDisbursement } from "../../testing/storage/fixtures.ts";
import { run, type Executor, type Work, type WriteOptions } from "../portable/query.ts";
import { createSealing } from "../sealing.ts";
import { createHealth } from "./health.ts";
import { sqliteExecutor } from "./executor.ts";
import { statementRunner } from "./statements.ts";

const sqliteError = (errcode: number) => Object.assign(new Error("disk"), { code: "ERR_SQLITE_ERROR", errcode });

describe("group commit", () => {
  let db: DatabaseSync;
  let executor: Executor;
  /** The transactions that reached the database and the work that resolved, in order. */
  let steps: string[];
  beforeEach(() => {
    db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE rows (value TEXT UNIQUE) STRICT");
    steps = [];
    const execute = statementRunner(db, { now: Date.now, leased: Date.now }, () => undefined);
    executor = sqliteExecutor(db, execute, createHealth(silent), { sealing: createSealing(), emit: silent });
    const exec = db.exec.bind(db);
    vi.spyOn(db, "exec").mockImplementation((sql) => {
      steps.push(sql);
      exec(sql);
    });
  });
  afterEach(() => db.close());

  function* insert(values: readonly string[]): Work<string[]> {
    steps.push(...values);
    for (const value of values) yield* run("INSERT INTO rows VALUES (:value)", { value });
    return values.map((value) => value.toUpperCase());
  }
  const write = (...values: string[]) => executor.write(() => insert(values));
  const stored = () =>
    db.prepare("SELECT group_concat(value, '' ORDER BY value) AS all_rows FROM rows").get()!.all_rows;

  test("commits the work of one turn of the event loop together, and resolves it after that", async () => {
    const add = executor.together(insert);
    const resolved = [write("a"), add("b"), add("c")].map(async (work) => steps.push(`resolved ${String(await work)}`));
    expect(steps).toEqual([]);
    await Promise.all(resolved);
    expect(steps).toEqual(["BEGIN IMMEDIATE", "a", "b", "c", "COMMIT", "resolved A", "resolved B", "resolved C"]);
  });

  test("what fails fails alone, and the rest of its commit takes effect once", async () => {
    const add = executor.together(insert);
    const failing = executor.write(function* () {
      yield* insert(["half done"]);
      throw new Error("no");
    });
    const work = [write("a"), add("b"), failing, add("a"), write("b"), add("c")];
    const [done, failed] = ["fulfilled", "rejected"];
    const results = await Promise.allSettled(work);
    expect(results.map(({ status }) => status)).toEqual([done, done, failed, failed, failed, done]);
    expect(stored()).toBe("abc");
  });

  test("nothing of a commit that fails resolves", async () => {
    const exec = vi.mocked(db.exec).getMockImplementation()!;
    vi.mocked(db.exec).mockImplementation((sql) => {
      if (sql === "COMMIT") throw new Error("disk full");
      exec(sql);
    });
    const results = await Promise.allSettled([write("a"), write("b")]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(stored()).toBe(null);
    vi.mocked(db.exec).mockImplementation(exec);
    expect(await write("c")).toEqual(["C"]);
  });

  test("a commit is flushed to disk unless all of its work can be done again", async () => {
    const seen: [string, boolean][] = [];
    const look = (name: string, commit: WriteOptions["commit"] = "writeUnflushed") =>
      executor.write(
        function* () {
          const { rows } = yield* run("PRAGMA synchronous");
          seen.push([name, rows[0]!.synchronous === 2]);
        },
        { commit },
      );
    await Promise.all([look("unflushed"), look("another")]);
    await Promise.all([look("beside a write"), look("write", "write")]);
    await look("unflushed again");
    await look("soon", "writeSoon");
    expect(seen).toEqual([
      ["unflushed", false],
      ["another", false],
      ["beside a write", true],
      ["write", true],
      ["unflushed again", false],
      ["soon", true],
    ]);
  });
});

describe("a disk that fails", () => {
  const [FULL, FSYNC] = [13, 1_034];

  test("by being too full for a checkpoint is reported, and commits go on", () => {
    const reports: unknown[] = [];
    const health = createHealth((name, event) => void (name === "storage" && reports.push(event)));
    health.checkpointFailed(sqliteError(FULL));
    health.require();
    health.recovered();
    expect(reports).toMatchObject([{ working: false }, { working: true }]);
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
  ])("at the flush of a %s ends what is acknowledged, and log and /readyz say so", async (_, what, reason) => {
    const { server, hasFailed } = await failingAt(what);
    const pay = () => server.storage.insertDisbursement(aDisbursement(server.merchant.id));
    let results: PromiseSettledResult<unknown>[] = [];
    while (!hasFailed()) results = await Promise.allSettled([pay(), pay()]);
    const refused = { status: "rejected", reason };
    expect(results).toMatchObject([refused, refused]);
    expect([(await server.createPayout()).status, (await server.request("GET", "/readyz")).status]).toEqual([503, 503]);
    const failures = server.logged().filter(({ level, msg }) => level === 50 && msg.startsWith("The disk has failed"));
    expect(failures).toHaveLength(1);
  });

  test("at the flush of a commit leads to no response that nothing was recorded: a restart may find it", async () => {
    const { server } = await failingAt("COMMIT");
    const { status, body } = await server.createPayout();
    const message = expect.stringContaining("It is not known whether this was recorded.");
    expect([status, body]).toEqual([500, expect.objectContaining({ code: "internal_error", message })]);
  });
});
