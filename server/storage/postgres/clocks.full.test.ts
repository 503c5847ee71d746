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
/** Each clock, and by how much it is wrong. */
const WRONG = CLOCKS.flatMap((which) =>
  [20 * SECOND, HOUR, YEAR].flatMap((ms) => [
    { which, ms },
    { which, ms: -ms },
  ]),
);

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

/** Creates a payout, and returns how far its date is from the true time. */
async function create({ storage }: Process, merchantId: string) {
  const { record } = await storage.insertDisbursement(aDisbursement(merchantId));
  return { ...record, error: record.createdAt - world.time() };
}

/**
 * Fails unless payouts have the right dates, in order, and get their final status in time, whichever process writes
 * them.
 */
async function expectSettlements(processes: readonly Process[], merchantId: string): Promise<void> {
  let latest = 0;
  for (const process of [...processes, ...processes]) {
    const { createdAt, error } = await create(process, merchantId);
    expect(Math.abs(error)).toBeLessThanOrEqual(SECOND);
    expect(createdAt).toBeGreaterThanOrEqual(latest);
    latest = createdAt;
    await world.pass(100);
  }
  await world.pass(2 * SECOND);
  const settled = await Promise.all(processes.map(({ storage }) => storage.settleDue(100)));
  expect(settled.reduce((sum, count) => sum + count)).toBe(2 * processes.length);
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

const signatureErrors = (processes: readonly Process[]) =>
  processes.map(({ clock }) => Math.abs(clock.now() - world.time()));

/** The reports about clocks that processes make when this clock is wrong. */
function reportsOf([process, other]: readonly [Process, Process], which: (typeof CLOCKS)[number]) {
  const reports = which === "other" ? other.reports : process.reports;
  return reports.filter(({ clock }) => clock === (which === "database" ? "database" : "process"));
}

describe.each(WRONG)("the clock of the $which is wrong by $ms ms", ({ which, ms }) => {
  test("in operation: nothing changes but a report, and nothing when it is right again", async () => {
    const processes = [await world.open("process"), await world.open("other")] as const;
    const { id } = await addMerchant(processes[0].storage);
    await create(processes[0], id);
    await world.set({ [which]: ms });
    expect(await processes[1].storage.settleDue(10)).toBe(0);
    await world.pass(2 * SECOND);
    expect(await processes[1].storage.settleDue(10)).toBe(1);
    expect(reportsOf(processes, which)).toEqual([expect.objectContaining({ aheadMs: expect.any(Number) })]);
    expect(Math.abs(reportsOf(processes, which)[0]!.aheadMs - ms)).toBeLessThan(SECOND);

    await expectLeases(processes, id);
    await expectSettlements(processes, id);
    expect(Math.max(...signatureErrors(processes))).toBeLessThanOrEqual(SECOND);

    await world.set({ [which]: 0 });
    await expectLeases([processes[1], processes[0]], id);
    await expectSettlements(processes, id);
    expect(Math.max(...signatureErrors(processes))).toBeLessThanOrEqual(SECOND);
    expect(reportsOf(processes, which).at(-1)).toMatchObject({ aheadMs: 0 });
  });

  test("at the start of both processes, after another was right", async () => {
    const before = await world.open("process");
    const { id } = await addMerchant(before.storage);
    await world.pass(SECOND);
    await world.set({ [which]: ms });
    const processes = [await world.open("process"), await world.open("other")] as const;
    await expectSettlements(processes, id);
    await expectLeases(processes, id);
    expect(Math.max(...signatureErrors(processes))).toBeLessThanOrEqual(SECOND);
    expect(reportsOf(processes, which)).not.toEqual([]);
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

test.each([20 * SECOND, HOUR, YEAR, -20 * SECOND, -HOUR, -YEAR])(
  "all clocks jump by %i ms and return: what was written meanwhile does not wait for that time",
  async (ms) => {
    const processes = [await world.open("process"), await world.open("other")] as const;
    const { id } = await addMerchant(processes[0].storage);
    await world.set({ process: ms, other: ms, database: ms });
    await world.pass(12 * SECOND);
    const during = await create(processes[0], id);
    expect(processes[0].clock.now() - world.time()).toBe(ms);
    // Dates stand still instead of going back by an hour.
    if (ms > 0 || ms < -HOUR) expect(during.error).toBe(ms);
    else expect(Math.abs(during.error)).toBeLessThan(3 * SECOND);
    const used = await processes[0].storage.takeRequest(id, 1);
    expect(used).toBe(true);

    await world.set({ process: 0, other: 0, database: 0 });
    await expectLeases(processes, id);
    await world.pass(10 * SECOND);
    await processes[1].storage.settleDue(10);
    const settled = await processes[0].storage.findDisbursement(id, during.reference);
    expect(settled).toMatchObject({ status: "success" });
    expect(settled!.updatedAt).toBeGreaterThanOrEqual(settled!.createdAt);
    expect(Math.max(...signatureErrors(processes))).toBeLessThanOrEqual(SECOND);
    expect(await processes[1].storage.takeRequest(id, 1)).toBe(true);

    const after = await create(processes[1], id);
    if (ms <= HOUR) expect(after.createdAt).toBeGreaterThanOrEqual(during.createdAt);
    else expect(after.error).toBe(0);
    await world.pass(2 * SECOND);
    expect(await processes[0].storage.settleDue(10)).toBe(1);
  },
);

test("a failover to a standby that lacks the last seconds, with another clock, keeps leases and time", async () => {
  const processes = [await world.open("process"), await world.open("other")] as const;
  const { id } = await addMerchant(processes[0].storage);
  await world.pass(5 * SECOND);
  await world.set({ database: -HOUR });
  await world.run("UPDATE service SET leased = leased - 3000, latest_real = latest_real - 3000");
  await expectLeases(processes, id);
  await expectSettlements(processes, id);
  expect(Math.max(...signatureErrors(processes))).toBeLessThanOrEqual(SECOND);
});

test("a database with a time far ahead, as versions before have left it, is used as if it had none", async () => {
  const before = await world.open("process");
  const { id } = await addMerchant(before.storage);
  const { reference } = await create(before, id);
  const future = world.time() + YEAR;
  await world.run(`UPDATE service SET latest_real = ${future}`);
  await world.run(`UPDATE disbursements SET created_at = ${future}, updated_at = ${future},
    due_at = ${future + 2_000}, due_real = ${future + 2_000}`);
  const processes = [await world.open("process"), await world.open("other")] as const;
  await world.pass(2 * SECOND);
  expect(await processes[0].storage.settleDue(10)).toBe(1);
  expect(await processes[0].storage.findDisbursement(id, reference)).toMatchObject({ status: "success" });
  await expectSettlements(processes, id);
  await expectLeases(processes, id);
});
