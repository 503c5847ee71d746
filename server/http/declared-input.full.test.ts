// Sends every name that storage and domain use, undeclared, to every operation: the response and the stored data must
// be the same as without it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import { startServer } from "../testing/server.ts";
import { storageNames } from "../testing/storage-names.ts";

interface Operation {
  operationId: string;
  requestBody?: object;
  parameters?: { $ref?: string; name?: string; in?: string }[];
}
const NAMES = storageNames();
const METHODS = new Set(["get", "post", "put", "patch", "delete"]);
const OPERATIONS = Object.entries(openapi.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>)
    .filter(([method]) => METHODS.has(method))
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
);
const parametersOf = ({ parameters = [] }: Operation) =>
  parameters
    .map(({ $ref, ...own }) =>
      $ref ? openapi.components.parameters[$ref.split("/").at(-1) as "Limit"] : (own as { name: string; in: string }),
    )
    .flatMap((parameter) => (parameter.in === "query" ? [parameter.name] : []));

const PAYOUT = { amount: 10_000, country: "CI", currency: "XOF" };

/**
 * A sandbox with a payment of each kind and status, and a waiting webhook. Each has the same ids.
 */
async function aSandbox() {
  const server = await startServer({ env: { PUBLIC_URL: "http://127.0.0.1:3000" } });
  const post = async (path: string, body?: object) => (await server.request("POST", path, { body })).body.data;
  const pay = (reference: string, phoneNumber: string) =>
    post("/v1/disbursements", { ...PAYOUT, reference, phoneNumber, webhookURL: "http://127.0.0.1:1/" });
  const paid = await pay("paid", "2250700000001");
  await pay("failed", "2250700000002");
  await pay("pending", "2250700000129");
  const checkout = await post("/v1/checkouts", { ...PAYOUT, reference: "order" });
  const { items } = (await server.request("GET", "/sandbox/deliveries")).body.data;
  const [waiting] = items;
  return { server, waiting, paid, checkout };
}
type Sandbox = Awaited<ReturnType<typeof aSandbox>>;

/** The request for each operation: the values in its path, and its body. */
const REQUESTS: Record<string, (sandbox: Sandbox) => { path?: Record<string, string>; body?: object }> = {
  createDisbursement: () => ({ body: { ...PAYOUT, reference: "new", phoneNumber: "2250700000473" } }),
  listDisbursements: () => ({}),
  verifyDisbursement: ({ paid }) => ({ path: { reference: paid.reference } }),
  createCheckout: () => ({ body: { ...PAYOUT, reference: "new" } }),
  listCheckouts: () => ({}),
  listBalances: () => ({}),
  listStatements: () => ({}),
  verifyCheckout: ({ checkout }) => ({ path: { reference: checkout.reference } }),
  readClock: () => ({}),
  advanceClock: () => ({ body: { seconds: 60 } }),
  resetSandbox: () => ({}),
  finishCheckout: ({ checkout }) => ({ path: { reference: checkout.reference }, body: { outcome: "failed" } }),
  listEvents: () => ({}),
  listDeliveries: () => ({}),
  replayDelivery: ({ waiting }) => ({ path: { id: waiting.id } }),
  readWebhookSecret: () => ({}),
  rotateWebhookSecret: () => ({}),
  readChaos: () => ({}),
  setChaos: () => ({ body: { lostWebhooksPercent: 5 } }),
  setBalance: () => ({ body: { currency: "XOF", available: 5, enforced: false } }),
};

/** What a test adds to a request. */
interface Extra {
  query?: string;
  /** Added to the body, and to the objects in it. */
  fields?: Record<string, unknown>;
}

/** Sends an operation's request with something added. */
function send(operation: (typeof OPERATIONS)[number], sandbox: Sandbox, { query = "", fields = {} }: Extra) {
  const { path = {}, body } = REQUESTS[operation.operationId]!(sandbox);
  const address = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path[name]!);
  const options = { ...(body && { body: extended(body, fields) }) };
  return sandbox.server.request(operation.method, `${address}${query && `?${query}`}`, options);
}

