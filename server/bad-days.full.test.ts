// Runs the real process while its disk or its file misbehaves.
import { closeSync, linkSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { runServer } from "./testing/process.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";
import { mountSmallDisk } from "./testing/small-disk.ts";

let folder: string;
let file: string;
let env: { DATABASE_URL: string; LOG_LEVEL: string };
const useFile = (name: string) => {
  file = name;
  env = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: "error" };
};
beforeEach(() => {
  folder = testFolder();
  useFile(join(folder, "data", "server.db"));
});

type Server = Awaited<ReturnType<typeof testProcess>>;
const find = ({ request }: Server, reference: string) => request("GET", `/v1/disbursements/${reference}`);
const probes = async ({ request }: Server) =>
  Promise.all(["/readyz", "/healthz"].map(async (path) => (await request("GET", path)).status));

/** Creates payouts until one is refused, for this reason. Returns those that were acknowledged. */
async function createUntilRefused(server: Server, message: RegExp): Promise<string[]> {
  const acknowledged: string[] = [];
  for (;;) {
    const { status, headers, body } = await server.createPayout();
    if (status !== 200) {
      const refusal = { code: "unavailable", message: expect.stringMatching(message) };
      expect([status, headers["retry-after"], body]).toEqual([503, "5", expect.objectContaining(refusal)]);
      return acknowledged;
    }
    acknowledged.push(body.data.reference);
  }
}

test("a disk that refuses writes: creates get 503, the log stays short, and nothing acknowledged is lost", async () => {
  const server = await testProcess(env, { fileBlocks: 1_600 });
  const acknowledged = await createUntilRefused(server, /cannot be written. Its disk may be full, read-only or broken/);
  expect(acknowledged.length).toBeGreaterThan(5);
  for (let count = 0; count < 50; count += 1) expect((await server.createPayout()).status).toBe(503);
  expect(await probes(server)).toEqual([503, 200]);
  expect((await find(server, acknowledged[0]!)).status).toBe(200);
  await stop(server);
  expect(server.output().length).toBeLessThan(20_000);

  const next = await testProcess(env);
  for (const reference of acknowledged) expect((await find(next, reference)).status).toBe(200);
  expect([(await next.createPayout()).status, ...(await probes(next))]).toEqual([200, 200, 200]);
});

test("a disk that is full: creates get 503, reads go on, and creates work again when there is space", async ({
  skip,
}) => {
  const disk = mountSmallDisk() ?? skip("mounting a disk needs Linux and root");
  onTestFinished(disk.close);
  useFile(join(disk.folder, "data", "server.db"));
  const server = await testProcess(env);
  const before = (await server.createPayout()).body.data.reference;
  disk.fill();
  const acknowledged = [before, ...(await createUntilRefused(server, /storage is full/))];
  expect(await probes(server)).toEqual([503, 200]);
  expect((await find(server, before)).status).toBe(200);
  disk.empty();
  acknowledged.push((await server.createPayout()).body.data.reference);
  await expect.poll(() => probes(server)).toEqual([200, 200]);
  await stop(server);
  using db = new DatabaseSync(file, { readOnly: true });
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  const stored = db.prepare("SELECT reference FROM disbursements").all();
  expect(stored.map(({ reference }) => reference).toSorted()).toEqual(acknowledged.toSorted());
});

test.each([8, 64, 200])("a start on a disk with room for %i blocks says that the disk is full", async (fileBlocks) => {
  const { code, stderr } = await runServer(env, { fileBlocks });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^Cannot open the database .+: disk I\/O error\. Its disk may be full, read-only or broken: free space or repair it, then start again\.\n$/,
  );
});

test("a damaged index: creates get 503 until a restart, and the server is not ready", async () => {
  await stop(await testProcess(env));
  const db = new DatabaseSync(file);
  const pages = db.prepare("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'disbursements'");
  const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const roots = pages.all().map(({ rootpage }) => Number(rootpage));
  db.close();
  const bytes = openSync(file, "r+");
  for (const page of roots) writeSync(bytes, Buffer.alloc(size, 7), 0, size, (page - 1) * size);
  closeSync(bytes);
  const server = await testProcess(env);
  expect(await createUntilRefused(server, /database is damaged/)).toEqual([]);
  expect(await probes(server)).toEqual([503, 200]);
});

test("a second server is refused a hard link to the database", async () => {
  const server = await testProcess(env);
  const link = join(folder, "link.db");
  linkSync(file, link);
  const { code, stderr } = await runServer({ ...env, DATABASE_URL: `sqlite:${link}` });
  expect([code, stderr]).toEqual([1, `${link} has another hard link. Remove one of the names, then start again.\n`]);
  rmSync(link);
  expect((await server.createPayout()).status).toBe(200);
});
