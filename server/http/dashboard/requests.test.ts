import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { aPayout, startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let visitor: Visitor;
let list: string;
beforeAll(async () => {
  server = await startServer();
  list = `/m/${server.merchant.id}/requests`;
  visitor = await signedIn(server, { merchantId: server.merchant.id, name: "Kofi" });
});
afterAll(() => server.close());

/** Waits until the request is in its merchant's log. */
async function logged(requestId: unknown, merchantId = server.merchant.id): Promise<void> {
  const query = { merchantId, requestId: String(requestId), limit: 1 };
  await expect
    .poll(() => (server.clock.advance(500), server.storage.listRequests(query)))
    .toMatchObject({ items: { length: 1 } });
}

/** The ids of the requests on a page, in order. */
const idsIn = (html: string) => [...html.matchAll(/<tr data-key="(req_\w+)"/g)].map(([, id]) => id);
const found = async (query: string) => idsIn((await visitor.get(list + query)).html);

test("a payment's page leads to the request that created it, and the request to the payment", async () => {
  const body = aPayout({ reference: "order-7" });
  const created = await server.request("POST", "/v1/disbursements", { body });
  const repeated = await server.request("POST", "/v1/disbursements", { body });
  await logged(repeated.headers["x-request-id"]);
  const id = String(created.headers["x-request-id"]);
  const payment = `/m/${server.merchant.id}/disbursements/${created.body.data.reference}`;
  expect((await visitor.get(payment)).html).toContain(`/requests?request=${id}"`);

  const { html } = await visitor.get(`${list}?request=${id}`);
  expect(idsIn(html)).toEqual([id]);
  for (const text of [`${payment}"`, "POST /v1/disbursements", "order-7", "…473", "Sent</h2>", "Returned</h2>"]) {
    expect(html).toContain(text);
  }
  // The refused duplicate leads to the same payment.
  const both = [String(repeated.headers["x-request-id"]), id];
  expect(await found(`?reference=${created.body.data.reference}`)).toEqual(both);
  expect(await found("?reference=order-7")).toEqual(both);
});

test("a request and its payment name the program that sent it, as data, and its API key by its hint", async () => {
  const { merchant, key } = await server.addMerchant("Agents");
  const program = `<b>shop</b>/1 \u00fc ${key} sk_abc ${"x".repeat(200)}`;
  const created = await server.createPayout({}, { key, headers: { "user-agent": program } });
  const id = String(created.headers["x-request-id"]);
  await logged(id, merchant.id);
  const operator = await signedIn(server);
  const shown = `&lt;b&gt;shop&lt;/b&gt;/1 … sk_… ${"x".repeat(79)}`;
  expect((await operator.get(`/m/${merchant.id}/requests?request=${id}`)).html).toContain(`Sent by <bdi>${shown}`);
  expect((await operator.get(`/m/${merchant.id}/requests`)).html).toContain(`API key <bdi>…${key.slice(-4)}<`);
  const payment = `/m/${merchant.id}/disbursements/${created.body.data.reference}`;
  expect((await operator.get(payment)).html).toContain(`Requested by ${shown} · API key …${key.slice(-4)}<`);
});

test("the list filters by result and operation, has pages, and refuses other filters", async () => {
  for (const count of [15, 15]) {
    const sent = await Promise.all(Array.from({ length: count }, () => server.request("GET", "/sandbox/clock")));
    for (const { headers } of sent) await logged(headers["x-request-id"]);
  }
  const refused = await server.createPayout({ amount: 0 });
  await logged(refused.headers["x-request-id"]);
  expect(await found("?result=4xx&operation=createDisbursement")).toContain(refused.headers["x-request-id"]);
  expect(await found("?result=5xx")).toEqual([]);
  const first = await visitor.get(`${list}?operation=readClock&result=2xx`);
  expect(idsIn(first.html)).toHaveLength(25);
  expect(first.html).not.toContain("<pre");
  const [, next] = /href="(\?[^"]+cursor=[^"]+)">Older/.exec(first.html)!;
  expect(await found(next!.replaceAll("&amp;", "&"))).toHaveLength(5);
  for (const query of ["?result=3xx", "?operation=nothing", "?cursor=x"]) {
    expect((await visitor.get(list + query)).status).toBe(422);
  }
});

test("a request says how many others around it were not kept", async () => {
  const { merchant } = await server.addMerchant("Busy");
  const common = { merchantId: merchant.id, at: server.clock.now(), operation: "readClock", method: "GET", path: "/" };
  await server.storage.insertRequests([
    { ...common, requestId: "req_1", number: 1, durationMs: 1, status: 200 },
    { ...common, requestId: "req_2", number: 2, durationMs: 1, status: 200, leftOut: 1 },
    { ...common, requestId: "req_3", number: 3, durationMs: 1, status: 200, leftOut: 6_500 },
  ]);
  const { html } = await (await signedIn(server)).get(`/m/${merchant.id}/requests`);
  expect(html.match(/[\d,]+ more requests? [^<]*/g)).toEqual([
    "6,500 more requests up to about this time were not kept",
    "1 more request up to about this time was not kept",
  ]);
});

describe("the stored log", () => {
  test("has no phone number, key, secret or name, wherever a caller puts them", async () => {
    const { merchant, key } = await server.addMerchant("Private Stores");
    const phoneNumber = "2250701020389";
    const send = (method: string, path: string, body?: unknown) => server.request(method, path, { key, body });
    const created = await send(
      "POST",
      "/v1/disbursements",
      aPayout({ phoneNumber, webhookURL: "https://a.example/t0ken" }),
    );
    await send("POST", "/v1/disbursements", { ...aPayout(), phoneNumber: 2_250_701_020_389 });
    await send("POST", "/v1/disbursements", { ...aPayout(), name: "Lovelace", apiKey: key, [phoneNumber]: "Lovelace" });
    await send("POST", "/v1/disbursements", { ...aPayout(), reference: `${key} ${phoneNumber}`, amount: 0 });
    await send("POST", "/v1/disbursements", `{"phoneNumber":"${phoneNumber}","name":"Lovelace"`);
    await send("GET", `/v1/disbursements/${created.body.data.reference}`);
    await send("GET", `/v1/disbursements/${phoneNumber}`);
    await send("GET", `/v1/disbursements/${key}`);
    await send("GET", `/v1/disbursements?merchantsReference=${phoneNumber}`);
    await send("GET", "/sandbox/events");
    const { secret } = (await send("GET", "/sandbox/webhook-secret")).body.data;
    const last = await send("POST", "/sandbox/webhook-secret/rotate");
    await logged(last.headers["x-request-id"], merchant.id);
    const { items } = await server.storage.listRequests({ merchantId: merchant.id, limit: 100 });
    expect(items.map(({ operation }) => operation).toReversed()).toEqual([
      ...Array.from({ length: 5 }, () => "createDisbursement"),
      ...Array.from({ length: 3 }, () => "verifyDisbursement"),
      "listDisbursements",
      "listEvents",
      "readWebhookSecret",
      "rotateWebhookSecret",
    ]);
    const text = JSON.stringify(items);
    const hidden = [
      phoneNumber,
      "0102038",
      key,
      secret,
      last.body.data.secret,
      "whsec",
      "t0ken",
      "Lovelace",
      "Private",
    ];
    for (const each of [...hidden, "Customer 0389"]) expect.soft(text, each).not.toContain(each);
    expect(text).toContain("…389");
  });

  test("has no request without a valid key, of no operation, or of the dashboard", async () => {
    const before = await server.storage.listRequests({ merchantId: server.merchant.id, limit: 1_000 });
    await server.request("GET", "/v1/disbursements", { key: null });
    await server.request("GET", "/v1/disbursements", { key: "sk_unknown_but_long_enough" });
    await server.request("GET", "/nothing");
    await visitor.get(list);
    const { headers } = await server.request("GET", "/sandbox/clock");
    await logged(headers["x-request-id"]);
    const after = await server.storage.listRequests({ merchantId: server.merchant.id, limit: 1_000 });
    expect(after.items).toHaveLength(before.items.length + 1);
  });

  test("is not kept, shown or linked to with REQUEST_LOG=off", async () => {
    const other = await startServer({ env: { REQUEST_LOG: "off" } });
    const { body } = await other.createPayout();
    const operator = await signedIn(other);
    expect((await operator.get(`/m/${other.merchant.id}/requests`)).status).toBe(404);
    const { html } = await operator.get(`/m/${other.merchant.id}/disbursements/${body.data.reference}`);
    expect(html).not.toContain("/requests");
    await other.close();
  });
});
