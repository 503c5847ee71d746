// What the contract's operations say if the storage fails after they have recorded something.
import { afterAll, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { openSqlite } from "../storage/sqlite/index.ts";
import { failingStorage, type Failure, type FailingStorage } from "../testing/failing-storage.ts";
import { aCheckout, aPayout, startServer, type TestServerOptions } from "../testing/server.ts";
import { start } from "../testing/table.ts";

let failing: FailingStorage;
const openStorage: TestServerOptions["openStorage"] = (how) => {
  failing = failingStorage(openSqlite(":memory:", how));
  return failing.storage;
};
const server = await startServer({ openStorage });
afterAll(() => server.close());

async function aDelivery(): Promise<string> {
  const webhookURL = "https://merchant.example/";
  const { reference } = (await server.createPayout({ phoneNumber: "2250700000001", webhookURL })).body.data;
  await server.pass(0);
  return (await server.storage.listDeliveries({ merchantId: server.merchant.id, reference, limit: 1 })).items[0]!.id;
}

type Sent = { path?: Record<string, string>; body?: unknown };
/** A request for each operation that records something. */
const REQUESTS: Record<string, () => Sent | Promise<Sent>> = {
  createDisbursement: () => ({ body: aPayout() }),
  createCheckout: () => ({ body: aCheckout() }),
  setBalance: () => ({ body: { currency: "XOF", available: 500, enforced: false } }),
  advanceClock: () => ({ body: { seconds: 60 } }),
  resetSandbox: () => ({}),
  setChaos: () => ({ body: { lostWebhooksPercent: 1 } }),
  replayDelivery: async () => ({ path: { id: await aDelivery() } }),
  finishDisbursement: async () => ({
    path: { reference: (await server.createPayout()).body.data.reference },
    body: { status: "failed", failure: "wallet_blocked" },
  }),
  finishCheckout: async () => ({
    path: { reference: (await server.createCheckout()).body.data.reference },
    body: { outcome: "success" },
  }),
  loadPayments: () => ({
    body: { disbursements: [{ ...aPayout(), status: "success", createdAt: "2026-01-01T00:00:00.000Z" }] },
  }),
  createMerchant: () => ({ body: {} }),
  deleteMerchant: async () => ({
    path: { id: (await server.request("POST", "/sandbox/merchants", { body: {} })).body.data.id },
  }),
  rotateWebhookSecret: () => ({}),
};

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, { operationId?: string }>).flatMap(([method, { operationId }]) =>
    operationId === undefined || method === "get" ? [] : [{ path, method, operationId }],
  ),
);

const failures: [writes: number, how: Failure][] = [
  [0, "is unavailable"],
  [1, "is unavailable"],
  [1, "returns nothing"],
  [2, "is unavailable"],
];
test.each(operations)("$operationId says the truth, whatever fails after a write", async (operation) => {
  for (const [writes, how] of failures) {
    const { path: parameters = {}, body } = await REQUESTS[operation.operationId]!();
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name]!);
    const restore = failing.failAfter(writes, how);
    let written = 0;
    const { status, body: sent } = await server
      .request(operation.method.toUpperCase(), path, { body })
      .finally(() => (written = restore()));
    // A refusal, such as 404, may come before any write.
    if (status < (written > 0 ? 400 : 500)) continue;
    if (written === 0) expect([status, sent.message]).toEqual([503, expect.stringMatching(/Nothing was recorded\.$/)]);
    // The only code that does not promise that nothing was recorded.
    else expect([sent.code, sent.message]).toEqual(["internal_error", expect.stringMatching(/Recorded before this/)]);
  }
});

test.each(["GET", "POST"])("an unexpected error of a %s returns 500 without details, and is logged", async (method) => {
  const own = await start();
  const SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzdG9yYWdl /var/lib/place.db";
  const fault = () => Promise.reject(new Error(SECRET));
  Object.assign(own.storage, { findDisbursement: fault, insertDisbursement: fault });
  const isPost = method === "POST";
  const path = `/v1/disbursements${isPost ? "" : "/x"}`;
  const response = await own.request(method, path, isPost ? { body: aPayout() } : {});
  const text = "The server failed to process the request. Include the x-request-id when you report this.";
  expect(response).toMatchObject({
    status: 500,
    body: { message: `${text}${isPost ? " Nothing was recorded." : ""}` },
  });
  expect(JSON.stringify(response.headers)).not.toContain("whsec");
  const logged = own.logged().filter(({ requestId }) => requestId === response.headers["x-request-id"]);
  expect(logged.map(({ err }) => err?.message).filter(Boolean)).toEqual([SECRET]);
  expect(logged.at(-1)).toMatchObject({ method, route: path.replace("/x", "/:reference"), status: 500 });
});
