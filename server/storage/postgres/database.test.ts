// How statements and transactions are executed: repeated, limited in time and number, batched, in turns.
import * as fc from "fast-check";
import type { Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { withTimeLeft, runInTimeLeft } from "../../domain/in-progress.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useDatabase } from "../../testing/resources.ts";
import {
  aCheckout,
  ACTOR,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
} from "../../testing/storage/fixtures.ts";
import { createPool } from "./connections.ts";
import { createDatabase, type Database, type Send } from "./database.ts";
import { ConnectionLost } from "./errors.ts";
import { inBatches } from "./executor.ts";
import { openPostgres } from "./index.ts";
import { decodeText, encodeText } from "./text.ts";

const unavailable = { code: "unavailable", details: { retryAfterSeconds: 1 } };

const raise = (code: string) => ({ text: `DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$` });
const nextTurn = () => new Promise(setImmediate);

describe("a database", () => {
  const database = useDatabase();
  let storage: Storage;
  let pool: Pool;
  let db: Database;
  beforeEach(async () => {
    await database.empty();
    const clock = createFakeClock();
    storage = await openPostgres(database.url, { clock, server: true, time: "process" });
    pool = createPool(database.url);
    db = createDatabase(pool, clock);
  });
  afterEach(async () => {
    await storage.close();
    await pool.end();
  });

  const insert = (send: Send, merchant: string) =>
    send({
      text: "INSERT INTO refusals (merchant_id, merchants_reference, count) VALUES (:merchant, 'x', 1)",
      values: { merchant },
    });
  const refusals = () => database.run("SELECT merchant_id FROM refusals ORDER BY merchant_id");

  // 25P03 and 25P04: the server has ended the session of a process that was too slow within its transaction.
  test.each(["40001", "40P01", "25P03", "25P04"])(
    "a transaction that ends with %s is rolled back and runs again",
    async (code) => {
      let runs = 0;
      await db.transaction(async (send) => {
        runs += 1;
        await insert(send, `run ${runs}`);
        if (runs < 3) await send(raise(code));
      });
      expect(await refusals()).toEqual([{ merchant_id: "run 3" }]);
    },
  );

  test("any other failure rolls the transaction back, also one that is hidden, and the connection remains usable", async () => {
    let runs = 0;
    const failing = db.transaction(async (send) => {
      runs += 1;
      await insert(send, "kept");
      throw new Error("refused by a rule");
    });
    await expect(failing).rejects.toThrow("refused by a rule");
    await expect(db.transaction((send) => send(raise("P0001")))).rejects.toThrow(Error);
    const hidden = db.transaction(async (send) => {
      await send(raise("P0001")).catch(() => undefined);
    });
    await expect(hidden).rejects.toThrow("rolled back");
    expect([runs, await refusals()]).toEqual([1, []]);
    await db.transaction((send) => insert(send, "later"));
    expect(await refusals()).toEqual([{ merchant_id: "later" }]);
  });

  test("a transaction whose statements together take too long ends and records nothing", async () => {
    const slow = db.transaction(async (send) => {
      for (let step = 1; step <= 10; step += 1) {
        await insert(send, `step ${step}`);
        await send({ text: "SELECT pg_sleep(1)" });
      }
    });
    await expect(slow).rejects.toBeInstanceOf(ConnectionLost);
    expect(await refusals()).toEqual([]);
  });

  test("operations beyond the limit are refused at once, and a closing storage finishes those it has accepted", async () => {
    const find = () => storage.findMerchantByKey("ab".repeat(32));
    const accepted = Array.from({ length: 10_000 }, find);
    await expect(find()).rejects.toMatchObject(unavailable);
    const closing = storage.close();
    await expect(find()).rejects.toThrow("The storage is closed.");
    expect(new Set(await Promise.all(accepted))).toEqual(new Set([undefined]));
    await closing;
  });

  test("a transaction is READ COMMITTED whatever the default is", async () => {
    await pool.query("SET default_transaction_isolation TO serializable");
    const { rows } = await db.transaction((send) => send({ text: "SHOW transaction_isolation" }));
    const outside = await pool.query("SHOW transaction_isolation");
    expect([...rows, ...outside.rows].map((row) => row.transaction_isolation)).toEqual([
      "read committed",
      "serializable",
    ]);
  });

  test("a migration by another process does not break statements that this one has prepared", async () => {
    const { id } = await addMerchant(storage);
    for (const change of ["ADD COLUMN later text", "DROP COLUMN later"]) {
      expect(await storage.findMerchant(id)).toMatchObject({ id });
      await database.run(`ALTER TABLE merchants ${change}`);
      expect(await storage.insertDisbursement(aDisbursement(id))).toMatchObject({ inserted: true });
    }
  });

  test("text that PostgreSQL cannot store is stored and found exactly", async () => {
    const { id } = await addMerchant(storage, { name: "NUL \0 half \ud83e" });
    expect((await storage.findMerchant(id))?.name).toBe("NUL \0 half \ud83e");
    for (const merchantsReference of ["a\0", "a\ud800", "a\ufffd", "a\ufdd00000", "a"]) {
      const { inserted } = await storage.insertDisbursement(aDisbursement(id, { merchantsReference }));
      const { items } = await storage.listDisbursements({ merchantId: id, merchantsReference, limit: 2 });
      expect([inserted, items]).toMatchObject([true, [{ merchantsReference }]]);
    }
    const unit = fc.constantFrom("\0", "\ufdd0", "\ud800", "\udfff", "👩", "a", "0", "1", "d");
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const stored = encodeText(text);
        expect([stored.includes("\0"), stored.isWellFormed(), decodeText(stored)]).toEqual([false, true, text]);
      }),
    );
  });
});

