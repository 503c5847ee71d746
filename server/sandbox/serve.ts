// A sandbox for tests: the whole server in memory, on a free port of this machine.
import { randomBytes } from "node:crypto";
import { readConfig } from "../config.ts";
import { createSystemClock } from "../domain/clock.ts";
import { createIds } from "../domain/ids.ts";
import { createMerchant } from "../domain/merchants.ts";
import { createTelemetry } from "../domain/telemetry.ts";
import { connectionLimit } from "../http/http-server.ts";
import { createLog } from "../log.ts";
import { logTelemetry } from "../observability/log-telemetry.ts";
import { operator } from "../operator.ts";
import { startService } from "../service.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";

const STDERR = 2;
/** How long a stop may take to write what the log still holds. */
const FLUSH_MS = 1_000;

/**
 * Starts a sandbox with one merchant, on a free port of this machine. Only errors are printed, to stderr. It ends with its
 * process or thread, and there is nothing to save.
 * @param settings environment variables, as in settings.ts. The process's own are not read
 * @param receiver the merchant's default address for webhooks
 * @throws ConfigError if the settings are invalid, ListenError if PORT is set and the port is not free
 */
export async function serveInMemory(settings: Readonly<Record<string, string>>, receiver?: string) {
  const own = { DATABASE_URL: "sqlite::memory:", SANDBOX: "true", REQUEST_LOG: "off" };
  const asked = readConfig({ PORT: "0", LOG_LEVEL: "error", ...settings, ...own }, { server: true });
  const { log, flush } = createLog(asked.logLevel, STDERR);
  const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber of the server's events failed"));
  logTelemetry(telemetry, log);
  const clock = createSystemClock((report) => telemetry.emit("clock", report));
  const ids = createIds(randomBytes);
  const storage = openSqlite(":memory:", { clock, server: true, mode: asked.mode, emit: telemetry.emit });
  const apiKey = asked.sandboxApiKey ?? ids.apiKey();
  const context = { storage, clock, ids, random: randomBytes, actor: operator("server") };
  const { id } = await createMerchant(context, "Sandbox Merchant", { name: "First key", text: apiKey });
  if (receiver !== undefined) await storage.setDefaultWebhook(id, receiver, context.actor);
  const { current: webhookSecret } = await storage.readSecrets(id);
  const lookup = hostsLookup(dnsLookup());
  // Loading the library of metrics takes a fifth of the start.
  const config = { ...asked, metrics: undefined };
  const parts = { ...context, config, chance: Math.random, log, telemetry, lookup };
  const { service, httpServer, config: running } = await startService(parts, { maxConnections: connectionLimit() });
  return {
    /** Of the merchant. */
    id,
    baseUrl: running.publicUrl,
    apiKey,
    webhookSecret,
    /** Writes what the log still holds. Resolves after at most `timeoutMs`. */
    flush,
    /** Ends the sandbox. Requests and webhooks in progress are cut off. */
    async stop() {
      service.release();
      await httpServer.close(0);
      await service.stop(0);
      await storage.close();
      await flush(FLUSH_MS);
    },
    loseNext: service.loseNext,
  };
}
