// The server of subscribers.ts. Arguments: the database's file and the API key.
import { randomBytes } from "node:crypto";
import { readConfig, withPort } from "../../server/config.ts";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createIds } from "../../server/domain/ids.ts";
import { prepareFirstMerchant } from "../../server/domain/merchants.ts";
import { createTelemetry } from "../../server/domain/telemetry.ts";
import { listen } from "../../server/http/http-server.ts";
import { createLog } from "../../server/log.ts";
import { logTelemetry } from "../../server/observability/log-telemetry.ts";
import { createMetrics } from "../../server/observability/metrics.ts";
import { createService } from "../../server/service.ts";
import { openStorage } from "../../server/storage/open.ts";
import { dnsLookup } from "../../server/webhooks/lookup.ts";

const [path, key] = process.argv.slice(2) as [string, string];
const config = readConfig({
  PORT: "0",
  DATABASE_URL: `sqlite:${path}`,
  SANDBOX_API_KEY: key,
  SETTLE_DELAY_MS: "86400000",
});
const { log } = createLog("info", process.stdout.fd);
const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber failed"));
/** What ends the subscriptions of log and metrics. */
let ends: (() => void)[] = [];
const on: typeof telemetry.on = (name, subscriber) => {
  const subscribe = () => ends.push(telemetry.on(name, subscriber));
  subscriptions.push(subscribe);
  subscribe();
  return () => undefined;
};
const subscriptions: (() => void)[] = [];

const clock = createSystemClock();
const ids = createIds(randomBytes);
const storage = await openStorage(config.database, { clock, server: true, emit: telemetry.emit });
logTelemetry({ on }, log);
const metrics = createMetrics({ config, telemetry: { on }, storage, clock });
metrics.watchProcess();
const merchants = { storage, clock, ids, random: randomBytes, actor: "server bench@host" as const };
await prepareFirstMerchant(merchants, key);
const listener = await listen({ ...config, maxConnections: 1_000, clock, ids, log }, (port) => {
  const made = withPort(config, port);
  const lookup = dnsLookup();
  const parts = { storage, clock, ids, random: randomBytes, chance: Math.random, log, telemetry, metrics, lookup };
  return createService({ config: made, ...parts }).app;
});

process.on("message", (wanted) => {
  for (const end of ends) end();
  ends = [];
  if (wanted === "subscribe") for (const subscribe of subscriptions) subscribe();
  process.send!("done");
});
process.on("disconnect", () => process.exit(0));
process.send!(`http://127.0.0.1:${listener.port}`);
