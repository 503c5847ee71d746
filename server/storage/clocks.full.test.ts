// Clocks that are wrong or jump: leases hold and end in time, and nothing waits for a time that was wrong.
import { beforeAll, beforeEach, afterEach, describe, expect, test, vi } from "vitest";
import { createSystemClock, type Clock, type ClockReport } from "../domain/clock.ts";
import type { ClaimedDelivery } from "../domain/deliveries.ts";
import type { Storage } from "../domain/storage.ts";
import { createFakeClock } from "../testing/clock.ts";
import { useDatabase, useFolder } from "../testing/places.ts";
import {
  ACTOR,
  addDelivery,
  addMerchant,
  aDisbursement,
  claimAll,
  HOUR,
  MINUTE,
  pendingOn,
  SECOND,
  START,
} from "../testing/storage/fixtures.ts";
import { HELD_MS, LEASE_MS } from "../workers/queue-worker.ts";
import { openPostgres } from "./postgres/index.ts";
import { openSqlite } from "./sqlite/index.ts";

const YEAR = 365 * 24 * HOUR;
/** By how much a clock is wrong. */
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);

interface Process {
  storage: Storage;
  clock: Clock;
  reports: ClockReport[];
}
/** The clocks of two processes and of the database. */
type Which = "process" | "other" | "database";

/** Processes on one database, whose clocks the test sets. */
function createWorld(connect: (clock: Clock) => Promise<Storage>, setDatabase: (ms: number) => Promise<unknown>) {
  let time = START;
  const ahead = { process: 0, other: 0, database: 0 };
  const processes: Process[] = [];
  return {
    /** The true time. */
    time: () => time,
    async open(which: "process" | "other"): Promise<Process> {
      const reports: ClockReport[] = [];
      const source = { wall: () => time + ahead[which], monotonic: () => time - START };
      const clock = createSystemClock((report) => void reports.push(report), source);
      // Only `pass` lets the processes look at the clocks.
      vi.useFakeTimers({ toFake: ["setInterval"] });
      const process = { clock, reports, storage: await connect(clock) };
      vi.useRealTimers();
      processes.push(process);
      return process;
    },
    /** Lets time pass; each process compares its clock once per second. */
    async pass(milliseconds: number) {
      for (let left = milliseconds; left > 0; left -= SECOND) {
        time += Math.min(SECOND, left);
        await setDatabase(time + ahead.database);
        for (const { storage } of processes) await storage.ping();
      }
    },
    /** Sets clocks ahead of the true time. */
    async set(changes: Partial<Record<Which, number>>) {
      Object.assign(ahead, changes);
      await setDatabase(time + ahead.database);
    },
    /** Ends the processes, so that others can be opened. */
    async end() {
      for (const { storage } of processes.splice(0)) await storage.close();
    },
  };
}
let world: ReturnType<typeof createWorld>;
afterEach(() => world.end());

const claimsOf = ({ storage }: Process, leaseMs = LEASE_MS) => claimAll(storage, { leaseMs, count: 1 });
const create = async ({ storage }: Process, merchantId: string) =>
  (await storage.insertDisbursement(aDisbursement(merchantId))).record;

/** Expects that payouts get their final status in time, whichever process writes them. */
async function expectSettlements(processes: readonly Process[], merchantId: string): Promise<void> {
  for (const process of processes) await create(process, merchantId);
  await world.pass(2 * SECOND);
  const settled = await Promise.all(processes.map(({ storage }) => storage.settleDue(100)));
  expect(settled.reduce((sum, count) => sum + count)).toBe(processes.length);
}

/** Expects that a claim belongs to its holder while the holder renews it, and ends in time when the holder does not. */
async function expectLeases([holder, taker]: readonly [Process, Process], merchantId: string): Promise<void> {
  await addDelivery(holder.storage, merchantId);
  let heldUntil = holder.clock.counter() + HELD_MS;
  const claims = await claimsOf(holder);
  expect(claims).toHaveLength(1);
  for (let second = 0; second < 6; second += 1) {
    await world.pass(SECOND);
    expect(await claimsOf(taker)).toEqual([]);
    heldUntil = holder.clock.counter() + HELD_MS;
    await holder.storage.renewClaims(claims, LEASE_MS);
  }
  const ended = world.time();
  let taken: ClaimedDelivery[] = [];
  while (taken.length === 0 && world.time() - ended < MINUTE) {
    await world.pass(250);
    taken = await claimsOf(taker);
    if (taken.length > 0) expect(holder.clock.counter()).toBeGreaterThanOrEqual(heldUntil);
  }
  expect(world.time() - ended).toBeLessThanOrEqual(LEASE_MS + 2 * SECOND);
  const attempt = { at: ended, sentAt: ended, latencyMs: 1 };
  expect(await taker.storage.recordAttempt(taken[0]!, attempt, { status: "delivered", step: 1 })).toBe(true);
}

