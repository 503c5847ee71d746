// Every refusal of a create × a reference that the merchant has used (D1): a retry of a payment that exists is never told
// that nothing was recorded, and a key that may not read the payment learns nothing about it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES, type Scope } from "../domain/keys.ts";
import { createKey, type Merchant } from "../domain/merchants.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

let sandbox: TestServer;
let live: TestServer;
/** Whether a rail of the live server carries payments. */
let isServed = true;
beforeAll(async () => {
  const rails = railsOf(createTestRail());
  const env = { SANDBOX: "false" };
  const routed = { ...rails, routeOf: (payment: never) => (isServed ? rails.routeOf(payment) : undefined) };
  [sandbox, live] = await Promise.all([startServer(), startServer({ env, rails: routed })]);
});
afterAll(() => Promise.all([sandbox.close(), live.close()]));

const PATHS = { payout: "/v1/disbursements", checkout: "/v1/checkouts" } as const;
type Kind = keyof typeof PATHS;
const ACTOR = "command ada@host";
const bodyOf = (kind: Kind, reference: string, changes = {}) =>
  ({ ...(kind === "payout" ? aPayout() : aCheckout()), reference, ...changes }) as Record<string, unknown>;

interface Refusal {
  code: string;
  /** Absent for both kinds. */
  only?: Kind;
  isLive?: true;
  /** Makes the server refuse the merchant's creates. Returns what they are sent with. */
  begin(server: TestServer, merchant: Merchant): Promise<{ key?: string; changes?: object } | void>;
}

const limits = { perPayment: { XOF: 1 } };
const REFUSALS: Record<string, Refusal> = {
  "a suspended merchant": {
    code: "merchant_suspended",
    begin: async ({ storage }, { id }) => void (await storage.setMerchantState(id, "suspended", ACTOR)),
  },
  "a limit of the merchant": {
    code: "limit_exceeded",
    only: "payout",
    begin: ({ storage }, { id }) => storage.setMerchantLimits(id, limits, ACTOR),
  },
  "a limit of the key": {
    code: "limit_exceeded",
    only: "payout",
    async begin({ storage }, { id }) {
      for (const key of await storage.listKeysOf(id)) await storage.setKeyLimits(key.id, limits, ACTOR);
    },
  },
  "the balance": {
    code: "insufficient_funds",
    only: "payout",
    begin: ({ storage }, { id }) =>
      storage.setBalance(id, "set-1", { currency: "XOF", available: 0, enforced: true }, ACTOR),
  },
  "a number that makes the sandbox fail": {
    code: "internal_error",
    only: "payout",
    begin: async () => ({ changes: { phoneNumber: "2250000000500" } }),
  },
  "a number that makes the sandbox unavailable": {
    code: "unavailable",
    only: "payout",
    begin: async () => ({ changes: { phoneNumber: "2250000000503" } }),
  },
  "a key that may only read": {
    code: "key_not_permitted",
    begin: async (server, { id }) => ({ key: await createKey(server.merchants, id, { scopes: ["read"] }) }),
  },
  "the routes": {
    code: "not_served",
    isLive: true,
    begin: async () => void (isServed = false),
  },
};
const CASES = Object.entries(REFUSALS).flatMap(([name, refusal]) =>
  (["payout", "checkout"] as const)
    .filter((kind) => (refusal.only ?? kind) === kind)
    .map((kind) => [kind, name, refusal] as const),
);

/** A merchant with a payment whose reference is `known`. */
async function withKnown(server: TestServer, kind: Kind) {
  const { merchant, key } = await server.addMerchant("Ada Stores");
  const made = await server.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
  expect(made.status).toBe(200);
  return { merchant, key, location: `${PATHS[kind]}/${made.body.data.reference}` };
}

test.each(CASES)("a known %s is 409 before a refusal by %s", async (kind, _name, { code, isLive, begin }) => {
  const server = isLive ? live : sandbox;
  const { merchant, key, location } = await withKnown(server, kind);
  const { key: used = key, changes = {} } = (await begin(server, merchant)) ?? {};
  const send = async (reference: string) => {
    const body = bodyOf(kind, reference, changes);
    const { body: response, headers } = await server.request("POST", PATHS[kind], { key: used, body });
    return { code: response.code, location: headers.location };
  };
  expect(await send("new")).toEqual({ code, location: undefined });
  expect(await send("known")).toEqual({ code: "duplicate_reference", location });
  isServed = true;
});

test("a known payout is 409 before all of these refusals at once", async () => {
  const { merchant, location } = await withKnown(sandbox, "payout");
  let sent: { key?: string; changes?: object } = {};
  for (const { isLive, begin } of Object.values(REFUSALS)) {
    if (!isLive) sent = { ...sent, ...(await begin(sandbox, merchant)) };
  }
  const body = bodyOf("payout", "known", sent.changes);
  const { status, headers } = await sandbox.request("POST", PATHS.payout, { key: sent.key!, body });
  expect([status, headers.location]).toEqual([409, location]);
});

const SETS = Array.from({ length: 2 ** SCOPES.length - 1 }, (_, bits) =>
  SCOPES.filter((_scope, bit) => (bits + 1) & (1 << bit)),
);
const VERIFY: Record<Kind, Scope[]> = { payout: ["read", "disburse"], checkout: ["read", "checkout"] };
describe.each(["payout", "checkout"] as const)("a known %s", (kind) => {
  test.each(SETS)("is 409 to a key with scopes %j that may read it, and 403 to others", async (...scopes) => {
    const { merchant, location } = await withKnown(sandbox, kind);
    const key = await createKey(sandbox.merchants, merchant.id, { scopes });
    const mayRead = scopes.some((scope) => VERIFY[kind].includes(scope));
    expect((await sandbox.request("GET", location, { key })).status).toBe(mayRead ? 200 : 403);
    const { status, headers } = await sandbox.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
    expect([status, headers.location]).toEqual(mayRead ? [409, location] : [403, undefined]);
  });

  test("is nothing to a revoked key", async () => {
    const { merchant, key } = await withKnown(sandbox, kind);
    const [made] = await sandbox.storage.listKeysOf(merchant.id);
    await sandbox.storage.revokeKey(made!.id, sandbox.clock.now(), ACTOR);
    const { status, headers } = await sandbox.request("POST", PATHS[kind], { key, body: bodyOf(kind, "known") });
    expect([status, headers.location]).toEqual([401, undefined]);
  });
});
