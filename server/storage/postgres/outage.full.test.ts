import { afterEach, beforeEach, expect, test } from "vitest";
import type { ServiceError } from "../../domain/errors.ts";
import type { Storage } from "../../domain/storage.ts";
import { createTelemetry } from "../../domain/telemetry.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { startPostgresProxy, type PostgresProxy } from "../../testing/postgres-proxy.ts";
import { seededRandom } from "../../testing/random.ts";
import { useDatabase } from "../../testing/resources.ts";
import { ACTOR, addMerchant, aDisbursement, aFinalDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

const database = useDatabase();
let proxy: PostgresProxy;
let storage: Storage;
let reports: boolean[];
beforeEach(async () => {
  await database.empty();
  proxy = await startPostgresProxy(database.url);
  reports = [];
  const { emit, on } = createTelemetry((error) => expect.unreachable(String(error)));
  on("storage", ({ working }) => reports.push(working));
  storage = await openPostgres(proxy.url, { clock: createFakeClock(), server: true, time: "process", emit });
});
afterEach(async () => {
  await proxy.restore();
  await storage.close();
  await proxy.close();
});

const unavailable = { code: "unavailable", details: { retryAfterSeconds: expect.any(Number) } };
const count = async (table: string) => Number((await database.run(`SELECT count(*) AS count FROM ${table}`))[0]!.count);

test("connections that are cut while idle do not fail a request", async () => {
  const { id } = await addMerchant(storage);
  proxy.cut();
  expect(await storage.insertDisbursement(aDisbursement(id))).toMatchObject({ inserted: true });
  expect(reports).toEqual([]);
});

test("connections cut off at random lose and double no payout, under load and with a worker", async () => {
  const clock = createFakeClock();
  const worker = await openPostgres(database.url, { clock, server: true, time: "process" });
  const random = seededRandom(7);
  const { id: merchantId } = await addMerchant(storage);
  const acknowledged: string[] = [];
  let isDone = false;
  const settling = (async () => {
    while (!isDone) await worker.settleDue(20);
  })();
  await concurrently(16, async () => {
    for (let round = 0; round < 12; round += 1) {
      const draft = random.below(2) === 0 ? aFinalDisbursement(merchantId) : aDisbursement(merchantId);
      if (random.below(4) === 0) proxy.onCommit = random.pick(["cut-before", "cut-after"] as const);
      if (random.below(8) === 0) proxy.cut();
      // A caller whose request failed repeats it, until it succeeds or is told that the payout exists.
      for (;;) {
        try {
          const { inserted, record } = await storage.insertDisbursement(draft);
          expect(inserted || record.id === draft.id).toBe(true);
          break;
        } catch (error) {
          expect(["unavailable", "UnknownOutcome"]).toContain((error as ServiceError).code ?? (error as Error).name);
        }
      }
      acknowledged.push(draft.reference);
      clock.advance(500);
    }
  });
  proxy.onCommit = "pass";
  isDone = true;
  await settling;
  clock.advance(60_000);
  while ((await worker.settleDue(100)) > 0);

  const stored = await database.run("SELECT reference, status FROM disbursements ORDER BY reference");
  expect(stored.map(({ reference }) => reference)).toEqual(acknowledged.toSorted());
  expect(stored.every(({ status }) => status === "success")).toBe(true);
  const events = await database.run("SELECT reference, seq FROM events ORDER BY seq");
  expect(events.map(({ reference }) => reference as string).toSorted()).toEqual(acknowledged.toSorted());
  expect(events.map(({ seq }) => Number(seq))).toEqual(events.map((_, index) => index + 1));
  await worker.close();
});

test.each(["cut-before", "cut-after"] as const)(
  "a top-up whose commit is cut off (%s) is booked once, and succeeds",
  async (onCommit) => {
    const { id } = await addMerchant(storage);
    proxy.onCommit = onCommit;
    const topUp = { id: "a-top-up", currency: "XOF", amount: 700, reason: "a transfer" };
    expect(await storage.adjustBalance(id, topUp, ACTOR)).toBe("booked");
    expect([await storage.listBalances(id), await count("entries")]).toMatchObject([[{ available: 700 }], 1]);
  },
);

test("an operation that must not run twice reports that its outcome is unknown", async () => {
  const { id } = await addMerchant(storage);
  for (const [onCommit, counted] of [
    ["cut-after", 2],
    ["cut-before", 3],
  ] as const) {
    proxy.onCommit = onCommit;
    await expect(storage.countRefusal(id, "once")).rejects.toMatchObject({ name: "UnknownOutcome" });
    expect(await storage.countRefusal(id, "once")).toBe(counted);
  }
});

test("a database that is away refuses requests, reports this once, and works again when it is back", async () => {
  const { id } = await addMerchant(storage);
  await proxy.refuse();
  const attempts = [
    storage.insertDisbursement(aDisbursement(id)),
    storage.findDisbursement(id, "DSB1"),
    storage.listDisbursements({ merchantId: id, limit: 1 }),
    storage.setDefaultWebhook(id, undefined, ACTOR),
    storage.ping(),
  ];
  for (const { reason } of (await Promise.allSettled(attempts)) as PromiseRejectedResult[]) {
    expect(reason).toMatchObject(unavailable);
  }
  expect(reports).toEqual([false]);
  await proxy.restore();
  expect(await storage.insertDisbursement(aDisbursement(id))).toMatchObject({ inserted: true });
  expect(reports).toEqual([false, true]);
  expect(await count("disbursements")).toBe(1);
});

test("a pool that is exhausted refuses requests in time, and works again when connections are free", async () => {
  const { id } = await addMerchant(storage);
  await database.run(`BEGIN; SELECT * FROM merchants WHERE id = '${id}' FOR UPDATE`);
  const rename = (name: string) => storage.renameMerchant(id, name, ACTOR);
  const waiting = await concurrently(30, () => rename("Busy").catch((error: unknown) => error));
  await database.run("ROLLBACK");
  expect(waiting).toEqual(Array.from({ length: 30 }, () => expect.objectContaining(unavailable)));
  await rename("Grace Stores");
  expect(await storage.findMerchant(id)).toMatchObject({ name: "Grace Stores" });
});
