// Runs the real process while its database, its disk or another program misbehaves.
import { execFile, execFileSync } from "node:child_process";
import {
  closeSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backupSqlite } from "./storage/sqlite/backup.ts";
import type { HttpResponse } from "./testing/http.ts";
import { runKeys, runServer, startProcess, type Limits, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";

const KEY = "a-key-for-tests-of-bad-days";
let folder: string;
let file: string;
let env: { DATABASE_URL: string; SANDBOX_API_KEY: string; LOG_LEVEL: string };
const running: ServerProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bad-day-"));
  file = join(folder, "data", "server.db");
  env = { DATABASE_URL: `sqlite:${file}`, SANDBOX_API_KEY: KEY, LOG_LEVEL: "error" };
});
afterEach(async () => {
  for (const { kill, ended } of running.splice(0)) {
    kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true });
});

async function start(limits?: Limits) {
  const server = await startProcess(env, limits);
  running.push(server);
  const { request } = server.client(KEY);
  return {
    ...server,
    create: () => request("POST", "/v1/disbursements", { body: aPayout() }),
    find: (reference: string) => request("GET", `/v1/disbursements/${reference}`),
    ready: async () => (await request("GET", "/readyz")).status,
    alive: async () => (await request("GET", "/healthz")).status,
  };
}

function expectUnavailable({ status, headers, body }: HttpResponse, message: RegExp) {
  expect(status).toBe(503);
  expect(headers["retry-after"]).toBe("5");
  expect(body).toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
}

// file-watch.test.ts does more kinds of harm to the storage alone.
test.each<[string, () => void]>([
  ["moved away", () => renameSync(file, `${file}.old`)],
  ["replaced", () => (renameSync(file, `${file}.old`), new DatabaseSync(file).close())],
])("a database file that is %s: no create is acknowledged, and the server is not ready", async (_, harm) => {
  const server = await start();
  expect((await server.create()).status).toBe(200);
  harm();
  expectUnavailable(await server.create(), /database file was deleted or replaced/);
  expect(await server.ready()).toBe(503);
  expect(await server.alive()).toBe(200);
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  const logged = server.output().match(/database file was deleted or replaced/g);
  expect(logged).toHaveLength(1);
});

test.each<[string, RegExp, () => void]>([
  ["overwritten with a backup", /another program changed its file/, () => overwrite(`${folder}/backup.db`)],
  ["deprived of its -shm file", /-shm file .+ was deleted or replaced/, () => rmSync(`${file}-shm`)],
])("a database that is %s: no create is acknowledged, and the server is not ready", async (_, message, harm) => {
  const server = await start();
  const { reference } = (await server.create()).body.data;
  backupSqlite(file, `${folder}/backup.db`);
  harm();
  expectUnavailable(await server.create(), message);
  expect(await server.ready()).toBe(503);
  expect(await server.alive()).toBe(200);
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  expect(server.output().match(new RegExp(message, "g"))).toHaveLength(1);
  // The log still has every commit, because the server does not copy the log into a file that another program has
  // replaced.
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  if (!message.source.includes("shm")) return;
  const next = await start();
  expect([(await next.find(reference)).status, await next.ready()]).toEqual([200, 200]);
});

/** Replaces the content of the database file, which keeps its inode. */
const overwrite = (content: string) => execFileSync("cp", [content, file]);

test("a disk that refuses writes: creates get 503, the log stays short, and nothing acknowledged is lost", async () => {
  const server = await start({ fileBlocks: 1_600 });
  const acknowledged: string[] = [];
  let response = await server.create();
  while (response.status === 200) {
    acknowledged.push(response.body.data.reference);
    response = await server.create();
  }
  expect(acknowledged.length).toBeGreaterThan(5);
  expectUnavailable(response, /storage cannot be written/);
  for (let count = 0; count < 50; count += 1) expect((await server.create()).status).toBe(503);
  expect(await server.ready()).toBe(503);
  expect((await server.find(acknowledged[0]!)).status).toBe(200);
  server.kill("SIGTERM");
  await server.ended;
  expect(server.output().length).toBeLessThan(20_000);

  const next = await start();
  for (const reference of acknowledged) expect((await next.find(reference)).status).toBe(200);
  expect([(await next.create()).status, await next.ready()]).toEqual([200, 200]);
});

