// The server of subscribers.ts. Arguments: the database's file and the API key.
import { createTelemetry } from "../../server/domain/telemetry.ts";
import { createLog } from "../../server/log.ts";
import { logTelemetry } from "../../server/observability/log-telemetry.ts";
import { createMetrics } from "../../server/observability/metrics.ts";
import { startRequestLog } from "../../server/workers/request-log.ts";
import { startService } from "./service.ts";

const [path, key] = process.argv.slice(2) as [string, string];
const { log } = createLog("info", process.stdout.fd);
const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber failed"));
/** What ends the subscriptions of log, metrics and the log of requests. */
let ends: (() => void)[] = [];
const on: typeof telemetry.on = (name, subscriber) => {
  const subscribe = () => ends.push(telemetry.on(name, subscriber));
  subscriptions.push(subscribe);
  subscribe();
  return () => undefined;
};
const subscriptions: (() => void)[] = [];

logTelemetry({ on }, log);
const { url, storage, clock } = await startService({
  env: {
    DATABASE_URL: `sqlite:${path}`,
    SANDBOX_API_KEY: key,
    SETTLE_DELAY_MS: "86400000",
    // Its subscription would last. This file starts one that can be ended.
    REQUEST_LOG: "off",
  },
  telemetry,
  log,
  metrics(parts) {
    const metrics = createMetrics({ ...parts, telemetry: { on } });
    metrics.watchProcess();
    return metrics;
  },
});
startRequestLog({ storage, clock, log, telemetry: { on, emit: telemetry.emit } });

process.on("message", (wanted) => {
  for (const end of ends) end();
  ends = [];
  if (wanted === "subscribe") for (const subscribe of subscriptions) subscribe();
  process.send!("done");
});
process.on("disconnect", () => process.exit(0));
process.send!(url);
