import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { AuthenticationError, createClient } from "./index.ts";
import type { Checkout, CreatedCheckout, CreatedDisbursement, Disbursement } from "./index.ts";
import { key } from "./testing/fakes.ts";
import { startMock } from "./testing/processes.ts";
import type { Running } from "./testing/processes.ts";

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const { examples } = read("../generated/openapi.json").components;

// `npm run mock` returns the first example of the contract for every valid request.
describe("against the mock", () => {
  let mock: Running;
  beforeAll(async () => {
    mock = await startMock(read("../package.json").scripts.mock);
  });
  afterAll(() => mock.stop());
  const connect = (options: object = {}) => createClient({ baseUrl: mock.baseUrl, apiKey: key, ...options });

  test("every operation returns the contract's example, typed", async () => {
    const { disbursements, checkouts } = connect();

    const payout = await disbursements.create(examples.DisbursementRequest.value);
    expectTypeOf(payout).toEqualTypeOf<CreatedDisbursement>();
    expect(payout).toEqual({ ...examples.DisbursementCreated.value.data, recovered: false });

    const verified = await disbursements.verify(payout.reference);
    expectTypeOf(verified).toEqualTypeOf<Disbursement>();
    expect(verified).toEqual(examples.Disbursement.value.data);
    expect((await disbursements.waitFor(payout.reference)).status).toBe("success");

    const checkout = await checkouts.create(examples.CheckoutRequest.value);
    expectTypeOf(checkout).toEqualTypeOf<CreatedCheckout>();
    expect(checkout).toEqual({ ...examples.CheckoutCreated.value.data, recovered: false });

    const paid = await checkouts.verify(checkout.reference);
    expectTypeOf(paid).toEqualTypeOf<Checkout>();
    expect(paid).toEqual(examples.Checkout.value.data);
    expect((await checkouts.waitFor(checkout.reference)).status).toBe("success");
  });

  test("an example is not accepted as the response to another request", async () => {
    const otherRequest = { ...examples.DisbursementRequest.value, reference: "my-own-1" };
    const result = await connect()
      .disbursements.create(otherRequest, { retry: { tries: 1 } })
      .result();
    expect(result.outcome).toBe("unknown");
  });

  test("the raw client sends the key and is typed by the contract", async () => {
    const { data, error, response } = await connect().raw.GET("/v1/disbursements/{reference}", {
      params: { path: { reference: "DSB7Q2M9X4T1VK8R3WZ0HA6N" } },
    });
    expect([response.status, error]).toEqual([200, undefined]);
    const payout: Disbursement = data!.data;
    expect(payout.status).toBe("success");
    expect(data).toEqual(examples.Disbursement.value);
    const withoutKey = await fetch(`${mock.baseUrl}/v1/disbursements/DSB7Q2M9X4T1VK8R3WZ0HA6N`);
    expect(withoutKey.status).toBe(401);
  });

  test("an error response matches the contract", async () => {
    const call = connect({ headers: { prefer: "code=401" } }).disbursements.verify("DSB1");
    await expect(call).rejects.toBeInstanceOf(AuthenticationError);
    await expect(call).rejects.toMatchObject({ status: 401, serverMessage: expect.stringMatching(/./) });
  });
});