/** How far the time of a process is from being ahead of the true time by so many milliseconds. */
const farthest = (processes: readonly Process[], ahead: number) =>
  Math.max(...processes.map(({ clock }) => Math.abs(clock.now() - world.time() - ahead)));

/** Expects that a payout that is created now is settled after the clocks have been set right. */
async function expectCorrection(process: Process, merchantId: string, ms: number): Promise<void> {
  const record = await create(process, merchantId);
  expect(record.createdAt - world.time()).toBe(ms);
  expect(await process.storage.takeRequest(merchantId, 1)).toBe(true);
  await world.set({ process: 0, other: 0, database: 0 });
  await world.pass(3 * SECOND);
  expect(await process.storage.settleDue(10)).toBe(1);
  const settled = (await process.storage.findDisbursement(merchantId, record.reference))!;
  expect(settled.status).toBe("success");
  expect(settled.updatedAt).toBeGreaterThanOrEqual(settled.createdAt);
  expect(await process.storage.takeRequest(merchantId, 1)).toBe(true);
}

interface Place {
  /** The clocks that matter. */
  which: readonly Which[];
  /** The clock that the server follows. */
  followed: Which;
  open(): Promise<[Process, Process]>;
}
let processes: [Process, Process];
let id: string;

/** The tests of both databases. The world is made before. */
function clockSuite({ which: all, followed, open }: Place): void {
  beforeEach(async () => {
    processes = await open();
    ({ id } = await addMerchant(processes[0].storage));
  });

  async function expectAllWork(ahead: number) {
    expect(farthest(processes, ahead)).toBeLessThanOrEqual(SECOND);
    await expectLeases(processes, id);
    await expectSettlements(processes, id);
  }

  describe.each(all.flatMap((which) => WRONG.map((ms) => ({ which, ms }))))(
    "the clock of the $which is wrong by $ms ms",
    ({ which, ms }) => {
      const ahead = which === followed ? ms : 0;

      test("in operation: it is followed there and back, and reported, and all work goes on", async () => {
        for (const wrong of [ms, 0]) {
          await world.set({ [which]: wrong });
          await world.pass(SECOND);
          await expectAllWork(wrong && ahead);
        }
        for (const { reports } of which === "database" ? processes : [processes[which === "other" ? 1 : 0]]) {
          const steps = reports.map(({ steppedMs = 0 }) => Math.round(steppedMs / SECOND)).filter((step) => step !== 0);
          expect(steps).toEqual(ahead === 0 ? [] : [ms / SECOND, -ms / SECOND]);
          expect(reports.at(-1)).toMatchObject({ aheadMs: 0 });
        }
      });

      test("from a start on, and until the next", async () => {
        for (const wrong of [ms, 0]) {
          await create(processes[0], id);
          await world.end();
          await world.set({ [which]: wrong });
          processes = await open();
          await world.pass(3 * SECOND);
          expect(await processes[0].storage.settleDue(10)).toBe(1);
          await expectAllWork(wrong && ahead);
        }
      });
    },
  );

  test.each(WRONG)("all jump by %i ms and return: what was written meanwhile does not wait", async (ms) => {
    await world.set({ process: ms, other: ms, database: ms });
    await world.pass(SECOND);
    expect(farthest(processes, ms)).toBeLessThanOrEqual(SECOND);
    await expectCorrection(processes[0], id, ms);
    await expectAllWork(0);
  });
}

