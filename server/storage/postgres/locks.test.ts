import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useDatabase } from "../../testing/places.ts";
import {
  aCheckout,
  ACTOR,
  addKey,
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
} from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

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

/** Each changes what a payout may be, or what payouts see, so it excludes creates. */
const EXCLUSIVE: [name: string, act: (storage: Storage, merchant: string, key: string) => Promise<unknown>][] = [
  ["suspends the merchant", (storage, id) => storage.setMerchantState(id, "suspended", ACTOR)],
  ["closes the merchant", (storage, id) => storage.setMerchantState(id, "closed", ACTOR)],
  ["limits the merchant", (storage, id) => storage.setMerchantLimits(id, { perPayment: { XOF: 1 } }, ACTOR)],
  ["limits the key", (storage, _, key) => storage.setKeyLimits(key, { perPayment: { XOF: 1 } }, ACTOR)],
  ["revokes the key", (storage, _, key) => storage.revokeKey(key, 1, ACTOR)],
  ["moves the clock", (storage, id) => storage.moveClock(id, { by: 1_000 }, 86_400_000, ACTOR)],
  ["resets the merchant", (storage, id) => storage.reset(id, ACTOR)],
  [
    "sets a balance",
    (storage, id) => storage.setBalance(id, "s", { currency: "GHS", available: 1, enforced: true }, ACTOR),
  ],
];

test.each(EXCLUSIVE)("new payments wait behind an earlier transaction that %s", async (_, act) => {
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
  const payout = storages[2]!.insertDisbursement(aFinalDisbursement(id, { currency: "USD" }));
  const checkout = storages[1]!.insertCheckout(aCheckout(id));
  await waiting(4);
  await database.run("ROLLBACK");
  expect((await earlier).inserted).toBe(true);
  await Promise.all([exclusive, payout, checkout]);
});