describe("batches", () => {
  const options = { concurrency: 1, largest: 3 };

  /** Batches that wait until the test finishes them. */
  function held() {
    const batches: { items: number[]; finish(): void }[] = [];
    const work = (items: number[]) =>
      new Promise<number[]>((resolve) => {
        batches.push({ items, finish: () => resolve(items.map((item) => item * 10)) });
      });
    return { add: inBatches(work, options), batches };
  }

  test("have the items of one turn, and then those that arrived meanwhile, up to their size", async () => {
    const { add, batches } = held();
    const results = [1, 2].map(add);
    await nextTurn();
    results.push(...[3, 4, 5, 6, 7].map(add));
    for (let index = 0; index < 3; index += 1) {
      batches[index]!.finish();
      await nextTurn();
    }
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50, 60, 70]);
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4, 5],
      [6, 7],
    ]);
  });

  test("leave out items that have waited for too long, or whose request has too little time", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { add, batches } = held();
    const first = add(0);
    await nextTurn();
    const refused = [() => add(1), () => withTimeLeft({ leftMs: 4_100 }, () => add(2))].map((late, index) => {
      vi.advanceTimersByTime(index * 3_000);
      return late();
    });
    vi.advanceTimersByTime(200);
    const last = add(3);
    batches[0]!.finish();
    for (const late of refused) await expect(late).rejects.toMatchObject(unavailable);
    await first;
    batches[1]!.finish();
    await last;
    vi.useRealTimers();
    expect(batches.map(({ items }) => items)).toEqual([[0], [3]]);
  });

  test("take the time of an item, its wait included, from its own request's budget", async () => {
    const [long, longer] = [{ leftMs: 20_000 }, { leftMs: 50_000 }];
    const limits: number[] = [];
    const add = inBatches(async (items: number[]) => {
      await runInTimeLeft(async (deadline) => void limits.push(deadline - performance.now()));
      return items;
    }, options);
    await Promise.all([withTimeLeft(longer, () => add(1)), withTimeLeft(long, () => add(2))]);
    expect(limits).toHaveLength(1);
    expect(limits[0]).toBeGreaterThan(15_000);
    expect(limits[0]).toBeLessThanOrEqual(20_000);
    expect([long.leftMs < 20_000, longer.leftMs < 50_000, longer.leftMs > 40_000]).toEqual([true, true, true]);
    // A batch that was begun for one request does not limit a later request.
    await add(3);
    expect(limits[1]).toBe(Infinity);
  });
});

describe("a transaction of one of three processes", () => {
  const database = useDatabase();
  /** Three storages on one database, as three processes have them. */
  let storages: Storage[];
  beforeAll(async () => {
    const options = { clock: createFakeClock(), server: false, time: "process" } as const;
    storages = await concurrently(3, () => openPostgres(database.url, options));
  });
  afterAll(() => Promise.all(storages.map((storage) => storage.close())));

  const WAITING = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  async function countWaiting() {
    // Otherwise a transaction would see the same activity again.
    await database.run("SELECT pg_stat_clear_snapshot()");
    return database.run(WAITING);
  }
  /** Resolves when so many transactions wait for a lock. */
  async function waiting(count: number): Promise<void> {
    await expect.poll(countWaiting, { interval: 5 }).toEqual([{ count }]);
  }

  type Act = (storage: Storage, merchant: string, key: string) => Promise<unknown>;
  /** Each changes what a payout may be, or what payouts see, so it excludes creates. The last is why a later payout is refused. */
  const EXCLUSIVE: [name: string, act: Act, refusal?: string][] = [
    ["suspends the merchant", (storage, id) => storage.setMerchantState(id, "suspended", ACTOR), "merchant_suspended"],
    ["closes the merchant", (storage, id) => storage.setMerchantState(id, "closed", ACTOR), "unauthorized"],
    [
      "limits the merchant",
      (storage, id) => storage.setMerchantLimits(id, { perPayment: { XOF: 1 } }, ACTOR),
      "limit_exceeded",
    ],
    [
      "limits the key",
      (storage, _, key) => storage.setKeyLimits(key, { perPayment: { XOF: 1 } }, ACTOR),
      "limit_exceeded",
    ],
    ["revokes the key", (storage, _, key) => storage.revokeKey(key, 1, ACTOR), "unauthorized"],
    ["moves the clock", (storage, id) => storage.moveClock(id, { by: 1_000 }, ACTOR)],
    ["resets the merchant", (storage, id) => storage.reset(id, ACTOR)],
    [
      "sets a balance",
      (storage, id) => storage.setBalance(id, "s", { currency: "GHS", available: 1, enforced: true }, ACTOR),
    ],
  ];

  test.each(EXCLUSIVE)("that %s has its turn before later payments, which know of it", async (_, act, refusal) => {
    // A failed test may have left a transaction.
    await database.run("ROLLBACK");
    const { id } = await addMerchant(storages[0]!);
    const key = await addKey(storages[0]!, id);
    await storages[0]!.insertDisbursement(aDisbursement(id));

    // This create waits for the account, so its transaction does not end.
    await database.run(`BEGIN; SELECT * FROM accounts WHERE merchant_id = '${id}' FOR UPDATE`);
    const earlier = storages[0]!.insertDisbursement(aDisbursement(id));
    await waiting(1);
    const exclusive = act(storages[1]!, id, key.id);
    await waiting(2);
    const payout = storages[2]!.insertDisbursement(aFinalDisbursement(id, { currency: "USD", keyId: key.id }));
    const checkout = storages[1]!.insertCheckout(aCheckout(id));
    await waiting(4);
    await database.run("ROLLBACK");
    expect((await earlier).inserted).toBe(true);
    await Promise.all([exclusive, checkout]);
    expect((await payout).refusal?.code).toBe(refusal);
  });
});
