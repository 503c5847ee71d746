import { afterAll, beforeAll, describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { createKey } from "../domain/merchants.ts";
import { SCOPES, type Scope } from "../domain/keys.ts";
import { aCheckout, aPayout, startServer, type TestServer } from "../testing/server.ts";
import { PERMITTED_BY } from "./permissions.ts";

/** What each scope permits; a key with several scopes may do what each of them permits. */
const PERMITS: Record<Scope, string[]> = {
  read: [
    "verifyDisbursement",
    "listDisbursements",
    "verifyCheckout",
    "listCheckouts",
    "listBalances",
    "listStatements",
  ],
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
const SETS: Scope[][] = [
  ...SCOPES.map((scope) => [scope]),
  ...SCOPES.map((scope) => SCOPES.filter((other) => other !== scope)),
  [...SCOPES],
];

let server: TestServer;
/** A key with each set of scopes. */
let keys: Map<readonly Scope[], string>;
beforeAll(async () => {
  server = await startServer();
  const made = SETS.map(async (scopes) => [scopes, await keyWith(scopes)] as const);
  keys = new Map(await Promise.all(made));
});
afterAll(() => server.close());

const keyWith = (scopes: readonly Scope[]) => createKey(server.merchants, server.merchant.id, { scopes });
const statusOf = async (method: string, path: string, options: object) =>
  (await server.request(method, path, options)).status;
const send = ({ operation, method, path }: (typeof OPERATIONS)[number], key: string) => {
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

test("the table of permissions has every operation of the contract", () => {
  expect(Object.keys(PERMITTED_BY).toSorted()).toEqual(OPERATIONS.map(({ operation }) => operation).toSorted());
});

describe.each(SETS.map((scopes) => [scopes.join(), scopes] as const))("a key with %s", (_name, scopes) => {
  test.each(OPERATIONS.map((each) => [each.operation, each] as const))("%s", async (operation, each) => {
    const key = keys.get(scopes)!;
    const before = await everything();
    const { status, body } = await send(each, key);
    if (scopes.some((scope) => PERMITS[scope].includes(operation))) return expect(status).not.toBe(403);
    expect([status, body.code]).toEqual([403, "key_not_permitted"]);
    const granting = SCOPES.filter((scope) => PERMITS[scope].includes(operation));
    const needed = granting.length === 0 ? "an API key without scopes" : `the scope ${granting.join(" or ")}`;
    expect(body.message).toBe(`This operation needs ${needed}, and this API key has only ${scopes.join(" and ")}.`);
    return expect(await everything()).toEqual(before);
  });
});

test("a key without scopes may do everything", async () => {
  const refused = [];
  for (const each of OPERATIONS) if ((await send(each, server.key)).status === 403) refused.push(each.operation);
  expect(refused).toEqual([]);
});

test("a refused create leaves its reference free, and is in the log of requests", async () => {
  const other = await startServer();
  const [body, { id: merchantId }] = [aPayout(), other.merchant];
  const key = await createKey(other.merchants, merchantId, { scopes: ["read"] });
  const refused = await other.request("POST", "/v1/disbursements", { key, body });
  expect(refused.status).toBe(403);
  expect((await other.request("POST", "/v1/disbursements", { body })).status).toBe(200);
  const query = { merchantId, requestId: String(refused.headers["x-request-id"]), limit: 1 };
  await expect
    .poll(() => (other.clock.advance(500), other.storage.listRequests(query)))
    .toMatchObject({ items: [{ status: 403, code: "key_not_permitted" }] });
  await other.close();
});

describe("a suspended merchant", () => {
  test("can create nothing, and does everything else, until it is reopened", async () => {
    const { merchant, key } = await server.addMerchant("Suspended");
    const set = (state?: "suspended") => server.storage.setMerchantState(merchant.id, state, "command ada@host");
    await set("suspended");
    for (const each of OPERATIONS) {
      const { status, body } = await send(each, key);
      const creates = each.operation === "createDisbursement" || each.operation === "createCheckout";
      expect([each.operation, status === 403, body.code === "merchant_suspended"]).toEqual([
        each.operation,
        creates,
        creates,
      ]);
    }
    const body = aPayout();
    const refused = await server.request("POST", "/v1/disbursements", { key, body });
    expect(refused.body.message).toBe("The operator of the service has suspended this merchant. Nothing was recorded.");
    expect((await server.request("GET", "/v1/disbursements", { key })).body.data.items).toEqual([]);
    await set();
    expect((await server.request("POST", "/v1/disbursements", { key, body })).status).toBe(200);
  });

  test("gets the webhook of a payment from before", async () => {
    const { merchant, key } = await server.addMerchant("Waiting");
    const { reference } = (await server.createPayout({ webhookURL: "https://shop.example/hook" }, { key })).body.data;
    await server.storage.setMerchantState(merchant.id, "suspended", "command ada@host");
    await server.pass(60_000);
    const path = `/v1/disbursements/${reference}`;
    expect((await server.request("GET", path, { key })).body.data.status).toBe("success");
    const { items } = await server.storage.listDeliveries({ merchantId: merchant.id, limit: 1 });
    expect(items[0]!.attempts.length).toBeGreaterThan(0);
  });
});

test("403 comes after 401 and before the body, and HEAD needs the scope of GET", async () => {
  const key = await keyWith(["checkout"]);
  const sent = { body: "{", headers: { "content-type": "text/plain" } };
  expect(await statusOf("POST", "/v1/disbursements", { key: "test_unknown_key_of_nobody", ...sent })).toBe(401);
  expect(await statusOf("POST", "/v1/disbursements", { key, ...sent })).toBe(403);
  expect(await statusOf("POST", "/v1/checkouts", { key, ...sent })).toBe(415);
  expect(await statusOf("HEAD", "/v1/checkouts", { key })).toBe(403);
});
