// A merchant's shop for tests: its requests to the server and the webhooks it receives.
import type { components } from "../../generated/openapi.ts";
import { CHECKOUT_LIFETIME_MS } from "../domain/payments.ts";
import type { Rails } from "../domain/rails.ts";
import { startReceiver } from "./receiver.ts";
import { startServer } from "./server.ts";

type Schemas = components["schemas"];

export const MERCHANT = "Boutique Adjoua & Fils";

const PAGE = "<!doctype html><title>Shop</title><h1>Back at the shop</h1>";

/**
 * Starts a server and a shop that uses it.
 * @param env overrides of the default settings, which are the settings of a sandbox on loopback
 * @param rails what carries the money of a live server
 */
export async function openShop(env: Record<string, string> = {}, rails?: Rails) {
  const [server, receiver] = await Promise.all([
    startServer({ env, ...(rails && { rails }) }),
    startReceiver(200, PAGE),
  ]);
  const site = {
    url: new URL(receiver.url).origin,
    get webhooks() {
      return receiver.received.map(({ body }) => body as Schemas["WebhookEvent"]);
    },
  };
  const { key } = await server.addMerchant(MERCHANT);

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await server.request(method, path, { key, body });
    if (response.status !== 200) throw new Error(`${method} ${path} returned ${response.status}: ${response.text}`);
    return response.body.data;
  }

  return {
    ...server,
    origin: server.url,
    /** The site that customers return to, and the webhooks it received. */
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
    /** All events of the checkout, delivered or not. */
    events: async (reference: string) =>
      (await call<Schemas["SandboxEventList"]>("GET", `/sandbox/events?reference=${reference}`)).items.map(
        ({ body }) => body,
      ),
    finish: (reference: string, outcome: Schemas["CheckoutFinish"]["outcome"]) =>
      call("POST", `/sandbox/checkouts/${reference}/finish`, { outcome }),
    settle: () => server.pass(server.config.settleDelayMs),
    expire: () => server.pass(CHECKOUT_LIFETIME_MS),
    close: () => Promise.all([server.close(), receiver.close()]),
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;