function extended(value: unknown, fields: object): unknown {
  if (Array.isArray(value)) return value.map((item) => extended(item, fields));
  if (typeof value !== "object" || value === null) return value;
  const own = Object.entries(value).map(([name, each]) => [name, extended(each, fields)]);
  return { ...fields, ...Object.fromEntries(own) };
}

/** The stored data, as everyone who may read them sees them. */
async function stored({ server }: Sandbox) {
  const reads = OPERATIONS.filter(({ method, path }) => method === "GET" && !path.includes("{"));
  const pages = await Promise.all(reads.map(async ({ path }) => (await server.request("GET", path)).body));
  return [pages, await server.storage.listAudit({ limit: 100 }), await server.storage.listMerchants()];
}

/** The response to an operation in a new sandbox, and the stored data afterwards. */
async function effectOf(operation: (typeof OPERATIONS)[number], extra: Extra) {
  const sandbox = await aSandbox();
  const { status, body } = await send(operation, sandbox, extra);
  const effect = { status, body, stored: await stored(sandbox) };
  await sandbox.server.close();
  return effect;
}

test("knows a request for every operation of the spec", () => {
  expect(Object.keys(REQUESTS).toSorted()).toEqual(OPERATIONS.map(({ operationId }) => operationId).toSorted());
  expect(NAMES).toEqual(expect.arrayContaining(["phoneNumber", "phone_number", "createdAfter", "direction", "sentAt"]));
});

const twice = (name: string) => `${name}=1&${name}=2`;
const VARIANTS: [string, (name: string) => string][] = [
  ["once", (name) => `${name}=1`],
  ["twice", twice],
  ["as a list", (name) => `${name}%5B%5D=1&${name}[]=2`],
  ["as an object", (name) => `${name}%5Bgt%5D=1&${name}[lt]=2`],
];

describe.each(OPERATIONS)("$operationId ignores undeclared", (operation) => {
  const names = NAMES.filter((name) => !parametersOf(operation).includes(name));
  let plain: Awaited<ReturnType<typeof effectOf>>;
  beforeAll(async () => {
    plain = await effectOf(operation, {});
  });

  test.each(VARIANTS)("query parameters, sent %s", async (_, parameter) => {
    expect(plain.status).toBe(200);
    expect(await effectOf(operation, { query: names.map(parameter).join("&") })).toEqual(plain);
  });

  if (!operation.requestBody) return;
  test("fields of its body", async () => {
    const declared = new Set(declaredFields(operation.requestBody));
    const others = NAMES.filter((name) => !declared.has(name));
    for (const value of [1, "1", null]) {
      const fields = Object.fromEntries(others.map((name) => [name, value]));
      expect(await effectOf(operation, { fields })).toEqual(plain);
    }
  });
});

/** The names of all properties in the schema of a body. */
function declaredFields(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { $ref, properties = {} } = part as { $ref?: string; properties?: object };
  const target = $ref && openapi.components.schemas[$ref.split("/").at(-1) as "Clock"];
  return [...Object.keys(properties), ...[...Object.values(part), target].flatMap(declaredFields)];
}

describe("each name alone changes no list", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await aSandbox();
  });
  afterAll(() => sandbox.server.close());

  test.each(OPERATIONS.filter(({ method }) => method === "GET"))("$operationId", async (operation) => {
    const { body } = await send(operation, sandbox, {});
    const names = NAMES.filter((name) => !parametersOf(operation).includes(name));
    for (const parameter of [(name: string) => `${name}=1`, twice]) {
      for (const name of names) {
        const response = await send(operation, sandbox, { query: parameter(name) });
        expect([name, response.body]).toEqual([name, body]);
      }
    }
  });

  const declared = OPERATIONS.flatMap((operation) => parametersOf(operation).map((name) => ({ ...operation, name })));
  test.each(declared)("$operationId refuses $name twice, and says so", async ({ name, ...operation }) => {
    const at = encodeURIComponent("2026-11-20T09:30:00.000Z");
    for (const [first, second] of [
      ["success", "pending"],
      ["1", "2"],
      [at, at],
      ["x", ""],
    ]) {
      const query = `${name}=${first}&${name}=${second}`;
      const response = await send(operation, sandbox, { query });
      expect([400, 422]).toContain(response.status);
      expect(response.body.message).toContain(name);
    }
  });
});
