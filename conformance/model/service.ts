// The operations of the model: a small service in memory that follows the contract. It shares no code with the reference
// server, so certifying it shows that the suite judges the contract. Hooks turn it into other services, broken ones too.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import type { Ask, Call, Reply } from "./messages.ts";
import { readBody, readQuery, refuse, type Query } from "./input.ts";
import { Merchant, type Checkout, type Hooks, type Payment } from "./merchant.ts";
import { paymentPage, redirectOf } from "./payment-page.ts";
import { Problem } from "./problem.ts";
import { decoded } from "../target/values.ts";
import { iso, noChaos, type Chaos } from "./webhooks.ts";

type Schemas = components["schemas"];
type Asked = { call: Call; merchant: Merchant; id: string };
/** Returns the `data` of a response, or a whole response. Undefined closes the connection without a response. */
type Handler = (asked: Asked) => unknown;

/** Returns the model's own URL, with which the URLs of payment pages start. */
type Origin = () => string;

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  text: JSON.stringify(body),
});
const asHtml = { "content-type": "text/html; charset=utf-8" };
const redirect = (location: string): Reply => ({ status: 303, headers: { location }, text: "" });
const isReply = (value: unknown): value is Reply => typeof value === "object" && value !== null && "text" in value;

const clockOf = ({ state }: Merchant): Schemas["Clock"] => ({ now: iso(state.clock.now()) });

function existing<T>(record: T | undefined): T {
  if (record === undefined) throw new Problem("not_found", "You have no record with this reference.");
  return record;
}

function refuseDuplicate(path: string, payment: Payment | undefined): void {
  if (payment === undefined) return;
  const headers = { location: `${path}/${payment.reference}` };
  throw new Problem("duplicate_reference", "A record with this reference exists; see Location.", { headers });
}

/** Refuses a payment whose number chooses a refusal: always with 500, or twice with 503. */
function refuseByNumber(merchant: Merchant, phoneNumber: string, reference: string): void {
  if (merchant.forces(phoneNumber, "500")) throw new Problem("internal_error", "An internal error occurred.");
  if (!merchant.forces(phoneNumber, "503") || merchant.countRefusal(reference) > 2) return;
  const headers = { "retry-after": "1" };
  throw new Problem("unavailable", "Nothing was recorded. Retry the same request.", { headers });
}

async function createDisbursement({ call, merchant }: Asked): Promise<Schemas["DisbursementCreated"] | undefined> {
  const request = readBody(call, "DisbursementRequest");
  const { phoneNumber } = request;
  refuseDuplicate("/v1/disbursements", merchant.state.disbursements.duplicateOf(request.reference));
  refuseByNumber(merchant, phoneNumber, request.reference);
  const { reference, merchantsReference, amount, fee, status } = merchant.addDisbursement(request);
  if (merchant.forces(phoneNumber, "408")) await sleep(30_000, undefined, { ref: false });
  return merchant.forces(phoneNumber, "504") ? undefined : { reference, merchantsReference, amount, fee, status };
}

function createCheckout({ call, merchant }: Asked, origin: Origin): Schemas["CheckoutCreated"] {
  const request = readBody(call, "CheckoutRequest");
  const { checkouts } = merchant.state;
  if (request.reference !== undefined) refuseDuplicate("/v1/checkouts", checkouts.duplicateOf(request.reference));
  const { reference, merchantsReference, amount, fee, status } = merchant.addCheckout(request);
  return { url: `${origin()}/checkouts/${reference}`, reference, merchantsReference, amount, fee, status };
}

async function advanceClock({ call, merchant }: Asked): Promise<Schemas["Clock"]> {
  const { seconds, to } = readBody(call, "ClockAdvance");
  await merchant.advanceTo(to === undefined ? merchant.state.clock.now() + Number(seconds) * 1000 : Date.parse(to));
  return clockOf(merchant);
}

/** Sets chaos. The model applies only the settings that requirements judge: it repeats and reorders webhooks. */
function setChaos({ call, merchant: { state } }: Asked): Chaos {
  state.chaos = { ...noChaos, ...readBody(call, "ChaosSettings") };
  return state.chaos;
}

function requirePending(kind: "disbursement" | "checkout", { status }: Payment): void {
  if (status !== "pending") throw new Problem(`${kind}_final`, `The ${kind} already has the final status ${status}.`);
}

function finishDisbursement({ call, merchant, id }: Asked): Schemas["Disbursement"] {
  const { status, failure } = readBody(call, "DisbursementFinish");
  const payout = existing(merchant.state.disbursements.find(id));
  if (failure !== undefined && status !== "failed")
    refuse([{ path: "failure", code: "enum", message: "failure is only for the status failed." }]);
  requirePending("disbursement", payout);
  merchant.finish(payout, status, undefined, status === "failed" ? (failure ?? "declined") : undefined);
  return payout;
}

