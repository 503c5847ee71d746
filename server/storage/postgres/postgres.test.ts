import { afterAll, beforeAll, describe } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { durableStorageSuite, storageSuite } from "../../testing/storage/suite.ts";
import { openPostgres } from "./index.ts";

describe.each(Object.entries(POSTGRES_SERVERS))("%s", (name, server) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase(await server());
  });
  afterAll(() => database.drop());

  const options = { server: true, time: "process" } as const;

  storageSuite(name, async (clock) => {
    await database.empty();
    const storage = await openPostgres(database.url, { clock, ...options });
    return { storage, close: () => storage.close() };
  });

  durableStorageSuite(name, {
    make: () => database.empty(),
    open: (_, clock) => openPostgres(database.url, { clock, ...options }),
    remove: async () => undefined,
  });
});
