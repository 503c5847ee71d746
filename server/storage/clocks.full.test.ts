// Clocks that are wrong or jump: leases hold and end in time, and nothing waits for a time that was wrong.
import { beforeAll, beforeEach, afterEach, describe, expect, test, vi } from "vitest";
import { createSystemClock, type Clock, type ClockReport } from "../domain/clock.ts";
import type { ClaimedDelivery } from "../domain/deliveries.ts";
import type { Storage } from "../domain/storage.ts";
import { createFakeClock } from "../testing/clock.ts";
import { useDatabase, useFolder } from "../testing/resources.ts";
import { addDelivery, addMerchant, aDisbursement, claimAll, pendingOn } from "../testing/storage/fixtures.ts";
import { HOUR, MINUTE, SECOND, START } from "../testing/times.ts";
import { HELD_MS, LEASE_MS } from "../workers/queue-worker.ts";
import { openPostgres } from "./postgres/index.ts";
import { openSqlite } from "./sqlite/index.ts";

const YEAR = 365 * 24 * HOUR;
/** By how much a clock is wrong. */
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);

/** The clocks of two processes and of the database. */
type Which = "process" | "other" | "database";

interface Place {
  /** The clocks that matter, and the one that the service follows. */
  clocks: readonly Which[];
  followed: Which;
  connect(clock: Clock): Promise<Storage>;
}
const pathOf = useFolder();
const database = useDatabase();
const SQLITE: Place = {
  clocks: ["process"],
  followed: "process",
  connect: async (clock) => openSqlite(pathOf("server.db"), { clock, server: true }),
};
const POSTGRES: Place = {
  clocks: ["process", "other", "database"],
  followed: "database",
  connect: (clock) => openPostgres(database.url, { clock, server: true }),
};
beforeAll(async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.run(`CREATE SCHEMA testing;
    CREATE TABLE testing.clock (ms bigint NOT NULL);
    INSERT INTO testing.clock VALUES (${START});
    CREATE FUNCTION testing.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT pg_catalog.to_timestamp(ms / 1000.0) FROM testing.clock';
    ALTER DATABASE ${name} SET search_path = public, testing, pg_catalog`);
});

interface Process {
  storage: Storage;
  clock: Clock;
  reports: ClockReport[];
}
/** The true time, and how far each clock is ahead of it. */
let time: number;
const ahead = { process: 0, other: 0, database: 0 };
let processes: Process[] = [];
/** A merchant. */
let id: string;

async function set(changes: Partial<typeof ahead>) {
  Object.assign(ahead, changes);
  await database.run(`UPDATE testing.clock SET ms = ${time + ahead.database}`);
}

/** Lets time pass; each process compares its clock once per second. */
async function pass(milliseconds: number) {
  for (let left = milliseconds; left > 0; left -= SECOND) {
    time += Math.min(SECOND, left);
    await set({});
    for (const { storage } of processes) await storage.ping();
  }
}

/** Opens a process for each clock of a process. */
async function open({ clocks, connect }: Place) {
  // Only `pass` lets the processes look at the clocks. A comparison in between, by a timer, would see a jump of a second.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  for (const which of clocks) {
    if (which === "database") continue;
    const reports: ClockReport[] = [];
    const source = { wall: () => time + ahead[which], monotonic: () => time - START };
    const clock = createSystemClock((report) => void reports.push(report), source);
    processes.push({ clock, reports, storage: await connect(clock) });
  }
  vi.useRealTimers();
}

async function begin(place: Place) {
  await database.empty();
  time = START;
  await set({ process: 0, other: 0, database: 0 });
  await open(place);
  ({ id } = await addMerchant(processes[0]!.storage));
}

async function close() {
  for (const { storage } of processes.splice(0)) await storage.close();
}
afterEach(close);

const claimsOf = ({ storage }: Process, leaseMs = LEASE_MS) => claimAll(storage, { leaseMs, count: 1 });
const create = async ({ storage }: Process) => (await storage.insertDisbursement(aDisbursement(id))).record;

/** Expects that payouts get their final status in time, whichever process writes them. */
async function expectSettlements(): Promise<void> {
  for (const process of processes) await create(process);
  await pass(2 * SECOND);
  const settled = await Promise.all(processes.map(({ storage }) => storage.settleDue(100)));
  expect(settled.reduce((sum, count) => sum + count)).toBe(processes.length);
}

