import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSqlite } from "./index.ts";
import { LEASE_MS } from "../../workers/queue-worker.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aDisbursement,
  claimAll,
  HOUR,
  SECOND,
  START,
} from "../../testing/storage/fixtures.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { createSqliteWorld, type Process, type World } from "../../testing/storage/world.ts";

const YEAR = 365 * 24 * HOUR;
/** By how much the clock is wrong. */
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);

let folder: string;
let world: World;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clocks-"));
  world = createSqliteWorld(join(folder, "server.db"));
});
afterEach(async () => {
  await world.end();
  rmSync(folder, { recursive: true });
});

async function create({ storage }: Process, merchantId: string): Promise<string> {
  const { record } = await storage.insertDisbursement(aDisbursement(merchantId));
  return record.reference;
}

/** Fails unless a payout gets its final status in time, and a lease ends in time. */
async function expectWork(process: Process, merchantId: string): Promise<void> {
  const { storage } = process;
  const reference = await create(process, merchantId);
  const { id } = await addDelivery(storage, merchantId);
  expect((await claimAll(storage, { leaseMs: LEASE_MS, count: 100 })).map(({ event }) => event.id)).toContain(id);
  await world.pass(2 * SECOND);
  await storage.settleDue(100);
  expect(await storage.findDisbursement(merchantId, reference)).toMatchObject({ status: "success" });
  expect(await storage.requestReplay(merchantId, id, ACTOR)).toBe("claimed");
  await world.pass(2 * SECOND);
  const again = await claimAll(storage, { leaseMs: LEASE_MS, count: 100 });
  const claim = again.find(({ event }) => event.id === id)!;
  const attempt = { at: world.time(), sentAt: world.time(), latencyMs: 1 };
  expect(await storage.recordAttempt(claim, attempt, { status: "delivered", step: 1 })).toBe(true);
}

test.each(WRONG)("a clock that is wrong by %i ms is followed there and back, and all work goes on", async (ms) => {
  const process = await world.open("process");
  const { id } = await addMerchant(process.storage);
  await world.set({ process: ms });
  await expectWork(process, id);
  const during = await create(process, id);
  await world.set({ process: 0 });
  await world.pass(3 * SECOND);
  expect(await process.storage.settleDue(10)).toBe(1);
  const settled = (await process.storage.findDisbursement(id, during))!;
  expect(settled.updatedAt).toBeGreaterThanOrEqual(settled.createdAt);
  await expectWork(process, id);
  expect(process.reports.map(({ steppedMs }) => steppedMs)).toEqual([ms, -ms]);
});

test.each(WRONG)("a clock that was wrong by %i ms until the last start does not stop the work", async (ms) => {
  await world.set({ process: ms });
  const before = await world.open("process");
  const { id } = await addMerchant(before.storage);
  await create(before, id);
  await addDelivery(before.storage, id);
  expect(await claimAll(before.storage, { leaseMs: LEASE_MS, count: 1 })).toHaveLength(1);
  await world.end();

  await world.set({ process: 0 });
  const process = await world.open("process");
  expect(process.clock.now()).toBe(world.time());
  await create(process, id);
  await world.pass(LEASE_MS);
  expect(await process.storage.settleDue(10)).toBe(2);
  expect(await claimAll(process.storage, { leaseMs: LEASE_MS, count: 10 })).toHaveLength(1);
});

test.each([HOUR, -HOUR])("doubt about a payment begins anew in a process whose counter is %i ms ahead", async (ms) => {
  const path = join(folder, "server.db");
  const before = openSqlite(path, { clock: createFakeClock(), server: true });
  const { id: merchantId } = await addMerchant(before);
  const { due: _, ...draft } = aDisbursement(merchantId);
  await before.insertDisbursement({ ...draft, rail: "mobile" });
  const lanes = [{ merchantId, host: "mobile", count: 1 }];
  const [claim] = await before.claimHandovers(lanes, LEASE_MS);
  await before.recordHandover(claim!, { exchanges: [], isUnknown: true, askAgainAfterMs: 0 });
  await before.close();

  const after = openSqlite(path, { clock: createFakeClock(START + ms), server: true });
  expect(await after.claimHandovers(lanes, LEASE_MS)).toMatchObject([{ id: claim!.id, askedAgoMs: 0 }]);
  await after.close();
});

test("a retry and a sign-in from a time that was ahead are corrected", async () => {
  const process = await world.open("process");
  const { storage } = process;
  const { id } = await addMerchant(storage);
  await world.set({ process: YEAR });
  await addDelivery(storage, id);
  const [claim] = await claimAll(storage, { leaseMs: LEASE_MS, count: 1 });
  const at = process.clock.now();
  const retry = { status: "pending", step: 1, nextAttemptAt: at + 5 * SECOND } as const;
  await storage.recordAttempt(claim!, { at, sentAt: at, latencyMs: 1 }, retry);
  await storage.insertLink({ hash: "00", role: "viewer", name: "ada", lifetimeMs: 600_000 }, ACTOR);
  await world.pass(SECOND);

  await world.set({ process: 0 });
  await world.pass(SECOND);
  const retried = await claimAll(storage, { leaseMs: LEASE_MS, count: 1 });
  expect(retried).toMatchObject([{ dueAt: world.time() }]);
  expect((await storage.listTeam({ idleMs: HOUR, limit: 10 })).links).toEqual([]);
});