test.each([8, 64, 200])("a start on a disk with room for %i blocks says that the disk is full", async (fileBlocks) => {
  const { code, stderr } = await runServer(env, { fileBlocks });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^Cannot open the database .+: disk I\/O error\. Its disk may be full, read-only or broken: free space or repair it, then start again\.\n$/,
  );
});

test("another program's write lock delays writes only, and they succeed when it is released", async () => {
  const server = await start();
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  const waiting = [server.create(), server.create()];
  const begun = performance.now();
  // With a blocked event loop, these requests would take as long as the lock is held.
  for (let count = 0; count < 20; count += 1) expect(await server.alive()).toBe(200);
  expect(performance.now() - begun).toBeLessThan(4_000);
  other.exec("ROLLBACK");
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);

  other.exec("BEGIN IMMEDIATE");
  expectUnavailable(await server.create(), /Another program is using the server's database/);
  expect(await server.ready()).toBe(503);
  other.exec("ROLLBACK");
  other.close();
  expect((await server.create()).status).toBe(200);
  await expect.poll(server.ready).toBe(200);
});

test("a damaged index: creates get 503 until a restart, and the server is not ready", async () => {
  const server = await start();
  expect((await server.create()).status).toBe(200);
  // The server may be writing its log of requests: a checkpoint that does not wait leaves the pages in the WAL.
  const other = new DatabaseSync(file, { timeout: 10_000 });
  const pages = other.prepare("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'disbursements'");
  const { page_size: size } = other.prepare("PRAGMA page_size").get() as { page_size: number };
  other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const bytes = openSync(file, "r+");
  for (const { rootpage } of pages.all())
    writeSync(bytes, Buffer.alloc(size, 7), 0, size, (Number(rootpage) - 1) * size);
  closeSync(bytes);
  // A write by another program makes the server read the file again.
  other.exec("UPDATE clock SET latest_real = latest_real");
  other.close();
  expectUnavailable(await server.create(), /database is damaged/);
  expect(await server.ready()).toBe(503);
});

test("a second server is refused although the lock file was deleted, and the first one goes on", async () => {
  const server = await start();
  rmSync(`${file}.lock`);
  const { code, stderr } = await runServer(env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Another server is using .+lock file was deleted/)]);
  expect((await server.create()).status).toBe(200);
  server.kill("SIGKILL");
  await server.ended;
  // The killed server held another lock file, so the next start first checks for a sign of life.
  const next = await start();
  expect((await next.create()).status).toBe(200);
});

test("a second server is refused a hard link to the database", async () => {
  const server = await start();
  const link = join(folder, "link.db");
  linkSync(file, link);
  const { code, stderr } = await runServer({ ...env, DATABASE_URL: `sqlite:${link}` });
  expect([code, stderr]).toEqual([1, `${link} has another hard link. Remove one of the names, then start again.\n`]);
  rmSync(link);
  expect((await server.create()).status).toBe(200);
});

test("only the owner may enter the folder of the database and read its files", async () => {
  await start();
  expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(join(folder, "data"))) {
    expect.soft(statSync(join(folder, "data", name)).mode & 0o777, name).toBe(0o600);
  }
});

test("a copy of the database starts without the lock file of its original", async () => {
  const server = await start();
  const { reference } = (await server.create()).body.data;
  server.kill("SIGTERM");
  await server.ended;
  const copy = join(folder, "copy.db");
  await promisify(execFile)("cp", [file, copy]);
  env = { ...env, DATABASE_URL: `sqlite:${copy}` };
  const second = await start();
  expect((await second.find(reference)).status).toBe(200);
  expect((await runKeys(env, "merchants")).code).toBe(0);
});
