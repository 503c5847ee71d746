// A server in this process, assembled as server/start.ts does it.
import { randomBytes } from "node:crypto";
import { readConfig, withPort, type Config } from "../../server/config.ts";
import { createSystemClock, type Clock } from "../../server/domain/clock.ts";
import { createIds } from "../../server/domain/ids.ts";
import { prepareFirstMerchant, type MerchantContext } from "../../server/domain/merchants.ts";
import type { Storage } from "../../server/domain/storage.ts";
import type { Telemetry } from "../../server/domain/telemetry.ts";
import { listen } from "../../server/http/http-server.ts";
import type { createLog } from "../../server/log.ts";
import type { Metrics } from "../../server/observability/metrics.ts";
import { createService, type Service } from "../../server/service.ts";
import { openStorage } from "../../server/storage/open.ts";
import { dnsLookup } from "../../server/webhooks/lookup.ts";

interface Parts {
  config: Config;
  storage: Storage;
  clock: Clock;
}

interface Options {
  env: Record<string, string>;
  telemetry: Telemetry;
  log: ReturnType<typeof createLog>["log"];
  /** Creates the metrics that `/metrics` serves. */
  metrics?: (parts: Parts) => Metrics;
}

export interface BenchService extends Parts {
  url: string;
  service: Service;
  httpServer: Awaited<ReturnType<typeof listen>>;
  merchants: MerchantContext;
}

/** Starts a server on a free port. `env` has its configuration, with the key of its merchant in SANDBOX_API_KEY. */
export async function startService({ env, telemetry, log, metrics }: Options): Promise<BenchService> {
  const config = readConfig({ PORT: "0", ...env });
  const clock = createSystemClock();
  const ids = createIds(randomBytes);
  const storage = await openStorage(config.database, { clock, server: true, mode: config.mode, emit: telemetry.emit });
  const shared = { storage, clock, ids, random: randomBytes };
  const merchants = { ...shared, actor: "server bench@host" as const };
  await prepareFirstMerchant(merchants, "Benchmark", config.sandboxApiKey);
  const served = metrics?.({ config, storage, clock });
  let service!: Service;
  const httpServer = await listen({ ...config, maxConnections: 1_000, clock, ids, log }, (port) => {
    const parts = { ...shared, chance: Math.random, log, telemetry, metrics: served, lookup: dnsLookup() };
    service = createService({ config: withPort(config, port), ...parts });
    return service.app;
  });
  const url = `http://127.0.0.1:${httpServer.port}`;
  return { url, config, storage, clock, service, httpServer, merchants };
}
