import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aCheckout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const verify = async (reference: string) => (await server.request("GET", `/v1/checkouts/${reference}`)).body.data;

test("a created checkout has a link, a reference and a record (D6, D8)", async () => {
  const request = aCheckout({
    webhookURL: "https://merchant.example/hook",
    redirectURL: "https://merchant.example/done?step=1",
    reference: " Order №1 ",
    locale: "fr",
  });
  const created = (await server.createCheckout(request)).body;
  const { reference } = created.data;
  expect(created).toEqual({
    statusCode: 200,
    data: {
      url: `${server.url}/checkouts/${reference}`,
      reference: expect.stringMatching(/^CHK[0-9A-Z]{24}$/),
      merchantsReference: " Order №1 ",
      amount: 2_500_000,
      fee: 120_000,
      status: "pending",
    },
  });
  const { url: _url, ...shared } = created.data;
  const { webhookURL, redirectURL } = request;
  expect(await verify(reference)).toEqual({
    id: expect.any(String),
    userId: server.merchant.id,
    merchant: { name: "Ada Stores" },
    country: "CI",
    currency: "XOF",
    webhookURL,
    redirectURL,
    ...shared,
    createdAt: "2026-11-20T09:30:00.000Z",
    updatedAt: "2026-11-20T09:30:00.000Z",
  });
});

test("the link returns 200", async () => {
  const { url } = (await server.createCheckout()).body.data;
  expect((await server.request("GET", new URL(url).pathname, { key: null })).status).toBe(200);
});

test("without a merchant's reference, the service's is used and no request is a duplicate", async () => {
  const first = (await server.createCheckout()).body.data;
  const second = (await server.createCheckout()).body.data;
  expect(first.merchantsReference).toBe(first.reference);
  expect(second.reference).not.toBe(first.reference);
  const record = await verify(first.reference);
  for (const absent of ["webhookURL", "redirectURL", "customer"]) expect(record).not.toHaveProperty(absent);
});

test("returns 409 with Location for a duplicate checkout reference (D7)", async () => {
  const request = aCheckout({ reference: "order-1" });
  await server.createPayout({ reference: "order-1" });
  const responses = await Promise.all(Array.from({ length: 20 }, () => server.createCheckout(request)));
  const [made, ...more] = responses.filter(({ status }) => status === 200);
  expect(more).toEqual([]);
  const { reference } = made!.body.data;
  const locations = responses.filter(({ status }) => status === 409).map(({ headers }) => headers.location);
  expect(locations).toEqual(Array.from({ length: 19 }, () => `/v1/checkouts/${reference}`));
  expect((await server.request("GET", locations[0]!)).body.data).toMatchObject({ reference });
  const { key } = await server.addMerchant("Kofi & Sons");
  expect((await server.createCheckout(request, { key })).status).toBe(200);
});

test("a merchant's reference equal to another checkout's service reference gives no access to it", async () => {
  const { reference } = (await server.createCheckout()).body.data;
  expect((await server.createCheckout({ reference })).status).toBe(409);
  const { key } = await server.addMerchant("Kofi & Sons");
  const other = (await server.createCheckout({ reference }, { key })).body.data;
  expect(other.reference).not.toBe(reference);
  expect((await server.request("GET", `/v1/checkouts/${reference}`, { key })).status).toBe(404);
});

test.each([
  [1, 0],
  [10, 0],
  [11, 1],
  [9_900, 475],
  [Number.MAX_SAFE_INTEGER, 432_345_564_227_568],
])("the fee for an amount of %d is %d (D14)", async (amount, fee) => {
  const { data } = (await server.createCheckout({ amount })).body;
  expect(data).toMatchObject({ amount, fee });
  expect(await verify(data.reference)).toMatchObject({ amount, fee });
});

describe("an unpaid checkout", () => {
  test("is cancelled after 30 minutes and stays cancelled (D9)", async () => {
    const { reference } = (await server.createCheckout()).body.data;
    await server.pass(30 * 60_000 - 1);
    expect((await verify(reference)).status).toBe("pending");
    await server.pass(1);
    const cancelled = await verify(reference);
    expect(cancelled).toMatchObject({ status: "cancelled", updatedAt: "2026-11-20T10:00:00.000Z" });
    await server.pass(24 * 3_600_000);
    expect(await verify(reference)).toEqual(cancelled);
  });
});

test("the link uses PUBLIC_URL, not the request's Host header", async () => {
  const own = await startServer();
  own.config.publicUrl = "https://pay.example/base";
  const { url, reference } = (await own.createCheckout({}, { headers: { host: "evil.example" } })).body.data;
  expect(url).toBe(`https://pay.example/base/checkouts/${reference}`);
  await own.close();
});
