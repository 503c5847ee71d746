// Runs the real process with its database on a small disk that becomes full or fails.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, type TestContext } from "vitest";
import { startProcess, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { mountSmallDisk, type SmallDisk } from "./testing/small-disk.ts";

const KEY = "a-key-for-tests-of-small-disks";
let disk: SmallDisk;
let file: string;
let server: ServerProcess;
/** The references of acknowledged payouts. */
let acknowledged: string[];

beforeEach(async ({ skip }: TestContext) => {
  disk = mountSmallDisk() ?? skip("mounting a disk needs Linux, root and a loop device");
  file = join(disk.folder, "data", "server.db");
  acknowledged = [];
  server = await start();
});
afterEach(async () => {
  server.kill("SIGKILL");
  await server.ended;
  disk.close();
});

const start = () => startProcess({ DATABASE_URL: `sqlite:${file}`, SANDBOX_API_KEY: KEY, LOG_LEVEL: "error" });
const request = (method: string, path: string, options = {}) => server.client(KEY).request(method, path, options);
const statusOf = async (path: string) => (await request("GET", path)).status;

async function create() {
  const response = await request("POST", "/v1/disbursements", { body: aPayout() });
  if (response.status === 200) acknowledged.push(response.body.data.reference);
  return response;
}

/** Creates payouts until one is refused. */
async function createUntilRefused() {
  for (;;) {
    const response = await create();
    if (response.status !== 200) return response;
  }
}

async function expectAllKept() {
  for (const reference of acknowledged) expect(await statusOf(`/v1/disbursements/${reference}`)).toBe(200);
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  const db = new DatabaseSync(file, { readOnly: true });
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const stored = db.prepare("SELECT reference FROM disbursements").all();
  db.close();
  expect(stored.map(({ reference }) => reference).toSorted()).toEqual(acknowledged.toSorted());
}

const unavailable = (message: RegExp) => ({
  status: 503,
  body: { code: "unavailable", message: expect.stringMatching(message) },
});

test("a disk that is full: creates get 503, reads go on, and creates work again when there is space", async () => {
  expect((await create()).status).toBe(200);
  disk.fill();
  expect(await createUntilRefused()).toMatchObject(unavailable(/storage is full/));
  expect([await statusOf("/readyz"), await statusOf("/healthz")]).toEqual([503, 200]);
  expect(await statusOf(`/v1/disbursements/${acknowledged[0]}`)).toBe(200);
  disk.empty();
  expect((await create()).status).toBe(200);
  await expect.poll(() => statusOf("/readyz")).toBe(200);
  await expectAllKept();
});

test("a disk that becomes read-only: creates get 503, reads go on, and after a repair nothing is lost", async () => {
  for (let count = 0; count < 20; count += 1) expect((await create()).status).toBe(200);
  disk.breakDown();
  expect(await create()).toMatchObject(unavailable(/cannot be written. Its disk may be full, read-only or broken/));
  expect([await statusOf("/readyz"), await statusOf("/healthz")]).toEqual([503, 200]);
  expect(await statusOf(`/v1/disbursements/${acknowledged[0]}`)).toBe(200);
  server.kill("SIGTERM");
  await server.ended;
  disk.repair();
  server = await start();
  expect((await create()).status).toBe(200);
  await expectAllKept();
});
