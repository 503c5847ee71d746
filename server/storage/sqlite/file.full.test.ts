import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storageSuite } from "../../testing/storage/suite.ts";
import { openSqlite } from "./index.ts";

storageSuite("SQLite in a file", async (how) => {
  const place = mkdtempSync(join(tmpdir(), "sqlite-"));
  const storage = openSqlite(join(place, "server.db"), { ...how, server: true, inASegment: 2 });
  return {
    storage,
    async close() {
      await storage.close();
      rmSync(place, { recursive: true });
    },
  };
});
