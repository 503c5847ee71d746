import { pino } from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { createTelemetry } from "../domain/telemetry.ts";
import { openPostgres } from "../storage/postgres/index.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { addMerchant, aDisbursement } from "../testing/storage/fixtures.ts";
import { createChanges, type Topic } from "./changes.ts";

const PATIENCE = { timeout: 20_000, interval: 5 };
const clock = createFakeClock();
const log = pino({ level: "silent" });
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());

/** Lets time pass until `check` passes. */
const eventually = (check: () => void) =>
  vi.waitFor(() => {
    clock.advance(50);
    check();
  }, PATIENCE);

function changesOf(storage: Pick<Storage, "readMarks">) {
  const telemetry = createTelemetry((error) => expect.fail(String(error)));
  return { telemetry, ...createChanges({ storage, telemetry, clock, log }) };
}

const open = () => openPostgres(database.url, { clock, server: true, time: "process" });

test("a commit of another process is noticed", async () => {
  const [here, elsewhere] = [await open(), await open()];
  const { id } = await addMerchant(here);
  const { watch, stop } = changesOf(here);
  const told: Topic[] = [];
  watch(id, (topic) => told.push(topic));
  await eventually(() => expect(told).toEqual(["payments", "requests"]));
  await elsewhere.insertDisbursement(aDisbursement(id));
  await eventually(() => expect(told).toEqual(["payments", "requests", "payments"]));
  await Promise.all([stop(), here.close(), elsewhere.close()]);
});

test("nothing is read unless somebody watches", async () => {
  const storage = openSqlite(":memory:", { clock, server: true });
  const { id } = await addMerchant(storage);
  const readMarks = vi.fn<Storage["readMarks"]>(storage.readMarks);
  const { watch, telemetry } = changesOf({ readMarks });
  const commit = () => telemetry.emit("commit", { items: 1, durationMs: 1 });
  commit();
  clock.advance(10_000);
  expect(readMarks).not.toHaveBeenCalled();
  const told = vi.fn<(topic: Topic) => void>();
  const ends = [watch(id, told), watch(id, told)];
  await eventually(() => expect(told).toHaveBeenCalled());
  for (const end of ends) {
    end();
    end();
  }
  const before = readMarks.mock.calls.length;
  commit();
  for (let round = 0; round < 20; round += 1) {
    clock.advance(250);
    await new Promise(setImmediate);
  }
  expect(readMarks.mock.calls.length).toBe(before);
  await storage.close();
});

test("many commits are looked at together, and a storage that fails is asked again", async () => {
  const marks = { payments: "1", requests: "1" };
  const readMarks = vi.fn<Storage["readMarks"]>(async () => new Map([["ada", { ...marks }]]));
  readMarks.mockRejectedValueOnce(new Error("no connection"));
  const { watch, telemetry, stop } = changesOf({ readMarks });
  const told: Topic[] = [];
  const end = watch("ada", (topic) => told.push(topic));
  await eventually(() => expect(told).toEqual(["payments", "requests"]));
  const before = readMarks.mock.calls.length;
  for (let commit = 0; commit < 100; commit += 1) {
    marks.payments += "1";
    telemetry.emit("commit", { items: 1, durationMs: 1 });
    await new Promise(setImmediate);
  }
  expect(readMarks.mock.calls.length - before).toBeLessThanOrEqual(1);
  await eventually(() => expect(told.slice(2)).toContain("payments"));
  expect(told.length).toBeLessThanOrEqual(4);
  end();
  await stop();
});
