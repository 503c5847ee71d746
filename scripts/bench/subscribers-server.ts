// The server of subscribers.ts. Arguments: the database's file, the API key, the number of copies of each part, and a folder for
// their logs. A message to this process says which parts subscribe from now on. The response is the CPU time of this
// process so far, in microseconds.
import { openSync } from "node:fs";
import { join } from "node:path";
import { createTelemetry, type Telemetry } from "../../server/domain/telemetry.ts";
import { createLog } from "../../server/log.ts";
import { logTelemetry } from "../../server/observability/log-telemetry.ts";
import { createMetrics, type Metrics } from "../../server/observability/metrics.ts";
import { startRequestLog } from "../../server/workers/request-log.ts";
import { startService } from "./service.ts";

export type Part = "metrics" | "requests" | "log";

const [path, key, copies, folder] = process.argv.slice(2) as [string, string, string, string];
const numbers = Array.from({ length: Number(copies) }, (_, number) => number);
const { log } = createLog("warn", process.stderr.fd);
const telemetry = createTelemetry((error) => log.error({ err: error }, "a subscriber failed"));

/** Keeps subscribers, which subscribe when the switch is turned on. */
function createSwitch() {
  const subscriptions: (() => () => void)[] = [];
  const on: Telemetry["on"] = (name, subscriber) => {
    subscriptions.push(() => telemetry.on(name, subscriber));
    return () => undefined;
  };
  let ends: (() => void)[] = [];
  return {
    on,
    set(wanted: boolean) {
      for (const end of ends) end();
      ends = wanted ? subscriptions.map((subscribe) => subscribe()) : [];
    },
  };
}
const lines = createSwitch();
const counts = createSwitch();

for (const number of numbers) logTelemetry(lines, createLog("info", openSync(join(folder, `log-${number}`), "a")).log);
const { url, storage, clock } = await startService({
  env: {
    DATABASE_URL: `sqlite:${path}`,
    SANDBOX_API_KEY: key,
    SETTLE_DELAY_MS: "86400000",
    // The server's own log of requests cannot be stopped. This file starts logs that can.
    REQUEST_LOG: "off",
  },
  telemetry,
  log,
  metrics: (parts) => numbers.map((): Metrics => createMetrics({ ...parts, telemetry: counts })).at(-1)!,
});

let requestLogs: ReturnType<typeof startRequestLogs> = [];
function startRequestLogs() {
  return numbers.map((number) => {
    /** Each copy writes rows of its own merchant, so that the rows differ. */
    const insertRequests: typeof storage.insertRequests = (requests) =>
      storage.insertRequests(requests.map((each) => ({ ...each, merchantId: `${each.merchantId}-${number}` })));
    return startRequestLog({ storage: { insertRequests }, clock, log, telemetry });
  });
}

process.on("message", async (parts: Part[]) => {
  // Storing the remaining requests is part of the cost of the measurement that ends.
  await Promise.all(requestLogs.map((each) => each.stop()));
  const { user, system } = process.cpuUsage();
  requestLogs = parts.includes("requests") ? startRequestLogs() : [];
  counts.set(parts.includes("metrics"));
  lines.set(parts.includes("log"));
  process.send!(user + system);
});
process.on("disconnect", () => process.exit(0));
process.send!(url);
