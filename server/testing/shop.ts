// A merchant with a shop, for tests: what it does with the server over HTTP, and what it is told.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { components } from "../../generated/openapi.ts";
import { CHECKOUT_LIFETIME_MS } from "../domain/checkouts.ts";
import { checkWebhook } from "./contract.ts";
import { startServer } from "./server.ts";

type Schemas = components["schemas"];

export const MERCHANT = "Boutique Adjoua & Fils";

/** The shop's own web server: whatever is asked for is a page of thanks, and what is posted is a webhook. */
async function startSite() {
  const webhooks: Schemas["WebhookEvent"][] = [];
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      const body = await json(request);
      checkWebhook(body);
      webhooks.push(body as Schemas["WebhookEvent"]);
    }
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
  const [server, site] = await Promise.all([startServer({ env }), startSite()]);
  const { key } = await server.addMerchant(MERCHANT);

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await server.request(method, path, { key, body });
    if (answer.status !== 200) throw new Error(`${method} ${path} was answered with ${answer.status}: ${answer.text}`);
    return answer.body.data;
  }

  return {
    deps: server.service.deps,
    origin: server.url,
    /** Where customers are sent back to, and what was told there. */
    site,
    checkout: (wishes: Partial<Schemas["CheckoutRequest"]> = {}) =>
      call<Schemas["CheckoutCreated"]>("POST", "/v1/checkouts", {
        amount: 1_500_000,
        currency: "XOF",
        country: "CI",
        webhookURL: `${site.url}/webhooks`,
        redirectURL: `${site.url}/thanks?cart=a%20b&status=none#order`,
        ...wishes,
      }),
    record: (reference: string) => call<Schemas["Checkout"]>("GET", `/v1/checkouts/${reference}`),
    /** Every event of the checkout, whether it was delivered or not. */
    events: async (reference: string) =>
      (await call<Schemas["EventList"]>("GET", `/sandbox/events?reference=${reference}`)).events.map(
        ({ body }) => body,
      ),
    finish: (reference: string, outcome: Schemas["CheckoutFinish"]["outcome"]) =>
      call("POST", `/sandbox/checkouts/${reference}/finish`, { outcome }),
    /** Time stands still but for this; what falls due has happened when it resolves. */
    pass: server.pass,
    /** The time goes by, and nobody has looked yet what is due. */
    passUnnoticed: server.clock.advance,
    settle: () => server.pass(server.config.settleDelayMs),
    expire: () => server.pass(CHECKOUT_LIFETIME_MS),
    async close() {
      site.close();
      await server.close();
    },
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;