/** Expects that a claim belongs to its holder while the holder renews it, and ends in time when the holder does not. */
async function expectLeases(): Promise<void> {
  const [holder, taker = holder] = processes as [Process, Process?];
  await addDelivery(holder.storage, id);
  let heldUntil = holder.clock.counter() + HELD_MS;
  const claims = await claimsOf(holder);
  expect(claims).toHaveLength(1);
  for (let second = 0; second < 6; second += 1) {
    await pass(SECOND);
    expect(await claimsOf(taker)).toEqual([]);
    heldUntil = holder.clock.counter() + HELD_MS;
    await holder.storage.renewClaims(claims, LEASE_MS);
  }
  const ended = time;
  let taken: ClaimedDelivery[] = [];
  while (taken.length === 0 && time - ended < MINUTE) {
    await pass(250);
    taken = await claimsOf(taker);
    if (taken.length > 0) expect(holder.clock.counter()).toBeGreaterThanOrEqual(heldUntil);
  }
  expect(time - ended).toBeLessThanOrEqual(LEASE_MS + 2 * SECOND);
  const attempt = { at: ended, sentAt: ended, latencyMs: 1 };
  expect(await taker.storage.recordAttempt(taken[0]!, attempt, { status: "delivered", step: 1 })).toMatchObject({
    isValid: true,
  });
}

/** Expects that the processes are ahead of the true time by so many milliseconds, and that all work goes on. */
async function expectAllWork(ms: number) {
  for (const { clock } of processes) expect(Math.abs(clock.now() - time - ms)).toBeLessThanOrEqual(SECOND);
  await expectLeases();
  await expectSettlements();
}

describe.each(Object.entries({ SQLite: SQLITE, PostgreSQL: POSTGRES }))("%s", (_, place) => {
  const { clocks, followed } = place;
  beforeEach(() => begin(place));

  test.each(clocks.flatMap((which) => WRONG.map((ms) => ({ which, ms }))))(
    "the clock of the $which is wrong by $ms ms, in operation and from a start on: all work goes on",
    async ({ which, ms }) => {
      const followedMs = which === followed ? ms : 0;
      for (const wrong of [ms, 0]) {
        await set({ [which]: wrong });
        await pass(SECOND);
        await expectAllWork(wrong && followedMs);
      }
      for (const { reports } of which === "database" ? processes : [processes[which === "other" ? 1 : 0]!]) {
        const steps = reports.map(({ steppedMs = 0 }) => Math.round(steppedMs / SECOND)).filter((step) => step !== 0);
        expect(steps).toEqual(followedMs === 0 ? [] : [ms / SECOND, -ms / SECOND]);
        expect(reports.at(-1)).toMatchObject({ aheadMs: 0 });
        // Each change is reported once: a process whose clock differs from a database's that has jumped reports both.
        expect(reports).toHaveLength(which === "database" ? 4 : 2);
      }
      for (const wrong of [ms, 0]) {
        await create(processes[0]!);
        await close();
        await set({ [which]: wrong });
        await open(place);
        await pass(3 * SECOND);
        expect(await processes[0]!.storage.settleDue(10)).toBe(1);
        await expectAllWork(wrong && followedMs);
      }
    },
  );
});

test.each([HOUR, -HOUR])(
  "SQLite: doubt about a payment begins anew in a process whose counter is %i ms ahead",
  async (ms) => {
    const start = (at: number) => openSqlite(pathOf("server.db"), { clock: createFakeClock(at), server: true });
    const before = start(START);
    const { id: merchantId } = await addMerchant(before);
    await before.insertDisbursement(pendingOn("mobile", merchantId));
    const lanes = [{ merchantId, host: "mobile", count: 1 }];
    const [claim] = await before.claimHandovers(lanes, LEASE_MS);
    await before.recordHandover(claim!, { exchanges: [], isUnknown: true, askAgainAfterMs: 0 });
    await before.close();
    const after = start(START + ms);
    expect(await after.claimHandovers(lanes, LEASE_MS)).toMatchObject([{ id: claim!.id, askedAgoMs: 0 }]);
    await after.close();
  },
);

describe("leases with PostgreSQL", () => {
  beforeEach(() => begin(POSTGRES));

  test("a jump while a claim is held, and a step that others do not see, do not make attempts overlap", async () => {
    const [holder, taker] = processes as [Process, Process];
    await addDelivery(holder.storage, id);
    const claims = await claimsOf(holder);
    for (const ms of [20 * SECOND, 0, -HOUR, YEAR, 0]) {
      await set({ database: ms });
      expect(await claimsOf(taker)).toEqual([]);
      await pass(SECOND);
      expect(await claimsOf(taker)).toEqual([]);
      await holder.storage.renewClaims(claims, LEASE_MS);
    }
  });

  test("a failover to a standby that lacks the last seconds, with another clock, keeps leases", async () => {
    await pass(5 * SECOND);
    await set({ database: -HOUR });
    await database.run("UPDATE service SET leased = leased - 3000");
    await expectLeases();
    await expectSettlements();
    for (const { clock } of processes) expect(Math.abs(clock.now() - time + HOUR)).toBeLessThanOrEqual(SECOND);
  });
});
