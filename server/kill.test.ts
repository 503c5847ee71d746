// Kills the server under load on each storage. `npm run faults -- kills` does so a hundred times, with rails.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { databaseAt, type DatabaseAddress } from "./storage/open.ts";
import { createTestDatabase, POSTGRES_SERVERS } from "./testing/postgres.ts";
import { startProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";

const KEY = "a-key-for-the-killed-server";

async function sqlite() {
  const folder = mkdtempSync(join(tmpdir(), "killed-"));
  const path = join(folder, "server.db");
  const address: DatabaseAddress = { kind: "sqlite", path };
  return { address, url: `sqlite:${path}`, remove: async () => rmSync(folder, { recursive: true }) };
}

async function postgres() {
  const { url, drop } = await createTestDatabase(await POSTGRES_SERVERS["PostgreSQL"]!());
  const address: DatabaseAddress = { kind: "postgres", url };
  return { address, url, remove: drop };
}

test.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres],
])("on %s a kill loses no acknowledged payout, doubles none, and the books agree", async (_, create) => {
  const { address, url, remove } = await create();
  const env = { DATABASE_URL: url, SANDBOX_API_KEY: KEY };
  const first = await startProcess(env);
  const payouts = Array.from({ length: 300 }, () => aPayout());
  const acknowledged = new Map<string, string>();
  const pay = first.client(KEY);
  const responses = payouts.map(async (body) => {
    const { status, body: sent } = await pay.request("POST", "/v1/disbursements", { body });
    if (status !== 200) return;
    acknowledged.set(body.reference, sent.data.reference);
    if (acknowledged.size === 100) first.kill("SIGKILL");
  });
  await Promise.allSettled(responses);
  await first.ended;
  expect(acknowledged.size).toBeGreaterThanOrEqual(100);

  const second = await startProcess(env);
  const { request } = second.client(KEY);
  for (const body of payouts) {
    const again = await request("POST", "/v1/disbursements", { body });
    const known = acknowledged.get(body.reference);
    // A payout that was not acknowledged may have been recorded.
    if (known === undefined) expect.soft([200, 409]).toContain(again.status);
    else
      expect.soft([again.status, again.headers.location], body.reference).toEqual([409, `/v1/disbursements/${known}`]);
  }
  const found = new Set<string>();
  let cursor = "";
  do {
    const { data } = (await request("GET", `/v1/disbursements?limit=100${cursor}`)).body;
    for (const { merchantsReference } of data.items) {
      expect.soft(found.has(merchantsReference), merchantsReference).toBe(false);
      found.add(merchantsReference);
    }
    cursor = data.nextCursor === undefined ? "" : `&cursor=${data.nextCursor}`;
  } while (cursor !== "");
  expect(found).toEqual(new Set(payouts.map(({ reference }) => reference)));
  second.kill("SIGTERM");
  await second.ended;
  expect(await databaseAt(address).check()).toMatchObject({ findings: [] });
  await remove();
});
