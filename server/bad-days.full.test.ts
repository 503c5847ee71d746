// Runs the real process while its database or its disk misbehaves.
import { closeSync, linkSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, onTestFinished, test, type TestContext } from "vitest";
import type { HttpResponse } from "./testing/http.ts";
import { runServer, type Limits } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";
import { mountSmallDisk, type SmallDisk } from "./testing/small-disk.ts";

const KEY = "a-key-for-tests-of-bad-days";
let folder: string;
let file: string;
/** The references of acknowledged payouts. */
let acknowledged: string[];
beforeEach(() => {
  placeIn(testFolder());
  acknowledged = [];
});
function placeIn(place: string) {
  folder = place;
  file = join(folder, "data", "server.db");
}
const env = () => ({ DATABASE_URL: `sqlite:${file}`, SANDBOX_API_KEY: KEY, LOG_LEVEL: "error" });

async function start(limits?: Limits) {
  const server = await testProcess(env(), limits);
  const { request } = server.client(KEY);
  async function create() {
    const response = await request("POST", "/v1/disbursements", { body: aPayout() });
    if (response.status === 200) acknowledged.push(response.body.data.reference);
    return response;
  }
  return {
    ...server,
    create,
    /** Creates payouts until one is refused. */
    async createUntilRefused() {
      for (;;) {
        const response = await create();
        if (response.status !== 200) return response;
      }
    },
    statusOf: async (path: string) => (await request("GET", path)).status,
    find: async (reference: string) => (await request("GET", `/v1/disbursements/${reference}`)).status,
  };
}
type Started = Awaited<ReturnType<typeof start>>;

/** Expects that the server is alive and reads, but is not ready. */
async function expectReadOnly({ statusOf, find }: Started) {
  expect([await statusOf("/readyz"), await statusOf("/healthz"), await find(acknowledged[0]!)]).toEqual([
    503, 200, 200,
  ]);
}

/** Expects that exactly the acknowledged payouts are stored. */
async function expectAllKept(server: Started) {
  for (const reference of acknowledged) expect(await server.find(reference)).toBe(200);
  await stop(server);
  const db = new DatabaseSync(file, { readOnly: true });
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const stored = db.prepare("SELECT reference FROM disbursements").all();
  db.close();
  expect(stored.map(({ reference }) => reference).toSorted()).toEqual(acknowledged.toSorted());
}

function expectUnavailable({ status, headers, body }: HttpResponse, message: RegExp) {
  expect(status).toBe(503);
  expect(headers["retry-after"]).toBe("5");
  expect(body).toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
}

test("a disk that refuses writes: creates get 503, the log stays short, and nothing acknowledged is lost", async () => {
  const server = await start({ fileBlocks: 1_600 });
  expectUnavailable(await server.createUntilRefused(), /storage cannot be written/);
  expect(acknowledged.length).toBeGreaterThan(5);
  for (let count = 0; count < 50; count += 1) expect((await server.create()).status).toBe(503);
  await expectReadOnly(server);
  await stop(server);
  expect(server.output().length).toBeLessThan(20_000);

  const next = await start();
  expect([(await next.create()).status, await next.statusOf("/readyz")]).toEqual([200, 200]);
  await expectAllKept(next);
});

describe("a small disk", () => {
  let disk: SmallDisk;
  let server: Started;
  beforeEach(async ({ skip }: TestContext) => {
    disk = mountSmallDisk() ?? skip("mounting a disk needs Linux, root and a loop device");
    onTestFinished(disk.close);
    placeIn(disk.folder);
    server = await start();
  });

  test("that is full: creates get 503, reads go on, and creates work again when there is space", async () => {
    expect((await server.create()).status).toBe(200);
    disk.fill();
    expectUnavailable(await server.createUntilRefused(), /storage is full/);
    await expectReadOnly(server);
    disk.empty();
    expect((await server.create()).status).toBe(200);
    await expect.poll(() => server.statusOf("/readyz")).toBe(200);
    await expectAllKept(server);
  });

  test("that becomes read-only: creates get 503, reads go on, and after a repair nothing is lost", async () => {
    for (let count = 0; count < 20; count += 1) expect((await server.create()).status).toBe(200);
    disk.breakDown();
    expectUnavailable(await server.create(), /cannot be written. Its disk may be full, read-only or broken/);
    await expectReadOnly(server);
    server.kill("SIGTERM");
    await server.ended;
    disk.repair();
    server = await start();
    expect((await server.create()).status).toBe(200);
    await expectAllKept(server);
  });
});

test.each([8, 64, 200])("a start on a disk with room for %i blocks says that the disk is full", async (fileBlocks) => {
  const { code, stderr } = await runServer(env(), { fileBlocks });
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
  expect(await server.statusOf("/readyz")).toBe(503);
});

test("a second server is refused a hard link to the database", async () => {
  const server = await start();
  const link = join(folder, "link.db");
  linkSync(file, link);
  const { code, stderr } = await runServer({ ...env(), DATABASE_URL: `sqlite:${link}` });
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