function loadPayments({ call, merchant }: Asked): Schemas["PaymentsLoaded"] {
  const request = readBody(call, "PaymentsToLoad", 2 ** 20);
  const { disbursements = [], checkouts = [] } = request;
  const now = iso(merchant.state.clock.now());
  for (const [kind, payments] of Object.entries({ disbursements, checkouts }))
    for (const [index, { reference, createdAt, updatedAt = createdAt, status, failure }] of payments.entries()) {
      const wrong = [
        createdAt > now && "createdAt",
        (updatedAt < createdAt || updatedAt > now) && "updatedAt",
        failure !== undefined && status !== "failed" && "failure",
        reference !== undefined && payments.findIndex((each) => each.reference === reference) < index && "reference",
      ].find((field) => field !== false);
      const path = `${kind}.${index}.${wrong}`;
      if (wrong !== undefined) refuse([{ path, code: "enum", message: `${path} does not fit.` }]);
      refuseDuplicate(`/v1/${kind}`, merchant.state[kind as "checkouts"].duplicateOf(reference ?? ""));
    }
  merchant.load(request);
  return { disbursements: disbursements.length, checkouts: checkouts.length };
}

function finishCheckout({ call, merchant, id }: Asked): Schemas["Checkout"] {
  const { outcome } = readBody(call, "CheckoutFinish");
  const checkout = existing(merchant.state.checkouts.find(id));
  requirePending("checkout", checkout);
  merchant.finish(checkout, outcome);
  return checkout;
}

function setBalance({ call, merchant: { state } }: Asked): Schemas["Balances"] {
  const { currency, available, enforced } = readBody(call, "BalanceSetting");
  const balance = state.balances.of(currency);
  balance.enforced = enforced;
  const amount = available - balance.available;
  const createdAt = iso(state.clock.now());
  if (amount !== 0) state.balances.change({ kind: "correction", reference: randomUUID(), currency, amount, createdAt });
  return state.balances.list();
}

function createMerchant({ call, merchant }: Asked, merchants: Merchant[]): Schemas["MerchantCreated"] {
  const { name = "Test merchant" } = readBody(call, "MerchantRequest");
  const created = new Merchant(name, randomUUID(), merchant.hooks, merchant);
  merchants.push(created);
  const { id, key: apiKey } = created;
  return { id, name, apiKey, webhookSecret: created.showSecrets().secret };
}

function deleteMerchant({ merchant, id }: Asked, merchants: readonly Merchant[]): Schemas["MerchantDeleted"] {
  const deleted = merchants.find((each) => each.id === id && each.creator === merchant);
  if (!deleted) throw new Problem("not_found", "You have created no merchant with this id.");
  // A key that nobody has.
  deleted.key = randomUUID();
  deleted.reset();
  return { id };
}

type Item = { createdAt: string; reference: string; status?: string; merchantsReference?: string };

const fits = ({ from, to, createdAfter = from, createdBefore = to, ...query }: Query) => {
  const names = (["status", "reference", "merchantsReference"] as const).filter((name) => query[name] !== undefined);
  return (item: Item) =>
    names.every((name) => item[name] === query[name]) &&
    (createdAfter === undefined || item.createdAt >= createdAfter) &&
    (createdBefore === undefined || item.createdAt < createdBefore);
};

/**
 * Returns a page of a list, newest first.
 * @param items all items of the list, oldest first
 */
function pageOf<T extends Item>({ state: { cursors } }: Merchant, list: string, items: readonly T[], query: Query) {
  const from = query.cursor === undefined ? { list, before: items.length } : cursors.get(query.cursor);
  if (from?.list !== list) {
    return refuse([{ path: "cursor", code: "unknown", message: "cursor is not from a page of this list." }]);
  }
  const limit = query.limit ?? 20;
  const matching = [...items.keys()].slice(0, from.before).filter((index) => fits(query)(items[index] as T));
  const page = matching.toReversed().slice(0, limit);
  const last = page.at(-1);
  const data = { items: page.map((index) => items[index] as T) };
  if (last === undefined || matching.length <= limit) return data;
  const nextCursor = randomUUID();
  cursors.set(nextCursor, { list, before: last });
  return { ...data, nextCursor };
}

const list =
  (path: Parameters<typeof readQuery>[1], itemsOf: (state: Merchant["state"]) => readonly Item[]): Handler =>
  ({ call, merchant }) =>
    pageOf(merchant, path, itemsOf(merchant.state), readQuery(call, path));

