// The only file that listens and exits.
import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { banner } from "./banner.ts";
import { systemClock } from "./domain/clock.ts";
import { ConfigError, defaultPublicUrl, readConfig, type Config } from "./config.ts";
import { listen, ListenError, type Listener } from "./http/http-server.ts";
import { prepareFirstMerchant } from "./domain/merchants.ts";
import { createService, type Service } from "./service.ts";
import { StorageError } from "./storage/storage-error.ts";
import { openStorage } from "./storage/open.ts";
import type { Storage } from "./domain/storage.ts";
import { dnsLookup, systemLookup } from "./webhooks/lookup.ts";

async function start(config: Config): Promise<void> {
  // Lines are gathered for up to a tenth of a second: one write for each would cost as much as the request.
  const output = pino.destination({ sync: false, minLength: 4_096, periodicFlush: 100 });
  const log = pino({ level: config.logLevel }, output);
  const storage = await openStorage(config.database, { server: true });
  const service = createService({
    config,
    storage,
    clock: systemClock,
    random: randomBytes,
    chance: Math.random,
    log,
    // The system's own lookup knows names of this machine, which only a server for itself may call.
    lookup: config.webhookAllowPrivate ? systemLookup : dnsLookup(),
  });
  const listener = await listen(service.app, service.deps);
  // With PORT=0 the system chose the port.
  const usual = defaultPublicUrl(config.host, config.port);
  if (config.publicUrl === usual) config.publicUrl = defaultPublicUrl(config.host, listener.port);
  // A key is told once: not before it is sure that there is a server to use it with.
  const { newKey } = await prepareFirstMerchant(service.deps, config.sandboxApiKey);
  process.stdout.write(banner({ config, newKey, color: process.stdout.isTTY && config.color }));
  stopOnSignal(service, listener, storage, () => output.flushSync());
}

/** The first signal finishes what is in flight; a second one ends the process at once. */
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

try {
  await start(readConfig(process.env));
} catch (error) {
  const expected = [ConfigError, StorageError, ListenError].some((known) => error instanceof known);
  console.error(expected ? (error as Error).message : error);
  process.exit(1);
}
