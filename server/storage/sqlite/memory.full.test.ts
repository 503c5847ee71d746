import { storageSuite } from "../../testing/storage/suite.ts";
import { openSqlite } from "./index.ts";

storageSuite("SQLite in memory", async (how) => {
  const storage = openSqlite(":memory:", { ...how, server: true });
  return { storage, close: () => storage.close() };
});
