// Starts the servers of the self-test: the model with a fault, and the reference server. Within conformance/, only this
// folder imports the server.
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import type { Storage } from "../../server/domain/storage.ts";
import { startServer } from "../../server/testing/server.ts";
import { newKey, startModel } from "../model/server.ts";
import { hooksOf, type How } from "./fault.ts";

export type Running = { url: string; key: string; secondKey: string; stop(): Promise<void> };

/**
 * Starts the model on a free port, with two merchants.
 * @param how the fault; omit it for a sound server
 * @param oldAge the age, in milliseconds, from which a fault treats a record as old
 */
export function startBroken(how: How = () => ({}), oldAge = 2000) {
  const [key, secondKey] = [newKey(), newKey()];
  return startModel(hooksOf(how, { key, secondKey, sleep: (ms) => sleep(ms), oldAge }), [key, secondKey]);
}

const realClock = { ...createSystemClock(), advance: () => undefined, set: () => undefined };

/**
 * Starts the reference server on a free port, in real time, with two merchants.
 * @param storage by default an empty one in memory
 */
export async function startReference(storage?: Storage): Promise<Running> {
  const env = { LOG_LEVEL: "silent", WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  const server = await startServer({ env, clock: realClock, ...(storage && { openStorage: () => storage }) });
  server.config.publicUrl = server.url;
  const second = await server.addMerchant("Bola Foods");
  return { url: server.url, key: server.key, secondKey: second.key, stop: server.close };
}
