import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import {
  ACTOR,
  addDelivery,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  ATTEMPT,
  claimAll,
  concurrently,
  DAY,
  HOUR,
  LATEST,
  MINUTE,
  START,
} from "../../testing/storage/fixtures.ts";
import { checkPostgres } from "./check.ts";
import { openPostgres } from "./index.ts";

/** Two storages on one database, as two processes have them. */
let storages: [Storage, Storage];
let clock: FakeClock;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());

const open = () => openPostgres(database.url, { clock, server: true, time: "process" });
beforeEach(async () => {
  await database.empty();
  clock = createFakeClock();
  storages = await Promise.all([open(), open()]);
});
afterEach(async () => {
  await Promise.all(storages.map((storage) => storage.close()));
});

const each = (index: number) => storages[index % 2]!;

test("concurrent first starts create the schema once", async () => {
  const fresh = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const opened = await concurrently(4, () => openPostgres(fresh.url, { clock, server: true, time: "process" }));
  await addMerchant(opened[0]!);
  for (const storage of opened) expect(await storage.listMerchants()).toHaveLength(1);
  await Promise.all(opened.map((storage) => storage.close()));
  await fresh.drop();
});

test("concurrent batches with the same references store each once, without deadlock", async () => {
  const merchants = [await addMerchant(each(0)), await addMerchant(each(1))];
  const results = await concurrently(400, (index) => {
    // The two storages insert the same references in opposite orders.
    const reference = index % 2 === 0 ? index : 399 - index;
    const { id } = merchants[(reference >> 1) % 2]!;
    const customer = { phoneNumber: `22570381024${String((reference >> 1) % 50).padStart(2, "0")}` };
    const draft = { merchantsReference: `same-${reference >> 1}`, customer };
    return each(index).insertDisbursement(index % 3 === 0 ? aFinalDisbursement(id, draft) : aDisbursement(id, draft));
  });
  const byReference = Map.groupBy(results, ({ record }) => record.merchantsReference);
  expect(byReference.size).toBe(200);
  for (const [first, second, ...others] of byReference.values()) {
    expect(others).toEqual([]);
    expect([first!.inserted, second!.inserted].toSorted()).toEqual([false, true]);
    expect(first!.record).toEqual(second!.record);
  }
  const customers = Map.groupBy(results, ({ record }) => `${record.merchantId} ${record.customer.phoneNumber}`);
  for (const of of customers.values()) expect(new Set(of.map(({ record }) => record.customer.id)).size).toBe(1);
});

test("each record is settled by one process, with one event, in the order in which they fell due", async () => {
  const merchants = await concurrently(6, () => addMerchant(each(0)));
  await concurrently(120, (index) => {
    const due = { afterMs: 1_000 * (120 - index), status: "success" } as const;
    return each(index).insertDisbursement(aDisbursement(merchants[index % 6]!.id, { due }));
  });
  for (const { id } of merchants) await each(0).moveClock(id, { by: 5 * MINUTE }, LATEST);
  let settled = 0;
  for (let done = 1; done > 0;) {
    const counts = await concurrently(4, (index) => each(index).settleDue(20));
    done = counts.reduce((sum, count) => sum + count);
    settled += done;
  }
  expect(settled).toBe(120);
  for (const { id: merchantId } of merchants) {
    const { items } = await each(1).listEvents({ merchantId, limit: 100, direction: "newer" });
    expect(new Set(items.map(({ reference }) => reference)).size).toBe(20);
    expect(items).toEqual(items.toSorted((a, b) => a.createdAt - b.createdAt));
    expect(items).toHaveLength(20);
  }
});

test("each delivery is claimed by one process, whatever starts, and a process that lost its claims changes nothing", async () => {
  const { id } = await addMerchant(each(0));
  await concurrently(60, (index) => addDelivery(each(index), id));
  const lost = (await concurrently(8, (index) => claimAll(each(index), { count: 10 }))).flat();
  expect([lost.length, new Set(lost.map((claim) => claim.id)).size]).toEqual([60, 60]);
  const third = await open();
  expect(await claimAll(third)).toEqual([]);
  clock.advance(MINUTE);
  const held = await claimAll(third);
  expect(held).toHaveLength(60);
  await each(0).renewClaims(lost, 0);
  const report = (storage: Storage, claims: typeof lost, status: "ended" | "delivered") =>
    Promise.all(claims.map((claim) => storage.recordAttempt(claim, ATTEMPT, { status, step: 1 })));
  expect(new Set(await report(each(1), lost, "ended"))).toEqual(new Set([false]));
  expect(await claimAll(each(0))).toEqual([]);
  expect(new Set(await report(third, held, "delivered"))).toEqual(new Set([true]));
  await third.close();
});

