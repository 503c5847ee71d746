import { afterAll, beforeAll, expect, test } from "vitest";
import { createSystemClock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { ACTOR, addMerchant, aDisbursement, aFinalDisbursement, aKey } from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

/** How many transactions the storages have committed. */
let commits = 0;
const emit = (name: string) => void (name === "commit" && (commits += 1));
/** Three storages on one database, as three processes have them. */
let storages: Storage[];
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  const open = () => openPostgres(database.url, { clock: createSystemClock(() => undefined), server: false, emit });
  storages = [await open(), await open(), await open()];
});
afterAll(async () => {
  await Promise.all(storages.map((storage) => storage.close()));
  await database.drop();
});

test.each([
  ["pending", aDisbursement],
  ["final", aFinalDisbursement],
] as const)(
  "three processes create %s payouts of a merchant without pause, and it is suspended at once",
  async (_, draft) => {
    const [one, two, three] = storages as [Storage, Storage, Storage];
    const { id } = await addMerchant(one);
    const key = aKey(id);
    await one.insertKey(key, ACTOR);
    let made = 0;
    const creating = storages.flatMap((storage) =>
      Array.from({ length: 16 }, async () => {
        while ((await storage.insertDisbursement(draft(id))).inserted) made += 1;
      }),
    );
    await expect.poll(() => made).toBeGreaterThan(300);

    const terms = { currency: "GHS", available: 1, enforced: true };
    const acts = [
      () => one.setMerchantLimits(id, { perPayment: { XOF: 20_000 } }, ACTOR),
      () => two.setKeyLimits(key.id, { perPayment: { XOF: 20_000 } }, ACTOR),
      () => three.setBalance(id, "balance", terms, ACTOR),
      () => one.renameMerchant(id, "Ada", ACTOR),
      () => two.revokeKey(key.id, 1, ACTOR),
      () => three.setMerchantState(id, "suspended", ACTOR),
    ];
    for (const act of acts) {
      const before = commits;
      await act();
      // Each storage commits what it had begun. Starved, the act would wait for hundreds of commits.
      expect.soft(commits - before, String(act)).toBeLessThan(30);
    }
    // A create that a suspension refuses ends its loop.
    await Promise.all(creating);
  },
);