describe("SQLite, with the clock of its process", () => {
  const pathOf = useFolder();
  const open = (start: number) => openSqlite(pathOf("server.db"), { clock: createFakeClock(start), server: true });
  beforeEach(() => {
    const path = pathOf("server.db");
    world = createWorld(
      async (clock) => openSqlite(path, { clock, server: true }),
      async () => undefined,
    );
  });
  clockSuite({
    which: ["process"],
    followed: "process",
    async open() {
      const process = await world.open("process");
      return [process, process];
    },
  });

  test.each([HOUR, -HOUR])(
    "doubt about a payment begins anew in a process whose counter is %i ms ahead",
    async (ms) => {
      await world.end();
      const before = open(START);
      const { id: merchantId } = await addMerchant(before);
      await before.insertDisbursement(pendingOn("mobile", merchantId));
      const lanes = [{ merchantId, host: "mobile", count: 1 }];
      const [claim] = await before.claimHandovers(lanes, LEASE_MS);
      await before.recordHandover(claim!, { exchanges: [], isUnknown: true, askAgainAfterMs: 0 });
      await before.close();
      const after = open(START + ms);
      expect(await after.claimHandovers(lanes, LEASE_MS)).toMatchObject([{ id: claim!.id, askedAgoMs: 0 }]);
      await after.close();
    },
  );

  test("a retry, a replay and a sign-in from a time that was ahead are corrected", async () => {
    const [process] = processes;
    const { storage } = process;
    await world.set({ process: YEAR });
    for (const host of ["a.example", "b.example"]) await addDelivery(storage, id, { webhookURL: `https://${host}/` });
    const [claim, delivered] = await claimsOf(process);
    const at = process.clock.now();
    const retry = { status: "pending", step: 1, nextAttemptAt: at + 5 * SECOND } as const;
    await storage.recordAttempt(claim!, { at, sentAt: at, latencyMs: 1 }, retry);
    await storage.recordAttempt(delivered!, { at, sentAt: START, latencyMs: 1 }, { status: "delivered", step: 1 });
    await storage.replayAll({ merchantId: id, filter: { status: "delivered" }, pace: 1 }, ACTOR);
    await storage.insertLink({ hash: "00", role: "viewer", name: "ada", lifetimeMs: 600_000 }, ACTOR);
    await world.pass(SECOND);
    await world.set({ process: 0 });
    await world.pass(SECOND);
    expect((await claimsOf(process)).map(({ dueAt }) => dueAt)).toEqual([world.time(), world.time()]);
    expect((await storage.listTeam()).links).toEqual([]);
  });
});

describe("PostgreSQL, with the clocks of two processes and of the database", () => {
  const database = useDatabase();
  beforeAll(async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.run(`CREATE SCHEMA testing;
      CREATE TABLE testing.clock (ms bigint NOT NULL);
      INSERT INTO testing.clock VALUES (${START});
      CREATE FUNCTION testing.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT pg_catalog.to_timestamp(ms / 1000.0) FROM testing.clock';
      ALTER DATABASE ${name} SET search_path = public, testing, pg_catalog`);
  });
  beforeEach(async () => {
    const setDatabase = (ms: number) => database.run(`UPDATE testing.clock SET ms = ${ms}`);
    await database.empty();
    await setDatabase(START);
    // The test sets the clocks one after the other. A comparison in between, by a timer, would see a jump of a second.
    world = createWorld((clock) => {
      vi.useFakeTimers({ toFake: ["setInterval"] });
      return openPostgres(database.url, { clock, server: true }).finally(() => vi.useRealTimers());
    }, setDatabase);
  });
  clockSuite({
    which: ["process", "other", "database"],
    followed: "database",
    open: async () => [await world.open("process"), await world.open("other")],
  });

  test("a jump while a claim is held, and a step that others do not see, do not make attempts overlap", async () => {
    const [holder, taker] = processes;
    await addDelivery(holder.storage, id);
    const claims = await claimsOf(holder);
    for (const ms of [20 * SECOND, 0, -HOUR, YEAR, 0]) {
      await world.set({ database: ms });
      expect(await claimsOf(taker)).toEqual([]);
      await world.pass(SECOND);
      expect(await claimsOf(taker)).toEqual([]);
      await holder.storage.renewClaims(claims, LEASE_MS);
    }
  });

  test("a failover to a standby that lacks the last seconds, with another clock, keeps leases", async () => {
    await world.pass(5 * SECOND);
    await world.set({ database: -HOUR });
    await database.run("UPDATE service SET leased = leased - 3000");
    await expectLeases(processes, id);
    await expectSettlements(processes, id);
    expect(farthest(processes, -HOUR)).toBeLessThanOrEqual(SECOND);
  });
});
