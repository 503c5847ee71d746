import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durableStorageSuite, storageSuite } from "../../testing/storage/suite.ts";
import { openSqlite } from "./index.ts";

const folder = () => mkdtempSync(join(tmpdir(), "sqlite-"));
const remove = (path: string) => rmSync(path, { recursive: true });

storageSuite("SQLite in memory", async (clock) => {
  const storage = openSqlite(":memory:", { clock, server: true });
  return { storage, close: () => storage.close() };
});

storageSuite("SQLite in a file", async (clock) => {
  const place = folder();
  const storage = openSqlite(join(place, "server.db"), { clock, server: true });
  return {
    storage,
    async close() {
      await storage.close();
      remove(place);
    },
  };
});

durableStorageSuite("SQLite", {
  make: async () => folder(),
  open: async (place, clock) => openSqlite(join(place, "server.db"), { clock, server: true }),
  remove: async (place) => remove(place),
});
