// What a key may do, and who may create: every operation with every kind of key, and every refusal of a create with a
// reference that the merchant has used (D1). A retry of a payment that exists is never told that nothing was recorded, and
// a key that may not read the payment learns nothing about it.
import { afterAll, describe, expect, test } from "vitest";
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

const keyWith = (scopes: readonly Scope[], { id } = server.merchant) => createKey(server.merchants, id, { scopes });
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
  for (const each of OPERATIONS) {
    const { status, body } = await ask(each, key);
    const creates = each.operation === "createDisbursement" || each.operation === "createCheckout";
    const found = [status === 403, body.code === "merchant_suspended"];
    expect.soft(found, each.operation).toEqual([creates, creates]);
  }
  const body = aPayout();
  const refused = await server.request("POST", PATHS.payout, { key, body });
  expect(refused.body.message).toBe("The operator of the service has suspended this merchant. Nothing was recorded.");
  expect((await server.request("GET", PATHS.payout, { key })).body.data.items).toEqual([]);
  await server.storage.setMerchantState(merchant.id, undefined, ACTOR);
  expect((await server.request("POST", PATHS.payout, { key, body })).status).toBe(200);
});

test("403 comes after 401 and before the body, and HEAD needs the scope of GET", async () => {
  const key = await keyWith(["checkout"]);
  const sent = { body: "{", headers: { "content-type": "text/plain" } };
  const statusOf = async (method: string, path: string, options: object) =>
    (await server.request(method, path, options)).status;
  expect(await statusOf("POST", PATHS.payout, { key: "test_unknown_key_of_nobody", ...sent })).toBe(401);
  expect(await statusOf("POST", PATHS.payout, { key, ...sent })).toBe(403);
  expect(await statusOf("POST", PATHS.checkout, { key, ...sent })).toBe(415);
  expect(await statusOf("HEAD", PATHS.checkout, { key })).toBe(403);
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

test("a known payout is 409 before all of these refusals at once", async () => {
  const { merchant, location } = await withKnown(server, "payout");
  let sent: With = {};
  for (const [, , begin] of REFUSALS) sent = { ...sent, ...(await begin(server, merchant)) };
  const body = bodyOf("payout", "known", sent.changes);
  const { status, headers } = await server.request("POST", PATHS.payout, { key: sent.key!, body });
  expect([status, headers.location]).toEqual([409, location]);
});

const VERIFY: Record<Kind, Scope[]> = { payout: ["read", "disburse"], checkout: ["read", "checkout"] };
describe.each(["payout", "checkout"] as const)("a known %s", (kind) => {
  test.each(SETS)("is 409 to a key with scopes %j that may read it, and 403 to others", async (...scopes) => {
    const { merchant, location } = await withKnown(server, kind);
    const key = await keyWith(scopes, merchant);
    const mayRead = scopes.some((scope) => VERIFY[kind].includes(scope));
    expect((await server.request("GET", location, { key })).status).toBe(mayRead ? 200 : 403);
    const { status, headers } = await server.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
    expect([status, headers.location]).toEqual(mayRead ? [409, location] : [403, undefined]);
  });

  test("is nothing to a revoked key", async () => {
    const { merchant, key } = await withKnown(server, kind);
    await server.storage.revokeKey(await keyOf(server, merchant), server.clock.now(), ACTOR);
    const { status, headers } = await server.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
    expect([status, headers.location]).toEqual([401, undefined]);
  });
});
