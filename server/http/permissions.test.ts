// What a key may do, and who may create: every operation with every kind of key, and every refusal of a create with a
// reference that the merchant has used (D1). A retry of a payment that exists is never told that nothing was recorded, and
// a key that may not read the payment learns nothing about it.
import { afterAll, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { SCOPES, type Scope } from "../domain/keys.ts";
import { createKey, type Merchant } from "../domain/merchants.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

/** What each scope permits; a key with several scopes may do what each of them permits. */
const PERMITS: Record<Scope, string[]> = {
  read: "verifyDisbursement listDisbursements verifyCheckout listCheckouts listBalances listStatements".split(" "),
  disburse: ["createDisbursement", "verifyDisbursement"],
  checkout: ["createCheckout", "verifyCheckout"],
};
const OPERATIONS = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({
    operation: operationId,
    method: method.toUpperCase(),
    path: path.replace(/\{\w+\}/, "DSB7Q2M9X4T1VK8R3WZ0HA6N"),
  })),
);
/** Every set of scopes. */
const SETS = Array.from({ length: 2 ** SCOPES.length - 1 }, (_, bits) =>
  SCOPES.filter((_scope, bit) => (bits + 1) & (1 << bit)),
);
const ACTOR = "command ada@host";
const PATHS = { payout: "/v1/disbursements", checkout: "/v1/checkouts" } as const;
type Kind = keyof typeof PATHS;

/** Whether a rail of the live server carries payments. */
let isServed = true;
const rails = railsOf(createTestRail());
const routed = { ...rails, routeOf: (payment: never) => (isServed ? rails.routeOf(payment) : undefined) };
const server = await startServer();
const live = await startServer({ env: { SANDBOX: "false" }, rails: routed });
afterAll(() => Promise.all([server.close(), live.close()]));

const keyWith = async (scopes: readonly Scope[], { id } = server.merchant) =>
  (await createKey(server.merchants, id, { scopes }))!;
const ask = ({ operation, method, path }: (typeof OPERATIONS)[number], key: string) => {
  const body = operation === "createDisbursement" ? aPayout() : operation === "createCheckout" ? aCheckout() : {};
  return server.request(method, path, { key, ...(method === "POST" && { body }) });
};

/** All that a refused request could have changed. */
async function everything() {
  const { storage, merchant } = server;
  const query = { merchantId: merchant.id, limit: 100 };
  return {
    merchant: await storage.findMerchant(merchant.id),
    disbursements: await storage.listDisbursements(query),
    checkouts: await storage.listCheckouts(query),
    secrets: await storage.readSecrets(merchant.id),
    audit: await storage.listAudit(query),
  };
}

test.each([...SETS, []].map((scopes) => [scopes]))(
  "a key with %s does what one of its scopes permits, without scopes all",
  async (scopes) => {
    const key = scopes.length === 0 ? server.key : await keyWith(scopes);
    for (const each of OPERATIONS) {
      const before = await everything();
      const { status, body } = await ask(each, key);
      const granting = SCOPES.filter((scope) => PERMITS[scope].includes(each.operation));
      if (scopes.length === 0 || granting.some((scope) => scopes.includes(scope))) {
        expect.soft(status, each.operation).not.toBe(403);
        continue;
      }
      const needed = granting.length === 0 ? "an API key without scopes" : `the scope ${granting.join(" or ")}`;
      const message = `This operation needs ${needed}, and this API key has only ${scopes.join(" and ")}.`;
      expect.soft([status, body.code, body.message], each.operation).toEqual([403, "key_not_permitted", message]);
      expect.soft(await everything(), each.operation).toEqual(before);
    }
  },
);

test("a suspended merchant can create nothing, and does everything else, until it is reopened", async () => {
  const { merchant, key } = await server.addMerchant("Suspended");
  await server.storage.setMerchantState(merchant.id, "suspended", ACTOR);
  const refused: unknown[] = [];
  for (const each of OPERATIONS) {
    const { status, body } = await ask(each, key);
    if (status === 403) refused.push([each.operation, body.code, body.message]);
  }
  const message = "The operator of the service has suspended this merchant. Nothing was recorded.";
  const creates = ["createDisbursement", "createCheckout", "createMerchant", "loadPayments"];
  expect(refused).toEqual(creates.map((name) => [name, "merchant_suspended", message]));
  expect((await server.request("GET", PATHS.payout, { key })).body.data.items).toEqual([]);
  await server.storage.setMerchantState(merchant.id, undefined, ACTOR);
  expect((await server.createPayout({}, { key })).status).toBe(200);
});

