// A revoked key pays nothing: once a revocation is acknowledged, no payment of any process is made with the key.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSystemClock } from "../../domain/clock.ts";
import type { ApiKey } from "../../domain/keys.ts";
import type { Storage } from "../../domain/storage.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import {
  ACTOR,
  aCheckout,
  addMerchant,
  aDisbursement,
  aKey,
  concurrently,
  START,
} from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

const PROCESSES = 3;
const CALLERS = 24;

let database: TestDatabase;
let storages: Storage[];
beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const open = () => openPostgres(database.url, { clock: createSystemClock(), server: true });
  storages = [await open(), await open(), await open(), await open()];
});
afterAll(async () => {
  await Promise.all(storages.map((storage) => storage.close()));
  await database.drop();
});

/** How many payments were made with a key, whose id is in the merchant's references. */
async function countMade(keyId: string) {
  const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE merchants_reference LIKE '${keyId} %')`;
  const [row] = await database.run(`SELECT ${count("disbursements")} + ${count("checkouts")} AS made`);
  return Number(row!.made);
}

test("nothing is made with a revoked key, while three storages create without pause", async () => {
  const operator = storages[PROCESSES]!;
  const { id: merchantId } = await addMerchant(operator);
  const [key, other] = [aKey(merchantId), aKey(merchantId)];
  for (const each of [key, other]) await operator.insertKey(each, ACTOR);
  let made = 0;
  let isRevoked = false;
  const isLoaded = Promise.withResolvers<void>();

  /** Creates until the key is refused; without a refusal, a while after the revocation. Returns the refusal. */
  async function create(storage: Storage, { id: keyId }: ApiKey, isCheckout: boolean) {
    for (let later = 0; later < 20; later += isRevoked ? 1 : 0) {
      const reference = randomUUID();
      const names = { id: randomUUID(), reference, merchantsReference: `${keyId} ${reference}`, keyId };
      const { refusal } = await (isCheckout
        ? storage.insertCheckout(aCheckout(merchantId, names))
        : storage.insertDisbursement(aDisbursement(merchantId, names)));
      if (refusal) return refusal.code;
      made += 1;
      if (made === 1_000) isLoaded.resolve();
    }
    return undefined;
  }
  const callersOf = (each: ApiKey) =>
    concurrently(PROCESSES * CALLERS, (index) => create(storages[index % PROCESSES]!, each, index % 2 === 0));
  const callers = Promise.all([callersOf(key), callersOf(other)]);
  await Promise.race([isLoaded.promise, callers]);
  const isDone = await operator.revokeKey(key.id, START, ACTOR).finally(() => (isRevoked = true));
  const atOnce = await countMade(key.id);
  const [revoked, others] = await callers;
  expect(isDone).toBe(true);
  expect(new Set(revoked)).toEqual(new Set(["unauthorized"]));
  expect(new Set(others)).toEqual(new Set([undefined]));
  expect(await countMade(key.id)).toBe(atOnce);
});
