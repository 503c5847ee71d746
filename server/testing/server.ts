import { pino } from "pino";
import { readConfig } from "../config.ts";
import { createIds } from "../domain/ids.ts";
import { modeOf } from "../domain/keys.ts";
import { createKey, createMerchant, type MerchantContext } from "../domain/merchants.ts";
import type { Storage } from "../domain/storage.ts";
import { createTelemetry, type Emit } from "../domain/telemetry.ts";
import { startService, type Service } from "../service.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { logTelemetry } from "../observability/log-telemetry.ts";
import type { Rails } from "../domain/rails.ts";
import type { Lookup } from "../webhooks/lookup.ts";
import { createFakeClock, type FakeClock } from "./clock.ts";
import { createHttpClient } from "./http.ts";
import { createTestRail, railsOf } from "./rail.ts";
import { seededRandom } from "./random.ts";

export { aCheckout, aPayout } from "./http.ts";

export interface TestServerOptions {
  /** Environment variables, read as `main.ts` reads them. Balances are tracked by default, also by a live server. */
  env?: Record<string, string>;
  /** Opens the storage; by default an empty one in memory. */
  openStorage?: (options: { clock: FakeClock; server: boolean; emit: Emit }) => Storage;
  clock?: FakeClock;
  /** Seed of the generated ids, keys and secrets. A second server on the same storage needs a different seed. */
  seed?: number;
  /** Resolves the host names of webhook receivers. By default no name resolves, so use IP addresses. */
  lookup?: Lookup;
  /** The most client connections at a time. */
  maxConnections?: number;
  /** How long a client may take to send a whole request, in real milliseconds: 30 s by default. */
  requestTimeoutMs?: number;
  /** The rail of a live server: by default a rail whose payments succeed immediately. */
  rails?: Rails;
}

export type TestServer = Awaited<ReturnType<typeof startServer>>;

/** Starts the whole service in this process: a free port, an in-memory database, a stopped clock and seeded ids. */
export async function startServer(options: TestServerOptions = {}) {
  const random = seededRandom(options.seed ?? 1);
  const { clock = createFakeClock(), openStorage = (how) => openSqlite(":memory:", how) } = options;
  const asked = readConfig({ PORT: "0", LOG_LEVEL: "trace", BALANCES: "tracked", ...options.env });
  const ids = createIds(random.bytes, modeOf(asked));
  const lines: string[] = [];
  const log = pino({ level: asked.logLevel }, { write: (line) => lines.push(line) });
  const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber of the server's events failed"));
  logTelemetry(telemetry, log);
  const storage = openStorage({ clock, server: true, emit: telemetry.emit });
  const { service, httpServer, config } = await startService(
    {
      config: asked,
      storage,
      clock,
      ids,
      random: random.bytes,
      chance: random.next,
      log,
      telemetry,
      lookup: options.lookup ?? noNames,
      rails: asked.sandbox ? undefined : (options.rails ?? railsOf(createTestRail())),
    },
    { maxConnections: options.maxConnections ?? 10_000, requestTimeoutMs: options.requestTimeoutMs },
  );

  const merchants: MerchantContext = { storage, clock, ids, random: random.bytes, actor: "server app@host" };
  const addMerchant = async (name: string) => {
    const merchant = await createMerchant(merchants, name);
    return { merchant, key: (await createKey(merchants, merchant.id))! };
  };
  const first = await addMerchant("Ada Stores");
  const client = createHttpClient({ port: httpServer.port, key: first.key, sandbox: config.sandbox });

  return {
    url: `http://127.0.0.1:${httpServer.port}`,
    port: httpServer.port,
    config,
    /** Real time, stopped until a test advances it. `pass` also processes what falls due. */
    clock,
    service,
    storage,
    telemetry,
    /** The arguments that the functions in `domain/merchants.ts` need. */
    merchants,
    /** The first merchant. Requests use its key by default. */
    ...first,
    addMerchant,
    ...client,
    /** Advances real time in one step. Resolves when everything that fell due has been processed. */
    async pass(milliseconds: number) {
      clock.advance(milliseconds);
      await untilIdle(service);
    },
    /** Everything logged so far, one object per line. */
    logged: () => lines.map((line) => JSON.parse(line) as Record<string, any>),
    async close() {
      service.release();
      await httpServer.close(10_000);
      await service.stop(5_000);
      await storage.close();
      await client.close();
    },
  };
}

const noNames: Lookup = () => Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));

async function untilIdle({ settle, deliveries, handovers }: Service): Promise<void> {
  for (let done = 1; done > 0;) {
    done = (await settle()) + ((await handovers?.begin()) ?? 0);
    await handovers?.idle();
    done += await deliveries.begin();
    await deliveries.idle();
  }
}
