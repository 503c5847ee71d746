import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ClaimedDelivery } from "../../domain/deliveries.ts";
import { HELD_MS, LEASE_MS } from "../../workers/queue-worker.ts";
import {
  addDelivery,
  addMerchant,
  aDisbursement,
  claimAll,
  HOUR,
  MINUTE,
  SECOND,
} from "../../testing/storage/fixtures.ts";
import type { TestDatabase } from "../../testing/postgres.ts";
import { createClockDatabase, createPostgresWorld, type Process, type World } from "../../testing/storage/world.ts";

const YEAR = 365 * 24 * HOUR;
const CLOCKS = ["process", "other", "database"] as const;
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);
/** Each clock, and by how much it is wrong. */
const EACH_WRONG = CLOCKS.flatMap((which) => WRONG.map((ms) => ({ which, ms })));

let database: TestDatabase;
beforeAll(async () => {
  database = await createClockDatabase();
});
afterAll(() => database.drop());
let world: World;
beforeEach(async () => {
  world = await createPostgresWorld(database);
});
afterEach(() => world.end());

/** Fails unless payouts get their final status in time, whichever process writes them. */
async function expectSettlements(processes: readonly Process[], merchantId: string): Promise<void> {
  for (const { storage } of processes) await storage.insertDisbursement(aDisbursement(merchantId));
  await world.pass(2 * SECOND);
  const settled = await Promise.all(processes.map(({ storage }) => storage.settleDue(100)));
  expect(settled.reduce((sum, count) => sum + count)).toBe(processes.length);
}

/** Fails unless a claim belongs to its holder while the holder renews it, and ends in time when the holder does not. */
async function expectLeases([holder, taker]: readonly [Process, Process], merchantId: string): Promise<void> {
  await addDelivery(holder.storage, merchantId);
  let heldUntil = holder.clock.counter() + HELD_MS;
  const claims = await claimAll(holder.storage, { leaseMs: LEASE_MS, count: 1 });
  expect(claims).toHaveLength(1);
  for (let second = 0; second < 6; second += 1) {
    await world.pass(SECOND);
    expect(await claimAll(taker.storage, { leaseMs: LEASE_MS, count: 1 })).toEqual([]);
    heldUntil = holder.clock.counter() + HELD_MS;
    await holder.storage.renewClaims(claims, LEASE_MS);
  }
  const ended = world.time();
  let taken: ClaimedDelivery[] = [];
  while (taken.length === 0 && world.time() - ended < MINUTE) {
    await world.pass(250);
    taken = await claimAll(taker.storage, { leaseMs: LEASE_MS, count: 1 });
    if (taken.length > 0) expect(holder.clock.counter()).toBeGreaterThanOrEqual(heldUntil);
  }
  expect(world.time() - ended).toBeLessThanOrEqual(LEASE_MS + 2 * SECOND);
  const attempt = { at: ended, sentAt: ended, latencyMs: 1 };
  expect(await taker.storage.recordAttempt(taken[0]!, attempt, { status: "delivered", step: 1 })).toBe(true);
}

/** How far the time of a process is from being ahead of the true time by so many milliseconds. */
const farthest = (processes: readonly Process[], ahead: number) =>
  Math.max(...processes.map(({ clock }) => Math.abs(clock.now() - world.time() - ahead)));

describe.each(EACH_WRONG)("the clock of the $which is wrong by $ms ms", ({ which, ms }) => {
  /** What the time of all processes is: they follow the database's clock. */
  const ahead = which === "database" ? ms : 0;
  test("in operation: processes follow the database's clock, and report, and all work goes on", async () => {
    const processes = [await world.open("process"), await world.open("other")] as const;
    const { id } = await addMerchant(processes[0].storage);
    await world.set({ [which]: ms });
    await world.pass(SECOND);
    expect(farthest(processes, ahead)).toBeLessThanOrEqual(SECOND);
    await expectLeases(processes, id);
    await expectSettlements(processes, id);
    await world.set({ [which]: 0 });
    await world.pass(SECOND);
    expect(farthest(processes, 0)).toBeLessThanOrEqual(SECOND);
    await expectLeases([processes[1], processes[0]], id);
    await expectSettlements(processes, id);
    for (const process of which === "database" ? processes : [processes[which === "process" ? 0 : 1]]) {
      const steps = process.reports.flatMap(({ steppedMs = 0 }) =>
        steppedMs === 0 ? [] : [Math.round(steppedMs / SECOND)],
      );
      expect(steps).toEqual(which === "database" ? [ms, -ms].map((step) => step / SECOND) : []);
      expect(process.reports.at(-1)).toMatchObject({ aheadMs: 0 });
    }
  });

  test("at the start of both processes, after another was right", async () => {
    const before = await world.open("process");
    const { id } = await addMerchant(before.storage);
    await world.pass(SECOND);
    await world.set({ [which]: ms });
    const processes = [await world.open("process"), await world.open("other")] as const;
    await expectSettlements(processes, id);
    await expectLeases(processes, id);
    expect(farthest(processes, ahead)).toBeLessThanOrEqual(SECOND);
  });
});

test("a jump while a claim is held, and a step that others do not see, do not make attempts overlap", async () => {
  const [holder, taker] = [await world.open("process"), await world.open("other")];
  const { id } = await addMerchant(holder.storage);
  await addDelivery(holder.storage, id);
  const claims = await claimAll(holder.storage, { leaseMs: LEASE_MS, count: 1 });
  for (const ms of [20 * SECOND, 0, -HOUR, YEAR, 0]) {
    await world.set({ database: ms });
    expect(await claimAll(taker.storage)).toEqual([]);
    await world.pass(SECOND);
    expect(await claimAll(taker.storage)).toEqual([]);
    await holder.storage.renewClaims(claims, LEASE_MS);
  }
});

test.each(WRONG)(
  "all clocks jump by %i ms and return: what was written meanwhile does not wait for that time",
  async (ms) => {
    const processes = [await world.open("process"), await world.open("other")] as const;
    const { id } = await addMerchant(processes[0].storage);
    await world.set({ process: ms, other: ms, database: ms });
    await world.pass(SECOND);
    const { record } = await processes[0].storage.insertDisbursement(aDisbursement(id));
    expect(record.createdAt - world.time()).toBe(ms);
    expect(await processes[0].storage.takeRequest(id, 1)).toBe(true);

    await world.set({ process: 0, other: 0, database: 0 });
    await world.pass(3 * SECOND);
    expect(await processes[1].storage.settleDue(10)).toBe(1);
    const settled = (await processes[0].storage.findDisbursement(id, record.reference))!;
    expect(settled.status).toBe("success");
    expect(settled.updatedAt).toBeGreaterThanOrEqual(settled.createdAt);
    expect(await processes[1].storage.takeRequest(id, 1)).toBe(true);
    await expectLeases(processes, id);
    await expectSettlements(processes, id);
  },
);

test("a failover to a standby that lacks the last seconds, with another clock, keeps leases", async () => {
  const processes = [await world.open("process"), await world.open("other")] as const;
  const { id } = await addMerchant(processes[0].storage);
  await world.pass(5 * SECOND);
  await world.set({ database: -HOUR });
  await database.run("UPDATE service SET leased = leased - 3000");
  await expectLeases(processes, id);
  await expectSettlements(processes, id);
  expect(farthest(processes, -HOUR)).toBeLessThanOrEqual(SECOND);
});
