// Starts the reference server in this process. `load.ts` imports this file once per mutant.
import { createSystemClock } from "../../server/domain/clock.ts";
import { openSqlite } from "../../server/storage/sqlite/index.ts";
import { startServer } from "../../server/testing/server.ts";
import type { Running } from "../broken/server.ts";

/** Starts the server on a free port, with an in-memory database and two merchants. */
export async function startMutant(): Promise<Running> {
  const server = await startServer({
    // A fast run sends many requests without a valid key.
    env: { LOG_LEVEL: "silent", AUTH_FAILURES_PER_MINUTE: "1000000" },
    clock: { ...createSystemClock(), advance: () => undefined, set: () => undefined },
    openStorage: (options) => openSqlite(":memory:", options),
  });
  const { key: secondKey } = await server.addMerchant("Bola Foods");
  return { url: server.url, key: server.key, secondKey, stop: server.close };
}
