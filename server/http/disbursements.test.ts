import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const verify = async (reference: string) => (await server.request("GET", `/v1/disbursements/${reference}`)).body.data;

describe("create and verify", () => {
  test("a record has every field of §2.3 and matches the create response", async () => {
    const webhookURL = "https://merchant.example/hook?a=%20b";
    const payout = aPayout({ webhookURL, phoneNumber: "2257038104321" });
    const created = (await server.createPayout(payout)).body;
    expect(created).toEqual({
      statusCode: 200,
      data: {
        reference: expect.stringMatching(/^DSB[0-9A-Z]{24}$/),
        merchantsReference: payout.reference,
        amount: 10_000,
        fee: 100,
        status: "pending",
      },
    });
    const { phoneNumber, reference: merchantsReference, ...rest } = payout;
    expect(await verify(created.data.reference)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      userId: server.merchant.id,
      merchant: { name: "Ada Stores" },
      customer: { id: expect.any(String), name: "Customer 4321", phoneNumber },
      ...rest,
      ...created.data,
      merchantsReference,
      createdAt: "2026-11-20T09:30:00.000Z",
      updatedAt: "2026-11-20T09:30:00.000Z",
    });
  });

  test("an absent optional field is omitted, never null (D7a)", async () => {
    const { reference } = (await server.createPayout()).body.data;
    expect(await verify(reference)).not.toHaveProperty("webhookURL");
  });

  test.each([
    " leading and trailing  ",
    "Été № 42 / 100 %",
    "e\u0301te\u0301",
    "\u00e9t\u00e9",
    "🧵".repeat(64),
    "‮backwards",
    "__proto__",
    "${jndi:ldap://x}",
    "<b>'\"&\\",
    "\u2028\u2029\ufeff",
  ])("the reference %j is returned exactly (D15)", async (reference) => {
    const { data } = (await server.createPayout({ reference })).body;
    expect(data.merchantsReference).toBe(reference);
    expect((await verify(data.reference)).merchantsReference).toBe(reference);
    const again = await server.createPayout({ reference });
    expect(again.body.message).toContain(reference);
  });

  test("one phone number is one customer per merchant (D19)", async () => {
    const customers = [];
    for (const phoneNumber of ["22570381055", "22570381055", "22570381056"]) {
      customers.push((await verify((await server.createPayout({ phoneNumber })).body.data.reference)).customer);
    }
    expect(customers[0]).toEqual(customers[1]);
    expect(customers[2].id).not.toBe(customers[0].id);
    const { key } = await server.addMerchant("Kofi & Sons");
    const { reference } = (await server.createPayout({ phoneNumber: "22570381055" }, { key })).body.data;
    const other = (await server.request("GET", `/v1/disbursements/${reference}`, { key })).body.data;
    expect(other.customer.id).not.toBe(customers[0].id);
    expect(other.merchant).toEqual({ name: "Kofi & Sons" });
  });
});

describe("a duplicate reference (D4, D5)", () => {
  test("returns 409 with the Location of the existing payout", async () => {
    const payout = aPayout();
    const { reference } = (await server.createPayout(payout)).body.data;
    const again = await server.createPayout({ ...payout, amount: 99 });
    expect([again.status, again.headers.location]).toEqual([409, `/v1/disbursements/${reference}`]);
    const found = await server.request("GET", again.headers.location!);
    expect(found.body.data).toMatchObject({ reference, amount: payout.amount });
  });

  test.each(["", "001", "002", "089", "129", "500", "503", "504", "408"])(
    "returns 409 before applying the outcome forced by a number ending in %s (D17)",
    async (ending) => {
      const { reference } = (await server.createPayout({ reference: `used ${ending}` })).body.data;
      const again = await server.createPayout({ reference: `used ${ending}`, phoneNumber: `2257038102${ending}` });
      expect([again.status, again.headers.location]).toEqual([409, `/v1/disbursements/${reference}`]);
    },
  );

  test("is refused after the payout failed, but accepted from another merchant", async () => {
    const payout = aPayout({ phoneNumber: "2257038102002" });
    expect((await server.createPayout(payout)).body.data.status).toBe("failed");
    expect((await server.createPayout(payout)).status).toBe(409);
    const { key } = await server.addMerchant("Kofi & Sons");
    expect((await server.createPayout(payout, { key })).status).toBe(200);
  });

  test("200 concurrent requests create one payout; the other 199 get its Location", async () => {
    const payout = aPayout();
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, index) => server.createPayout({ ...payout, amount: index + 1 })),
    );
    const [made, ...more] = responses.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    const { reference, amount } = made!.body.data;
    const others = responses.filter(({ status }) => status === 409);
    expect(others).toHaveLength(199);
    expect(new Set(others.map(({ headers }) => headers.location))).toEqual(new Set([`/v1/disbursements/${reference}`]));
    expect(await verify(reference)).toMatchObject({ amount, merchantsReference: payout.reference });
  });
});

describe("the fee (D14)", () => {
  test.each([
    [1, 0],
    [49, 0],
    [50, 1],
    [149, 1],
    [150, 2],
    [10_000, 100],
    [Number.MAX_SAFE_INTEGER, 90_071_992_547_410],
  ])("for an amount of %d is %d, on top of the amount", async (amount, fee) => {
    const { data } = (await server.createPayout({ amount })).body;
    expect(data).toMatchObject({ amount, fee });
    expect(await verify(data.reference)).toMatchObject({ amount, fee });
  });

  test("the highest configurable fee is exact for the largest amount", async () => {
    const env = { DISBURSEMENT_FEE_BPS: "9999", DISBURSEMENT_FEE_FIXED: "1000000000" };
    const dear = await startServer({ env });
    const amount = Number.MAX_SAFE_INTEGER;
    const { reference, fee } = (await dear.createPayout({ amount })).body.data;
    expect(BigInt(fee)).toBe((BigInt(amount) * 9_999n + 5_000n) / 10_000n + 1_000_000_000n);
    expect((await dear.request("GET", `/v1/disbursements/${reference}`)).body.data).toMatchObject({ amount, fee });
    await dear.close();
  });
});
