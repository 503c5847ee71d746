// The operations of the service.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { components } from "../../generated/openapi.ts";
import { readBody, readQuery, refuse } from "./input.ts";
import { pageOf } from "./lists.ts";
import type { Merchant } from "./merchant.ts";
import { addPaymentPage, type App } from "./checkout-page.ts";
import { Problem } from "./problem.ts";
import { Dropped, refuseByNumber, responseDelay } from "./test-numbers.ts";
import { iso } from "./webhooks.ts";

type Schemas = components["schemas"];
type Asked = { c: Context<{ Bindings: HttpBindings }>; merchant: Merchant; id: string };
/** Returns the `data` of the response, or a whole response that is not JSON. */
type Handler = (asked: Asked) => unknown;

const lastTime = Date.parse("9999-01-01T00:00:00.000Z");

const clockOf = ({ state }: Merchant): Schemas["Clock"] => ({ now: iso(state.agenda.now()) });

function found<T>(record: T | undefined): T {
  if (record === undefined) throw new Problem("not_found", "You have no record with this reference.");
  return record;
}

function refuseDuplicate(path: string, existing: { reference: string } | undefined): void {
  if (existing === undefined) return;
  const headers = { Location: `${path}/${existing.reference}` };
  throw new Problem("duplicate_reference", "A record with this reference exists; see Location.", { headers });
}

async function createDisbursement({ c, merchant }: Asked): Promise<Schemas["DisbursementCreated"]> {
  const request = await readBody(c.req.raw, "DisbursementRequest");
  const { state } = merchant;
  refuseDuplicate("/v1/disbursements", state.disbursements.duplicateOf(request.reference));
  refuseByNumber(state.refusals, request.phoneNumber, request.reference);
  const record = merchant.addDisbursement(request);
  const { reference, merchantsReference, amount, fee, status } = record;
  if (request.phoneNumber.endsWith("504")) throw new Dropped();
  await sleep(responseDelay(request.phoneNumber), undefined, { ref: false });
  return { reference, merchantsReference, amount, fee, status };
}

const createCheckout =
  (origin: () => string): Handler =>
  async ({ c, merchant }): Promise<Schemas["CheckoutCreated"]> => {
    const request = await readBody(c.req.raw, "CheckoutRequest");
    const { checkouts, locales } = merchant.state;
    if (request.reference !== undefined) refuseDuplicate("/v1/checkouts", checkouts.duplicateOf(request.reference));
    const record = merchant.addCheckout(request);
    const { reference, merchantsReference, amount, fee, status } = record;
    locales.set(reference, request.locale ?? "en");
    return { url: `${origin()}/checkouts/${reference}`, reference, merchantsReference, amount, fee, status };
  };

async function advanceClock({ c, merchant }: Asked): Promise<Schemas["Clock"]> {
  const { seconds, to } = await readBody(c.req.raw, "ClockAdvance");
  const { agenda } = merchant.state;
  const target = to === undefined ? agenda.now() + Number(seconds) * 1000 : Date.parse(to);
  if (target > lastTime) {
    const path = to === undefined ? "seconds" : "to";
    refuse([{ path, code: "maximum", message: `${path} must not pass the year 9998.` }]);
  }
  await agenda.advanceTo(target);
  return clockOf(merchant);
}

async function finishCheckout({ c, merchant, id }: Asked): Promise<Schemas["Checkout"]> {
  const { outcome } = await readBody(c.req.raw, "CheckoutFinish");
  const checkout = found(merchant.state.checkouts.find(id));
  if (checkout.status !== "pending") {
    throw new Problem("checkout_final", `The checkout already has the final status ${checkout.status}.`);
  }
  merchant.finish(checkout, outcome);
  return checkout;
}

async function replayDelivery({ merchant, id }: Asked): Promise<Schemas["Delivery"]> {
  const delivery = found(merchant.state.deliveries.find(({ shown }) => shown.id === id));
  await delivery.replay();
  return delivery.shown;
}

async function setBalance({ c, merchant: { state } }: Asked): Promise<Schemas["Balances"]> {
  const { currency, available, enforced } = await readBody(c.req.raw, "BalanceSetting");
  const balance = state.balances.of(currency);
  balance.enforced = enforced;
  const amount = available - balance.available;
  const createdAt = iso(state.agenda.now());
  if (amount !== 0) state.balances.change({ kind: "correction", reference: randomUUID(), currency, amount, createdAt });
  return state.balances.list();
}

