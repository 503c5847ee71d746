// Starts the reference server in this process, with a fault. Within conformance/, only the files in this folder import the
// server.
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { openSqlite } from "../../server/storage/sqlite/index.ts";
import { startServer } from "../../server/testing/server.ts";
import { hooksOf, type How, type World } from "./fault.ts";
import { startFront, startRelay } from "./proxy.ts";

export type Running = { url: string; key: string; secondKey: string; stop(): Promise<void> };

const clock = { ...createSystemClock(), advance: () => undefined, set: () => undefined };

/**
 * Starts the reference server on a free port, with an in-memory database and two merchants.
 * @param how the fault; omit it for a sound server
 * @param oldAge the age, in milliseconds, from which a fault treats a record as old
 */
export async function startBroken(how: How = () => ({}), oldAge = 2000): Promise<Running> {
  const world: World = { key: "", secondKey: "", origin: () => front.url, sleep: (ms) => sleep(ms), oldAge };
  const { handle = (call, ask) => ask(call), storage: replace, webhook, env, rails } = hooksOf(how, world);
  const relay = webhook && (await startRelay(webhook));
  const server = await startServer({
    // Without a sandbox the server would refuse the suite's receiver, which is on loopback.
    env: { LOG_LEVEL: "silent", WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true", ...env },
    clock,
    ...(rails && { rails }),
    openStorage(options) {
      const inner = openSqlite(":memory:", options);
      const diverted = { ...inner, ...relay?.divert(inner) };
      return { ...diverted, ...replace?.(diverted) };
    },
  });
  const front = await startFront(new URL(server.url), handle);
  server.config.publicUrl = front.url;
  world.key = server.key;
  world.secondKey = (await server.addMerchant("Bola Foods")).key;
  return {
    url: front.url,
    key: world.key,
    secondKey: world.secondKey,
    async stop() {
      await front.stop();
      await server.close();
      await relay?.stop();
    },
  };
}