test("a revoked key, a moved clock and a reset take effect in every process immediately", async () => {
  const merchant = await addMerchant(each(0));
  const key = await addKey(each(0), merchant.id);
  expect((await each(1).findMerchantByKey(key.hash))?.merchant.clockOffset).toBe(0);
  await each(0).moveClock(merchant.id, { by: HOUR }, LATEST);
  expect((await each(1).findMerchantByKey(key.hash))?.merchant.clockOffset).toBe(HOUR);
  const { record } = await each(1).insertDisbursement(aDisbursement(merchant.id));
  expect(record.createdAt).toBe(START + HOUR);
  await each(0).reset(merchant.id);
  expect(await each(1).findDisbursement(merchant.id, record.reference)).toBeUndefined();
  await each(1).revokeKey(key.id, START, ACTOR);
  expect(await each(0).findMerchantByKey(key.hash)).toBeUndefined();
});

test("a merchant's requests to all processes are counted together", async () => {
  const merchant = await addMerchant(each(0));
  const taken = await concurrently(20, (index) => each(index).takeRequest(merchant.id, 12));
  expect(taken.filter(Boolean)).toHaveLength(12);
});

test("leases and dates follow the database's clock, whatever the clocks of the processes say", async () => {
  await database.empty();
  const wall = { ahead: Date.now() + DAY, behind: START };
  const clockOf = (which: keyof typeof wall) =>
    createSystemClock(undefined, { wall: () => wall[which], monotonic: () => performance.now() });
  const [fast, slow] = await Promise.all(
    (["ahead", "behind"] as const).map((which) => openPostgres(database.url, { clock: clockOf(which), server: true })),
  );
  const merchant = await addMerchant(fast!);
  await addDelivery(slow!, merchant.id);
  expect(await claimAll(fast!, { leaseMs: HOUR, count: 1 })).toHaveLength(1);
  wall.ahead += DAY;
  wall.behind += DAY;
  expect(await claimAll(fast!, { leaseMs: HOUR, count: 1 })).toEqual([]);
  expect(await claimAll(slow!, { leaseMs: HOUR, count: 1 })).toEqual([]);
  const [first, second] = [
    await fast!.insertDisbursement(aDisbursement(merchant.id)),
    await slow!.insertDisbursement(aDisbursement(merchant.id)),
  ];
  expect(second.record.createdAt).toBeGreaterThanOrEqual(first.record.createdAt);
  expect(second.record.createdAt - first.record.createdAt).toBeLessThan(HOUR);
  await Promise.all([fast!.close(), slow!.close()]);
});

test("following events misses none that several processes write", async () => {
  const { id: merchantId } = await addMerchant(each(0));
  const query = { merchantId, limit: 10, direction: "newer" } as const;
  const seen: string[] = [];
  let cursor: string | undefined;
  let isWritten = false;
  const writing = concurrently(200, async (index) => {
    for (let turn = 0; turn < index % 7; turn += 1) await new Promise(setImmediate);
    return addDelivery(each(index), merchantId);
  }).finally(() => (isWritten = true));
  for (let last = false; !last;) {
    last = isWritten;
    for (let read = 1; read > 0;) {
      const page = await each(seen.length).listEvents({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor ?? cursor;
      read = page.items.length;
    }
  }
  expect(seen.toSorted()).toEqual((await writing).map(({ id }) => id).toSorted());
});

test("two processes accept exactly as many payouts as balance and limit permit, and the books are right", async () => {
  const merchants = [await addMerchant(each(0)), await addMerchant(each(1))];
  for (const { id } of merchants) {
    const topUp = { id: `top-up-${id}`, currency: "XOF", amount: 250 * 1_010, reason: "Paid in" };
    await each(0).adjustBalance(id, topUp, ACTOR);
  }
  // The limit of the first merchant's key is lower than its balance.
  const key = await addKey(each(0), merchants[0]!.id);
  await each(1).setKeyLimits(key.id, { perDay: { XOF: 240_000 } }, ACTOR);
  const results = await concurrently(1_000, (index) => {
    const { id } = merchants[(index >> 1) % 2]!;
    const draft = { amount: 1_000, fee: 10, mustBeCovered: true, ...(id === key.merchantId && { keyId: key.id }) };
    return each(index).insertDisbursement(index % 5 === 0 ? aFinalDisbursement(id, draft) : aDisbursement(id, draft));
  });
  const counts = Object.groupBy(results, ({ refusal }) => refusal?.code ?? "accepted");
  expect(Object.fromEntries(Object.entries(counts).map(([code, { length }]) => [code, length]))).toEqual({
    accepted: 490,
    limit_exceeded: 260,
    insufficient_funds: 250,
  });
  clock.advance(MINUTE);
  const settleAll = async (index: number) => {
    while ((await each(index).settleDue(100)) > 0);
  };
  await concurrently(4, settleAll);
  // Each process leaves out the merchants on which another process is working.
  await settleAll(0);
  const [limited, other] = merchants.map(({ id }) => id);
  expect(await each(0).listBalances(limited)).toMatchObject([{ available: 10 * 1_010, reserved: 0 }]);
  expect(await each(0).listBalances(other)).toMatchObject([{ available: 0, reserved: 0 }]);
  expect(await checkPostgres(database.url)).toEqual({ findings: [] });
});
