// Runs the real process while its database or its disk misbehaves.
import { closeSync, linkSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import type { HttpResponse } from "./testing/http.ts";
import { runServer, type Limits } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";

const KEY = "a-key-for-tests-of-bad-days";
let folder: string;
let file: string;
let env: { DATABASE_URL: string; SANDBOX_API_KEY: string; LOG_LEVEL: string };
beforeEach(() => {
  folder = testFolder();
  file = join(folder, "data", "server.db");
  env = { DATABASE_URL: `sqlite:${file}`, SANDBOX_API_KEY: KEY, LOG_LEVEL: "error" };
});

async function start(limits?: Limits) {
  const server = await testProcess(env, limits);
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
  await stop(server);
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

test("a damaged index: creates get 503 until a restart, and the server is not ready", async () => {
  await stop(await start());
  const db = new DatabaseSync(file);
  const pages = db.prepare("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'disbursements'");
  const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const roots = pages.all().map(({ rootpage }) => Number(rootpage));
  db.close();
  const bytes = openSync(file, "r+");
  for (const page of roots) writeSync(bytes, Buffer.alloc(size, 7), 0, size, (page - 1) * size);
  closeSync(bytes);
  const server = await start();
  expectUnavailable(await server.create(), /database is damaged/);
  expect(await server.ready()).toBe(503);
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
