// Group commit: what is acknowledged is on the disk, and what a failed disk may have lost is not acknowledged.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startServer } from "../../testing/server.ts";
import { aDisbursement } from "../../testing/storage/fixtures.ts";
import { createHealth } from "./health.ts";
import { sqliteExecutor, statementRunner } from "./executor.ts";
import { createWriter } from "./writer.ts";

const valuesOf = (text: string) => [...text].map((value) => ({ value }));
const sqliteError = (errcode: number) => Object.assign(new Error("disk"), { code: "ERR_SQLITE_ERROR", errcode });

describe("a writer", () => {
  let db: DatabaseSync;
  /** The statements that reached the database and the writes that resolved, in order. */
  let steps: string[];
  beforeEach(() => {
    db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE rows (value TEXT UNIQUE) STRICT");
    steps = [];
    const exec = db.exec.bind(db);
    vi.spyOn(db, "exec").mockImplementation((sql) => {
      steps.push(sql);
      exec(sql);
    });
  });
  afterEach(() => db.close());

  const insert = (value: string) => () => {
    steps.push(value);
    return db.prepare("INSERT INTO rows VALUES (?) RETURNING value").get(value)!.value;
  };
  const stored = () => db.prepare("SELECT value FROM rows ORDER BY value").all();

  test("commits the writes of one turn of the event loop together, and resolves them after that", async () => {
    const { write } = createWriter(db, {});
    const resolved = ["a", "b", "c"].map(async (value) => steps.push(`resolved ${await write(insert(value))}`));
    expect(steps).toEqual([]);
    await Promise.all(resolved);
    expect(steps).toEqual(["BEGIN IMMEDIATE", "a", "b", "c", "COMMIT", "resolved a", "resolved b", "resolved c"]);
  });

  /** Returns a function that stores a value together with the others of its turn of the event loop. */
  function inserting() {
    const execute = statementRunner(db, { now: Date.now, leased: Date.now }, () => undefined);
    const { together } = sqliteExecutor(createWriter(db, {}), execute, {} as never);
    return together(function* (values: readonly string[]) {
      yield values.map((value) => ({ text: "INSERT INTO rows VALUES (:value)", values: { value } }));
      return values.map((value) => value.toUpperCase());
    });
  }

  test("refuses items beyond its capacity that arrive in one turn of the event loop", async () => {
    const add = inserting();
    const waiting = Array.from({ length: 10_000 }, (_, index) => add(String(index)));
    const refusal = { code: "unavailable", details: { retryAfterSeconds: 1 } };
    await expect(add("a")).rejects.toMatchObject(refusal);
    await Promise.all(waiting);
    expect(await add("b")).toBe("B");
  });

  test("stores the items of a turn together, and each alone if one of them fails", async () => {
    const add = inserting();
    expect(await Promise.all(["a", "b"].map(add))).toEqual(["A", "B"]);
    const results = await Promise.allSettled(["c", "a", "d"].map(add));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(stored()).toEqual(valuesOf("abcd"));
  });

  test("a job that throws fails alone; the others of its batch take effect once", async () => {
    const { write } = createWriter(db, {});
    const failing = () => {
      insert("half done")();
      throw new Error("no");
    };
    const jobs = [insert("a"), insert("b"), failing, insert("a"), insert("c")];
    const results = await Promise.allSettled(jobs.map((job) => write(job)));
    const [done, failed] = ["fulfilled", "rejected"];
    expect(results.map(({ status }) => status)).toEqual([done, done, failed, failed, done]);
    expect(stored()).toEqual(valuesOf("abc"));
  });

  test("every write of a batch rejects if the commit fails", async () => {
    const { write } = createWriter(db, {});
    const exec = vi.mocked(db.exec).getMockImplementation()!;
    vi.mocked(db.exec).mockImplementation((sql) => {
      if (sql === "COMMIT") throw new Error("disk full");
      exec(sql);
    });
    const results = await Promise.allSettled([write(insert("a")), write(insert("b"))]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(stored()).toEqual([]);
    vi.mocked(db.exec).mockImplementation(exec);
    await expect(write(insert("c"))).resolves.toBe("c");
  });

  test("a commit is flushed to disk unless all of its work can be done again", async () => {
    const { write, writeSoon, writeUnflushed } = createWriter(db, {});
    const flushes = () => db.prepare("PRAGMA synchronous").get()!.synchronous === 2;
    const seen: [string, boolean][] = [];
    const look = (name: string) => () => void seen.push([name, flushes()]);
    await Promise.all([writeUnflushed(look("unflushed")), writeUnflushed(look("another"))]);
    await Promise.all([writeUnflushed(look("beside a write")), write(look("write"))]);
    await writeUnflushed(look("unflushed again"));
    await writeSoon(look("soon"));
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
    let time = 0;
    const health = createHealth(
      () => time,
      (name, event) => void (name === "storage" && reports.push(event)),
    );
    health.checkpointFailed(sqliteError(FULL));
    health.require();
    health.committed();
    time += 60_000;
    health.committed();
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
    const message = expect.stringContaining("It is not known whether this was recorded: disbursement payout-");
    expect([status, body]).toEqual([500, expect.objectContaining({ code: "internal_error", message })]);
  });
});
