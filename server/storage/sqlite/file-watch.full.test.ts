// Other programs change the files of a database while a server uses it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createTelemetry } from "../../domain/telemetry.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aDisbursement } from "../../testing/storage/fixtures.ts";
import { backupSqlite } from "./backup.ts";
import { openSqlite } from "./index.ts";

let folder: string;
let path: string;
let backup: string;
let storage: Storage;
let merchantId: string;
let reported: [boolean, string][];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "file-watch-"));
  path = join(folder, "server.db");
  backup = join(folder, "backup.db");
  reported = [];
  const options = { clock: createFakeClock(), server: true };
  await openSqlite(path, options).close();
  const { on, emit } = createTelemetry((error) => expect.unreachable(String(error)));
  on("storage", ({ working, message }) => reported.push([working, message]));
  storage = openSqlite(path, { ...options, emit });
  merchantId = (await addMerchant(storage)).id;
  backupSqlite(path, backup);
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

const pay = () => storage.insertDisbursement(aDisbursement(merchantId));
/** Runs a program, because this process must not open and close the files itself: that would drop SQLite's locks. */
const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: "ignore" });
const PAGE = 4_096;
const overwrite = (file: string, page: number) =>
  run("dd", "if=/dev/zero", `of=${file}`, `bs=${PAGE}`, `seek=${page}`, "count=1", "conv=notrunc");

function inAnotherProcess(script: string): void {
  const program = `import { DatabaseSync } from "node:sqlite"; const db = new DatabaseSync(process.argv[1]); ${script}`;
  run(process.execPath, "--input-type=module", "--eval", program, path);
}

const MOVED = /database file was deleted or replaced/;
const CHANGED = /another program changed its file/;
const LOG_CHANGED = /another program changed its -wal file/;

const HARMS: [string, RegExp, () => void][] = [
  ["the file is overwritten with a backup", CHANGED, () => run("cp", backup, path)],
  ["the file is replaced by another", MOVED, () => run("mv", backup, path)],
  ["the file is deleted", MOVED, () => run("rm", path)],
  ["the file is cut off", CHANGED, () => run("truncate", "-s", "-8192", path)],
  ["the file is emptied", CHANGED, () => run("truncate", "-s", "0", path)],
  ["the file's header is overwritten", CHANGED, () => overwrite(path, 0)],
  ["a page of the file is overwritten", CHANGED, () => overwrite(path, 7)],
  ["the -wal file is deleted", MOVED, () => run("rm", `${path}-wal`)],
  ["the -wal file is replaced", MOVED, () => (run("cp", `${path}-wal`, backup), run("mv", backup, `${path}-wal`))],
  ["the -wal file is emptied", LOG_CHANGED, () => run("truncate", "-s", "0", `${path}-wal`)],
  ["the end of the -wal file is cut off", LOG_CHANGED, () => run("truncate", "-s", "-4120", `${path}-wal`)],
  ["the -shm file is deleted", /-shm file .+ was deleted or replaced/, () => run("rm", `${path}-shm`)],
  [
    "the -shm file is deleted, and another program writes",
    /-shm file .+ was deleted or replaced/,
    () => {
      run("rm", `${path}-shm`);
      inAnotherProcess("db.exec('UPDATE clock SET latest_real = latest_real'); db.close();");
    },
  ],
];

test.each(HARMS)("%s: nothing is acknowledged any more", async (_, message, harm) => {
  await pay();
  harm();
  await expect(pay()).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
  await expect(storage.ping()).rejects.toMatchObject({ code: "unavailable" });
  await expect(pay()).rejects.toMatchObject({ code: "unavailable" });
  expect(reported).toEqual([[false, expect.stringMatching(message)]]);
});

test("nothing is read from a file that another program has changed", async () => {
  const { record } = await pay();
  run("cp", backup, path);
  await expect(pay()).rejects.toMatchObject({ code: "unavailable" });
  const found = storage.findDisbursement(merchantId, record.reference);
  await expect(found).rejects.toMatchObject({ code: "unavailable" });
});

test("after the -shm file was deleted and another program has written, a restart finds every acknowledged payout", async () => {
  const acknowledged: string[] = [];
  for (let count = 0; count < 20; count += 1) acknowledged.push((await pay()).record.reference);
  run("rm", `${path}-shm`);
  // The other program copies the log into the file and restarts it.
  inAnotherProcess(
    "db.exec('PRAGMA wal_checkpoint'); for (let i = 0; i < 5; i++) db.exec('UPDATE clock SET latest_real = 1'); db.close();",
  );
  for (let count = 0; count < 20; count += 1)
    await pay().then(({ record }) => acknowledged.push(record.reference), String);
  expect(acknowledged).toHaveLength(20);
  await storage.close();
  storage = openSqlite(path, { clock: createFakeClock(), server: true });
  for (const reference of acknowledged) expect(await storage.findDisbursement(merchantId, reference)).toBeDefined();
});

test("checkpoints, backups and other programs that use SQLite are no harm", async () => {
  const other = new DatabaseSync(path);
  const size = () => statSync(path).size;
  const before = size();
  // More than 4,000 pages, so that the server's own checkpoints are among them.
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(Array.from({ length: 1_000 }, pay));
    other.exec("UPDATE clock SET latest_real = latest_real");
    if (round % 3 === 0) other.exec("PRAGMA wal_checkpoint(PASSIVE)");
    if (round % 3 === 1) other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    await pay();
  }
  expect(size()).toBeGreaterThan(before);
  inAnotherProcess(
    "db.exec('UPDATE clock SET latest_real = latest_real; PRAGMA wal_checkpoint(RESTART)'); db.close();",
  );
  backupSqlite(path, join(folder, "another.db"));
  run("chmod", "0640", path);
  run("cat", path, `${path}-wal`, `${path}-shm`);
  await pay();
  await storage.ping();
  other.close();
  expect(reported).toEqual([]);
});

test("a server that starts on the log of a crashed one notices changes of the file too", async () => {
  await pay();
  const crashed = join(folder, "crashed.db");
  for (const end of ["", "-wal"]) run("cp", path + end, crashed + end);
  const next = openSqlite(crashed, { clock: createFakeClock(), server: true });
  run("cp", backup, crashed);
  await expect(next.insertDisbursement(aDisbursement(merchantId))).rejects.toMatchObject({ code: "unavailable" });
  await next.close();
});