/** Returns the operations, by path and method. */
const operations = (origin: Origin, merchants: Merchant[]): Record<string, Record<string, Handler>> => ({
  "/v1/disbursements": {
    GET: list("/v1/disbursements", ({ disbursements }) => disbursements.records),
    POST: createDisbursement,
  },
  "/v1/disbursements/:id": { GET: ({ merchant, id }) => existing(merchant.state.disbursements.find(id)) },
  "/v1/checkouts": {
    GET: list("/v1/checkouts", ({ checkouts }) => checkouts.records),
    POST: (asked) => createCheckout(asked, origin),
  },
  "/v1/checkouts/:id": { GET: ({ merchant, id }) => existing(merchant.state.checkouts.find(id)) },
  "/v1/balances": { GET: ({ merchant }) => merchant.state.balances.list() },
  "/v1/statements": { GET: list("/v1/statements", ({ balances }) => balances.entries) },
  "/sandbox/balance": { PUT: setBalance },
  "/sandbox/clock": { GET: ({ merchant }) => clockOf(merchant) },
  "/sandbox/clock/advance": { POST: advanceClock },
  "/sandbox/reset": { POST: ({ merchant }) => (merchant.reset(), clockOf(merchant)) },
  "/sandbox/events": { GET: list("/sandbox/events", ({ events }) => events) },
  "/sandbox/deliveries": { GET: list("/sandbox/deliveries", ({ deliveries }) => deliveries.map(({ shown }) => shown)) },
  "/sandbox/deliveries/:id/replay": { POST: ({ merchant, id }) => merchant.replay(id) },
  "/sandbox/chaos": { GET: ({ merchant }) => merchant.state.chaos, PUT: setChaos },
  "/sandbox/payments": { POST: loadPayments },
  "/sandbox/disbursements/:id/finish": { POST: finishDisbursement },
  "/sandbox/checkouts/:id/finish": { POST: finishCheckout },
  "/sandbox/merchants": { POST: (asked) => createMerchant(asked, merchants) },
  "/sandbox/merchants/:id": { DELETE: (asked) => deleteMerchant(asked, merchants) },
  "/sandbox/webhook-secret": { GET: ({ merchant }) => merchant.showSecrets() },
  "/sandbox/webhook-secret/rotate": { POST: ({ merchant }) => (merchant.rotateSecret(), merchant.showSecrets()) },
});

/** Shows and takes the payment of a checkout. The page needs no key, because the customer has no key. */
function servePage({ method, body }: Call, merchant: Merchant, checkout: Checkout): Reply {
  const isPending = checkout.status === "pending";
  if (method !== "POST") {
    const target = isPending ? undefined : redirectOf(checkout);
    return target === undefined ? { status: 200, headers: asHtml, text: paymentPage(checkout) } : redirect(target);
  }
  const form = new URLSearchParams(body.toString());
  const canPay = isPending && checkout.customer === undefined;
  if (canPay && form.get("action") === "cancel") merchant.finish(checkout, "cancelled");
  else if (canPay) merchant.pay(checkout, form.get("phoneNumber") ?? "");
  return redirect(`/checkouts/${checkout.reference}`);
}

function refuseMethod(method: string, methods: readonly string[]): never {
  const allow = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `Method ${method} is not allowed here. Allowed: ${allow}.`;
  throw new Problem("method_not_allowed", message, { headers: { allow } });
}

/**
 * Creates the model, without a network. Returns a function that responds to a request.
 * @param merchants is added to when a merchant creates another
 */
export function createService(merchants: Merchant[], { settings = {} }: Hooks, origin: Origin): Ask {
  const routes = Object.entries(operations(origin, merchants)).map(([path, methods]) => {
    return { pattern: new RegExp(`^${path.replace(":id", "(?<id>[^/]+)")}$`), methods };
  });
  const isSandbox = settings.sandbox !== false;

  async function serve(call: Call): Promise<Reply | undefined> {
    const path = call.path.split("?")[0]!;
    const method = call.method === "HEAD" ? "GET" : call.method;
    if (path === "/healthz") return json(200, { status: "ok", environment: isSandbox ? "sandbox" : "live" });
    const reference = /^\/checkouts\/([^/]+)$/.exec(path)?.[1] ?? "";
    const payee = merchants.find(({ state }) => state.checkouts.find(reference));
    if (payee && ["GET", "POST"].includes(method))
      return servePage({ ...call, method }, payee, payee.state.checkouts.find(reference)!);
    const route = routes.find(({ pattern }) => pattern.test(path));
    if (!route || (!isSandbox && path.startsWith("/sandbox")))
      throw new Problem("unknown_path", "There is nothing at this path.");
    const handler = route.methods[method];
    if (!handler) refuseMethod(call.method, Object.keys(route.methods));
    const merchant = merchants.find(({ key }) => key === call.headers["x-api-key"]);
    if (!merchant) throw new Problem("unauthorized", "Send your API key in the x-api-key header.");
    const data = await handler({ call, merchant, id: decoded(route.pattern.exec(path)?.groups?.["id"] ?? "") });
    if (data === undefined || isReply(data)) return data;
    return json(200, { statusCode: 200, data });
  }

  return async (call) => {
    const reply = await serve(call).catch((error: unknown) => {
      const problem = error instanceof Problem ? error : new Problem("internal_error", "An internal error occurred.");
      return json(problem.status, problem.body, problem.headers);
    });
    return reply && { ...reply, headers: { "x-request-id": randomUUID(), ...reply.headers } };
  };
}
