// A merchant with a shop, for tests: the server, what the shop does with it over HTTP, and what it is told.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { pino } from "pino";
import type { components } from "../../generated/openapi.ts";
import { systemClock, type Clock } from "../clock.ts";
import { readConfig } from "../config.ts";
import { listen } from "../http-server.ts";
import { createKey, createMerchant } from "../merchants.ts";
import { createService } from "../service.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { systemLookup } from "../webhooks/lookup.ts";

type Schemas = components["schemas"];

/** Seconds of sandbox time; none of them passes unless a test moves the clock. */
export const SETTLE_S = 3_600;
export const EXPIRY_S = 30 * 60;

/** Real time; the sleeps that last (D17, 408, is one) end when a test lets time pass. */
function testClock() {
  let ahead = 0;
  const long = new Set<() => void>();
  const clock: Clock = {
    now: () => Date.now() + ahead,
    sleep(milliseconds, signal) {
      if (milliseconds < 10_000) return systemClock.sleep(milliseconds, signal);
      return new Promise((resolve) => {
        long.add(resolve);
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
  return {
    clock,
    /** Whether somebody is held up by a long sleep. */
    holds: () => long.size > 0,
    pass(milliseconds: number) {
      ahead += milliseconds;
      for (const end of long) end();
      long.clear();
    },
  };
}

/** The shop's own web server: whatever is asked for is a page of thanks, and what is posted is a webhook. */
async function startSite() {
  const webhooks: Schemas["WebhookEvent"][] = [];
  const server = createServer(async (request, response) => {
    if (request.method === "POST") webhooks.push((await json(request)) as Schemas["WebhookEvent"]);
    response.setHeader("Content-Type", "text/html").end("<!doctype html><title>Shop</title><h1>Back at the shop</h1>");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, webhooks, close };
}

/** @param env settings of the server that differ from those of a sandbox on loopback */
export async function openShop(env: Record<string, string> = {}) {
  const { clock, holds, pass } = testClock();
  const settings = { PORT: "0", LOG_LEVEL: "silent", SETTLE_DELAY_MS: String(SETTLE_S * 1_000), ...env };
  const config = readConfig(settings);
  const storage = openSqlite(":memory:", { server: false });
  const log = pino({ level: config.logLevel });
  const random = randomBytes;
  const service = createService({ config, storage, clock, random, chance: Math.random, log, lookup: systemLookup });
  const merchant = await createMerchant(service.deps, "Boutique Adjoua & Fils");
  const key = await createKey(service.deps, merchant.id);
  const listener = await listen(service.app, service.deps);
  const origin = `http://127.0.0.1:${listener.port}`;
  config.publicUrl = origin;
  const site = await startSite();

  async function call<T>(path: string, body?: object): Promise<T> {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const request = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const response = await fetch(origin + path, request);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { data: T }).data;
  }

  return {
    origin,
    holds,
    pass,
    site,
    checkout: (wishes: Partial<Schemas["CheckoutRequest"]> = {}) =>
      call<Schemas["CheckoutCreated"]>("/v1/checkouts", {
        amount: 1_500_000,
        currency: "XOF",
        country: "CI",
        webhookURL: `${site.url}/webhooks`,
        redirectURL: `${site.url}/thanks?cart=a%20b&status=none#order`,
        ...wishes,
      }),
    record: (reference: string) => call<Schemas["Checkout"]>(`/v1/checkouts/${reference}`),
    events: async (reference: string) =>
      (await call<Schemas["EventList"]>(`/sandbox/events?reference=${reference}`)).events.map(({ body }) => body),
    /** Moves the merchant's sandbox time; what falls due has happened when this resolves, webhooks delivered. */
    advance: (seconds: number) => call("/sandbox/clock/advance", { seconds }),
    finish: (reference: string, outcome: Schemas["CheckoutFinish"]["outcome"]) =>
      call(`/sandbox/checkouts/${reference}/finish`, { outcome }),
    async close() {
      service.release();
      site.close();
      await listener.close();
      await service.stop();
      await storage.close();
    },
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;
