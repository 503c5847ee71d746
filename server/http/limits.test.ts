// Every create × scopes of its key × limit of its key or merchant: what is permitted, held back and refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SCOPES, type Scope } from "../domain/keys.ts";
import type { Limits } from "../domain/limits.ts";
import { createKey } from "../domain/merchants.ts";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

/** Every set of scopes; the empty set stands for a key that may do everything. */
const SETS = Array.from({ length: 2 ** SCOPES.length }, (_, bits) => SCOPES.filter((_scope, bit) => bits & (1 << bit)));
const CREATES = { disburse: "/v1/disbursements", checkout: "/v1/checkouts" } as const;

/** Limits, and what becomes of a payout of XOF 10000 to 2257038102473 in CI. */
const LIMITS: [Limits, "permitted" | "held back" | "refused"][] = [
  [{}, "permitted"],
  [{ perPayment: { XOF: 10_000 } }, "permitted"],
  [{ perPayment: { XOF: 9_999 } }, "refused"],
  [{ perPayment: { NGN: 10_000 } }, "refused"],
  [{ perDay: { XOF: 10_000 } }, "permitted"],
  [{ perDay: { XOF: 9_999 } }, "refused"],
  [{ countries: ["GH", "CI"] }, "permitted"],
  [{ countries: ["GH"] }, "refused"],
  [{ currencies: ["XOF"] }, "permitted"],
  [{ currencies: ["GHS"] }, "refused"],
  [{ recipients: ["2257038102473"] }, "permitted"],
  [{ recipients: ["2257038102474"] }, "refused"],
  [{ approvalFrom: { XOF: 10_001 } }, "permitted"],
  [{ approvalFrom: { XOF: 10_000 } }, "held back"],
  [{ approvalFrom: { NGN: 10_001 } }, "held back"],
  [{ approvalFrom: { XOF: 1 }, perPayment: { XOF: 9_999 } }, "refused"],
];

/** Everything that a refused request could have changed. */
async function everything(merchantId: string) {
  const { storage } = server;
  const query = { merchantId, limit: 100 };
  return {
    records: [await storage.listDisbursements(query), await storage.listCheckouts(query)],
    waiting: await storage.listWaiting(query),
    balances: await storage.listBalances(merchantId),
    events: await storage.listEvents(query),
    audit: await storage.listAudit(query),
  };
}

describe.each(["key", "merchant"] as const)("limits of a %s", (owner) => {
  test.each(LIMITS)("%j: a payout is %s", async (limits, result) => {
    const { merchant } = await server.addMerchant("Limited");
    if (owner === "merchant") await server.storage.setMerchantLimits(merchant.id, limits, "command ada@host");
    for (const scopes of SETS) {
      const name = scopes.join("-") || "everything";
      const key = await createKey(server.merchants, merchant.id, { name, ...(scopes.length > 0 && { scopes }) });
      const { id } = (await server.storage.listKeysOf(merchant.id)).find((each) => each.name === name)!;
      if (owner === "key") await server.storage.setKeyLimits(id, limits, "command ada@host");
      for (const [scope, path] of Object.entries(CREATES)) {
        const isPayout = scope === "disburse";
        const before = await everything(merchant.id);
        const sent = isPayout ? aPayout() : aCheckout();
        const { status, body } = await server.request("POST", path, { key, body: sent });
        const after = await everything(merchant.id);
        const isPermitted = scopes.length === 0 || scopes.includes(scope as Scope);
        const isRefused = !isPermitted || (isPayout && result === "refused");
        const expected = !isPermitted
          ? [403, "key_not_permitted"]
          : isRefused
            ? [422, "limit_exceeded"]
            : [200, undefined];
        // The sum of a day is for all keys of the merchant together, so the first payout uses it up.
        const isUsedUp = owner === "merchant" && limits.perDay !== undefined && before.records[0]!.items.length > 0;
        if (isPayout && isPermitted && isUsedUp) expected.splice(0, 2, 422, "limit_exceeded");
        expect([name, scope, status, body.code]).toEqual([name, scope, ...expected]);
        if (expected[0] !== 200) expect(after).toEqual(before);
        else if (isPayout) {
          const [made] = after.records[0]!.items;
          expect(after.waiting.some(({ id: waiting }) => waiting === made!.id)).toBe(result === "held back");
          expect(body.data.status).toBe("pending");
        }
      }
    }
  });
});

test("the rate that was agreed with a merchant counts for this merchant only", async () => {
  const limited = await server.addMerchant("Limited");
  const other = await server.addMerchant("Other");
  await server.storage.setMerchantTerms(limited.merchant.id, { rateLimit: 2 }, "command ada@host");
  const list = async ({ key }: typeof limited) => (await server.request("GET", "/v1/disbursements", { key })).status;
  const inTurn = async (owner: typeof limited) => [await list(owner), await list(owner), await list(owner)];
  expect(await inTurn(limited)).toEqual([200, 200, 429]);
  expect(await inTurn(other)).toEqual([200, 200, 200]);
  server.clock.advance(1_000);
  expect(await list(limited)).toBe(200);
});
