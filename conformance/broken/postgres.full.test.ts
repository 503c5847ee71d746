import { expect, test } from "vitest";
import { createSystemClock } from "../../server/domain/clock.ts";
import { openPostgres } from "../../server/storage/postgres/index.ts";
import { testDatabase } from "../../server/testing/resources.ts";
import { trySound } from "./catch.ts";

test("the reference server on PostgreSQL is certified for extended, in one run of the whole suite", async () => {
  const database = await testDatabase();
  const storage = await openPostgres(database.url, { clock: createSystemClock(), server: true });
  const { verdict, alarms } = await trySound({ how: () => ({ storage: () => storage }) }, "extended");
  await storage.close();
  expect({ verdict, alarms }).toEqual({ verdict: "certified", alarms: [] });
});