const malformed = { body: "{", headers: { "content-type": "text/plain" } };
test.each([
  ["after 401", "POST", PATHS.payout, { key: "test_unknown_key_of_nobody", ...malformed }, 401],
  ["before the body", "POST", PATHS.payout, malformed, 403],
  ["only for what the scope does not permit", "POST", PATHS.checkout, malformed, 415],
  ["for HEAD as for GET", "HEAD", PATHS.checkout, {}, 403],
])("403 comes %s", async (_, method, path, sent, status) => {
  const key = await keyWith(["checkout"]);
  expect((await server.request(method, path, { key, ...sent })).status).toBe(status);
});

const bodyOf = (kind: Kind, reference: string, changes = {}) =>
  ({ ...(kind === "payout" ? aPayout() : aCheckout()), reference, ...changes }) as Record<string, unknown>;

/** What a refused create is sent with. */
interface With {
  key?: string;
  changes?: object;
}
/** Makes the server refuse the merchant's creates. */
type Begin = (at: TestServer, merchant: Merchant) => Promise<With>;
const done = async (change: Promise<unknown>): Promise<With> => (await change, {});
const limits = { perPayment: { XOF: 1 } };
const empty = { currency: "XOF", available: 0, enforced: true };
const PAYOUT: Kind[] = ["payout"];
const BOTH: Kind[] = ["payout", "checkout"];
const keyOf = async ({ storage }: TestServer, { id }: Merchant) => (await storage.listKeysOf(id))[0]!.id;
/** Each refusal: its code, the kinds of payments that it is about, and how it begins. */
const REFUSALS: [code: string, kinds: Kind[], begin: Begin][] = [
  ["merchant_suspended", BOTH, ({ storage }, { id }) => done(storage.setMerchantState(id, "suspended", ACTOR))],
  ["limit_exceeded", PAYOUT, ({ storage }, { id }) => done(storage.setMerchantLimits(id, limits, ACTOR))],
  ["limit_exceeded", PAYOUT, async (at, of) => done(at.storage.setKeyLimits(await keyOf(at, of), limits, ACTOR))],
  ["insufficient_funds", PAYOUT, ({ storage }, { id }) => done(storage.setBalance(id, "set-1", empty, ACTOR))],
  ["internal_error", PAYOUT, async () => ({ changes: { phoneNumber: "2250000000500" } })],
  ["unavailable", PAYOUT, async () => ({ changes: { phoneNumber: "2250000000503" } })],
  ["key_not_permitted", BOTH, async (_at, merchant) => ({ key: await keyWith(["read"], merchant) })],
];
/** The routes refuse payments of a live server. */
const ROUTES: (typeof REFUSALS)[number] = ["not_served", BOTH, async () => ((isServed = false), {})];
const CASES = [...REFUSALS, ROUTES].flatMap(([code, kinds, begin]) =>
  kinds.map((kind) => [kind, code, begin] as const),
);

/** A merchant with a payment whose reference is `known`. */
async function withKnown(at: TestServer, kind: Kind) {
  const { merchant, key } = await at.addMerchant("Ada Stores");
  const made = await at.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
  expect(made.status).toBe(200);
  return { merchant, key, location: `${PATHS[kind]}/${made.body.data.reference}` };
}

test.each(CASES)("a known %s is 409 before %s", async (kind, code, begin) => {
  const at = code === "not_served" ? live : server;
  const { merchant, key, location } = await withKnown(at, kind);
  const { key: used = key, changes = {} } = await begin(at, merchant);
  const send = async (reference: string) => {
    const body = bodyOf(kind, reference, changes);
    const { body: response, headers } = await at.request("POST", PATHS[kind], { key: used, body });
    return { code: response.code, location: headers.location };
  };
  expect(await send("new")).toEqual({ code, location: undefined });
  expect(await send("known")).toEqual({ code: "duplicate_reference", location });
  isServed = true;
});

test.each<[Kind, Scope]>([
  ["payout", "checkout"],
  ["checkout", "disburse"],
])("a known %s is 403 to a key with %s, which may not read it", async (kind, scope) => {
  const { merchant, location } = await withKnown(server, kind);
  const key = await keyWith([scope], merchant);
  expect((await server.request("GET", location, { key })).status).toBe(403);
  const { status, headers } = await server.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
  expect([status, headers.location]).toEqual([403, undefined]);
});