/** Returns a page of the statement, as JSON or as a table. */
function listStatements({ c, merchant: { state } }: Asked): unknown {
  const path = "/v1/statements";
  const query = readQuery(c.req.url, path);
  const page = pageOf(state, path, state.balances.entries, query);
  if (query.format !== "csv") return page;
  const columns = ["createdAt", "kind", "reference", "currency", "amount", "balance"] as const;
  const lines = [columns, ...page.items.map((entry) => columns.map((column) => entry[column]))];
  const next = new URL(c.req.url);
  if ("nextCursor" in page) {
    next.searchParams.set("cursor", page.nextCursor);
    c.header("link", `<${next.pathname}${next.search}>; rel="next"`);
  }
  c.header("content-type", "text/csv; charset=utf-8");
  return c.body(lines.map((line) => `${line.join(",")}\r\n`).join(""));
}

function rotateSecret({ merchant }: Asked): Schemas["WebhookSecret"] {
  merchant.secrets.rotate(merchant.state.agenda.now());
  return merchant.secrets.show(merchant.state.agenda.now());
}

/** Returns the operations, by path and method. */
const operations = (origin: () => string): Record<string, Record<string, Handler>> => ({
  "/v1/disbursements": {
    GET: ({ c, merchant: { state } }) =>
      pageOf(state, "/v1/disbursements", state.disbursements.records, readQuery(c.req.url, "/v1/disbursements")),
    POST: createDisbursement,
  },
  "/v1/disbursements/:id": { GET: ({ merchant, id }) => found(merchant.state.disbursements.find(id)) },
  "/v1/checkouts": {
    GET: ({ c, merchant: { state } }) =>
      pageOf(state, "/v1/checkouts", state.checkouts.records, readQuery(c.req.url, "/v1/checkouts")),
    POST: createCheckout(origin),
  },
  "/v1/checkouts/:id": { GET: ({ merchant, id }) => found(merchant.state.checkouts.find(id)) },
  "/v1/balances": { GET: ({ merchant: { state } }) => state.balances.list() },
  "/v1/statements": { GET: listStatements },
  "/sandbox/balance": { PUT: setBalance },
  "/sandbox/clock": { GET: ({ merchant }) => clockOf(merchant) },
  "/sandbox/clock/advance": { POST: advanceClock },
  "/sandbox/reset": { POST: ({ merchant }) => (merchant.reset(), clockOf(merchant)) },
  "/sandbox/events": {
    GET: ({ c, merchant: { state } }) =>
      pageOf(state, "/sandbox/events", state.events, readQuery(c.req.url, "/sandbox/events")),
  },
  "/sandbox/deliveries": {
    GET({ c, merchant: { state } }) {
      const shown = state.deliveries.map((delivery) => delivery.shown);
      return pageOf(state, "/sandbox/deliveries", shown, readQuery(c.req.url, "/sandbox/deliveries"));
    },
  },
  "/sandbox/deliveries/:id/replay": { POST: replayDelivery },
  "/sandbox/checkouts/:id/finish": { POST: finishCheckout },
  "/sandbox/webhook-secret": { GET: ({ merchant }) => merchant.secrets.show(merchant.state.agenda.now()) },
  "/sandbox/webhook-secret/rotate": { POST: rotateSecret },
});

function authenticate(merchants: readonly Merchant[], key: string | undefined): Merchant {
  const merchant = merchants.find((one) => one.key === key);
  if (!merchant) throw new Problem("unauthorized", "Send your API key in the x-api-key header.");
  return merchant;
}

function refuseMethod(method: string, methods: readonly string[]): never {
  const allowed = methods.flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one])).join(", ");
  const message = `Method ${method} is not allowed here. Allowed: ${allowed}.`;
  throw new Problem("method_not_allowed", message, { headers: { Allow: allowed } });
}

/**
 * Builds the service.
 * @param origin returns the base URL, which the URLs of payment pages start with
 */
export function createApp(merchants: readonly Merchant[], origin: () => string): App {
  const app: App = new Hono();
  app.use(async (c, next) => {
    c.header("x-request-id", randomUUID());
    await next();
  });
  for (const [path, methods] of Object.entries(operations(origin))) {
    app.all(path, async (c) => {
      const handler = methods[c.req.method === "HEAD" ? "GET" : c.req.method];
      if (!handler) refuseMethod(c.req.method, Object.keys(methods));
      const merchant = authenticate(merchants, c.req.header("x-api-key"));
      const data = await handler({ c, merchant, id: c.req.param("id") ?? "" });
      return data instanceof Response ? data : c.json({ statusCode: 200, data });
    });
  }
  addPaymentPage(app, merchants);
  app.notFound((c) => {
    const { status, body } = new Problem("unknown_path", "There is nothing at this path.");
    return c.json(body, status as ContentfulStatusCode);
  });
  app.onError((error, c) => {
    if (error instanceof Dropped) return error.drop(c);
    const problem = error instanceof Problem ? error : new Problem("internal_error", "An internal error occurred.");
    return c.json(problem.body, problem.status as ContentfulStatusCode, problem.headers);
  });
  return app;
}
