// Starts the server. This is the only module that exits the process.
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { banner } from "./banner.ts";
import { ConfigError, readConfig, withPort, type Config } from "./config.ts";
import { createSystemClock } from "./domain/clock.ts";
import { createIds } from "./domain/ids.ts";
import { KeyTakenError, prepareFirstMerchant } from "./domain/merchants.ts";
import type { Storage } from "./domain/storage.ts";
import { listen, ListenError, type Listener } from "./http/http-server.ts";
import { createService, type Service } from "./service.ts";
import { openStorage } from "./storage/open.ts";
import { StorageError } from "./storage/storage-error.ts";
import { dnsLookup, systemLookup } from "./webhooks/lookup.ts";

async function start(config: Config): Promise<void> {
  // Buffer log lines for up to a tenth of a second, because writing each line separately would cost as much as a
  // request.
  const output = pino.destination({ sync: false, minLength: 4_096, periodicFlush: 100 });
  const log = pino({ level: config.logLevel }, output);
  const clock = createSystemClock((aheadMs) =>
    log.warn({ aheadMs }, "the system clock was set back; the server's clock continues from its last time"),
  );
  const ids = createIds(randomBytes);
  const storage = await openStorage(config.database, { clock, server: true });

  let service!: Service;
  const listener = await listen({ host: config.host, port: config.port, clock, ids, log }, (port) => {
    service = createService({
      config: withPort(config, port),
      storage,
      clock,
      ids,
      random: randomBytes,
      chance: Math.random,
      log,
      // The system's resolver also knows private names, such as those in the hosts file. Webhooks may be sent to these
      // only if private addresses are allowed.
      lookup: config.webhookAllowPrivate ? systemLookup : dnsLookup(),
    });
    return service.app;
  });
  // A new key is shown only once. Create it after the server has started to listen, so that a failed start loses no key.
  const { newKey } = await prepareFirstMerchant({ storage, clock, ids, random: randomBytes }, config.sandboxApiKey);
  const color = process.stdout.isTTY && config.color;
  process.stdout.write(banner({ config: withPort(config, listener.port), newKey, color }));
  stopOnSignal(service, listener, storage, () => output.flushSync());
}

/** On the first signal the process finishes what is in progress and exits. On a second one it exits immediately. */
function stopOnSignal(service: Service, listener: Listener, storage: Storage, flushLog: () => void): void {
  let stopping = false;
  const stop = async () => {
    if (stopping) process.exit(1);
    stopping = true;
    service.release();
    await listener.close();
    await service.stop();
    await storage.close();
    flushLog();
    process.exit(0);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
}

function explain(error: unknown): unknown {
  if (error instanceof KeyTakenError) {
    return new ConfigError(["SANDBOX_API_KEY is a key of another merchant; choose another value"]).message;
  }
  const expected = [ConfigError, StorageError, ListenError].some((known) => error instanceof known);
  return expected ? (error as Error).message : error;
}

try {
  await start(readConfig(process.env));
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}
