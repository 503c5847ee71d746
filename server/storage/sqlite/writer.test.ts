import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createWriter } from "./writer.ts";

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

const sleep = async () => undefined;
const insert = (value: string) => () => {
  steps.push(value);
  return db.prepare("INSERT INTO rows VALUES (?) RETURNING value").get(value)!.value;
};
const stored = () =>
  db
    .prepare("SELECT value FROM rows ORDER BY value")
    .all()
    .map(({ value }) => value);

test("writes of one turn of the event loop share a commit and resolve after it", async () => {
  const { write } = createWriter(db, { sleep });
  const values = ["a", "b", "c"];
  const resolved = values.map(async (value) => steps.push(`resolved ${await write(insert(value))}`));
  expect(steps).toEqual([]);
  await Promise.all(resolved);
  expect(steps).toEqual(["BEGIN IMMEDIATE", "a", "b", "c", "COMMIT", "resolved a", "resolved b", "resolved c"]);
});

test("writes of the next turn have their own commit", async () => {
  const { write } = createWriter(db, { sleep });
  await write(insert("a"));
  await write(insert("b"));
  expect(steps.filter((step) => step === "COMMIT")).toHaveLength(2);
});

test("refuses new work beyond its capacity, but not what goes on with a request or ends what was begun", async () => {
  const { write, writeNew, writeSoon } = createWriter(db, { sleep, capacity: 2 });
  const waiting = ["a", "b"].map((value) => writeNew(insert(value)));
  await expect(writeNew(insert("c"))).rejects.toMatchObject({ code: "unavailable", details: { retryAfterSeconds: 1 } });
  await Promise.all([...waiting, write(insert("d")), writeSoon(insert("e"))]);
  await writeNew(insert("f"));
  expect(stored()).toEqual(["a", "b", "d", "e", "f"]);
});

test("a job that throws fails alone; the others of its batch take effect once", async () => {
  const { write } = createWriter(db, { sleep });
  const results = await Promise.allSettled([
    write(insert("a")),
    write(insert("b")),
    write(() => {
      insert("half done")();
      throw new Error("no");
    }),
    write(insert("a")),
    write(insert("c")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected", "fulfilled"]);
  expect(stored()).toEqual(["a", "b", "c"]);
});

test("every write of a batch rejects if the commit fails", async () => {
  const { write } = createWriter(db, { sleep });
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

const paceOf = (delay: number) => ({ delayMs: () => delay, count: (commit: () => void) => commit() });

test("a commit is flushed to disk unless all of its work can be done again", async () => {
  const { write, writeSoon, writeUnflushed } = createWriter(db, { sleep });
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

test("background work commits with the next write, or alone when the pace allows", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { write, writeSoon } = createWriter(db, { sleep, pace: paceOf(20) });
  const joined = writeSoon(insert("a"));
  await write(insert("b"));
  await joined;
  expect(steps).toEqual(["BEGIN IMMEDIATE", "a", "b", "COMMIT"]);
  expect(vi.getTimerCount()).toBe(0);

  const alone = [writeSoon(insert("c")), writeSoon(insert("d"))];
  vi.advanceTimersByTime(19);
  expect(stored()).toEqual(["a", "b"]);
  vi.advanceTimersByTime(1);
  expect(await Promise.all(alone)).toEqual(["c", "d"]);
  expect(steps.slice(4)).toEqual(["BEGIN IMMEDIATE", "c", "d", "COMMIT"]);
});

test("background work within the pace commits in the same turn", async () => {
  const { write, writeSoon } = createWriter(db, { sleep, pace: paceOf(0) });
  expect(await Promise.all([writeSoon(insert("a")), write(insert("b"))])).toEqual(["a", "b"]);
  expect(steps.filter((step) => step === "COMMIT")).toHaveLength(1);
});

/** An error as node:sqlite throws it while another program holds the write lock. */
const locked = () => Object.assign(new Error("database is locked"), { code: "ERR_SQLITE_ERROR", errcode: 5 });

test("while another program holds the lock, writes wait without blocking, and then share one commit", async () => {
  const { write } = createWriter(db, { sleep: () => gate });
  const exec = vi.mocked(db.exec).getMockImplementation()!;
  let refusals = 3;
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  vi.mocked(db.exec).mockImplementation((sql) => {
    if (sql === "BEGIN IMMEDIATE" && refusals-- > 0) throw locked();
    exec(sql);
  });
  const first = write(insert("a"));
  // Let the first attempt fail. The event loop is free meanwhile, so another write can join.
  await expect.poll(() => refusals).toBe(2);
  const second = write(insert("b"));
  open();
  expect(await Promise.all([first, second])).toEqual(["a", "b"]);
  expect(steps).toEqual(["BEGIN IMMEDIATE", "a", "b", "COMMIT"]);
});

test("work apart from payments shares no commit with them, also after it has waited for another program", async () => {
  const { write, writeSoon, writeApart } = createWriter(db, { sleep: () => gate });
  const exec = vi.mocked(db.exec).getMockImplementation()!;
  let [refused, isLocked] = [0, true];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  vi.mocked(db.exec).mockImplementation((sql) => {
    if (sql === "BEGIN IMMEDIATE" && isLocked) {
      refused += 1;
      throw locked();
    }
    exec(sql);
  });
  const work = [writeApart(insert("log")), writeApart(insert("more of the log"))];
  await expect.poll(() => refused).toBe(2);
  const payments = [write(insert("payment")), writeSoon(insert("settlement"))];
  await new Promise(setImmediate);
  isLocked = false;
  open();
  await Promise.all([...work, ...payments]);
  const commits = steps
    .filter((step) => !step.startsWith("PRAGMA"))
    .join()
    .split("BEGIN IMMEDIATE,")
    .slice(1);
  expect(commits.map((commit) => commit.replace(/,COMMIT,?$/, "")).toSorted()).toEqual([
    "log",
    "more of the log",
    "payment,settlement",
  ]);
});

test("work apart from payments rejects if the database stays locked", async () => {
  const { writeApart } = createWriter(db, { sleep });
  vi.mocked(db.exec).mockImplementation(() => {
    throw locked();
  });
  await expect(writeApart(insert("log"))).rejects.toMatchObject({ errcode: 5 });
});

test("writes reject if the database stays locked", async () => {
  let waitedMs = 0;
  const { write } = createWriter(db, { sleep: async (ms) => void (waitedMs += ms) });
  vi.mocked(db.exec).mockImplementation(() => {
    throw locked();
  });
  const results = await Promise.allSettled([write(insert("a")), write(insert("b"))]);
  expect(results).toMatchObject([{ reason: { errcode: 5 } }, { reason: { errcode: 5 } }]);
  expect(waitedMs).toBeGreaterThan(4_000);
  expect(waitedMs).toBeLessThanOrEqual(5_000);
  expect(stored()).toEqual([]);
});

test("the reads of a turn share a transaction, which ends before the turn's writes", async () => {
  const { write, read } = createWriter(db, { sleep });
  const count = () => read(() => db.prepare("SELECT count(*) AS count FROM rows").get()!.count);
  expect([count(), db.isTransaction, count()]).toEqual([0, true, 0]);
  await write(insert("a"));
  expect(db.isTransaction).toBe(false);
  expect(count()).toBe(1);
  await new Promise(setImmediate);
  expect(db.isTransaction).toBe(false);
});
