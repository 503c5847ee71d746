import { describe, expect, test } from "vitest";
import { fakeService } from "./fake-service.ts";
import { createClient, type ClientOptions } from "./index.ts";
import { createAll } from "./payroll.ts";
import { checkoutRequest, disbursementRequest as request } from "./testing/fakes.ts";
import { verifyWebhook } from "./webhooks.ts";

function connect(options: Partial<ClientOptions> = {}) {
  const service = fakeService();
  const fast = { retry: { minDelay: 1, maxDelay: 1 } };
  const client = createClient({
    baseUrl: "https://fake.example/api",
    apiKey: "key",
    fetch: service.fetch,
    ...fast,
    ...options,
  });
  return { service, client, ...client };
}

describe("a fake service", () => {
  test("creates each payout once, and shows it", async () => {
    const { service, disbursements } = connect();
    const payout = await disbursements.create(request);
    expect(payout).toMatchObject({ merchantsReference: "payroll-1", amount: 1500000, fee: 15000, status: "pending" });
    expect(await disbursements.create(request).result()).toMatchObject({
      outcome: "existed",
      data: { recovered: true },
    });
    const other = await disbursements.create({ ...request, amount: 1 }).result();
    expect(other).toMatchObject({ outcome: "refused", error: { name: "DuplicateReferenceError", matches: false } });
    expect(service.payouts).toMatchObject([
      { reference: payout.reference, customer: { phoneNumber: request.phoneNumber } },
    ]);
    expect(await disbursements.verify(payout.reference)).toEqual(service.payouts[0]);
    expect(await disbursements.verify("DSBX").result()).toMatchObject({ outcome: "missing" });
  });

  test("loses responses, after which the payout is found", async () => {
    const { service, disbursements } = connect();
    service.loseResponse(request.reference, 2);
    expect(await disbursements.create(request)).toMatchObject({ recovered: true });
    expect(service.payouts).toHaveLength(1);
  });

  test("loses all responses, which leaves the outcome unknown until it is resumed", async () => {
    const { service, disbursements } = connect({ retry: { tries: 1 } });
    service.loseResponse(request.reference);
    const result = await disbursements.create(request).result();
    expect(result.outcome).toBe("unknown");
    expect(await disbursements.resume(request).result()).toMatchObject({ outcome: "existed" });
  });

  test("refuses what the test wants, and what the contract refuses", async () => {
    const { service, disbursements } = connect();
    service.refuse(request.reference, { code: "insufficient_funds", message: "Not enough." });
    const refused = await disbursements.create(request).result();
    expect(refused).toMatchObject({ outcome: "refused", error: { status: 422, code: "insufficient_funds" } });
    service.refuse(request.reference, null);
    expect(await disbursements.create(request)).toMatchObject({ recovered: false });
    const invalid = await disbursements.create({ ...request, reference: "x", phoneNumber: "12", amount: 0.5 }).result();
    expect(invalid).toMatchObject({
      outcome: "refused",
      error: { name: "ValidationError", fields: [{ path: "amount" }, { path: "phoneNumber" }] },
    });
    expect(service.payouts).toHaveLength(1);
  });

  test("settles a payout and signs the webhook that reports it", async () => {
    const { service, disbursements } = connect();
    const { reference } = await disbursements.create(request);
    const { body, headers } = await service.settle(request.reference, "failed");
    const { event } = await verifyWebhook(body, headers, service.secret);
    expect(event).toMatchObject({ event: "disbursement.failed", data: { reference, status: "failed" } });
    expect(await disbursements.waitFor(reference)).toMatchObject({ status: "failed" });
    await expect(service.settle("nobody", "success")).rejects.toThrow("No record has the reference nobody.");
  });

  test("has checkouts, with a link once", async () => {
    const { service, checkouts } = connect();
    const { reference: _, ...anonymous } = checkoutRequest;
    for (const created of [await checkouts.create(checkoutRequest), await checkouts.create(anonymous)])
      expect(created.url).toBe(`https://fake.example/checkouts/${created.reference}`);
    expect(service.checkouts).toHaveLength(2);
    const { body } = await service.settle("order-1", "cancelled");
    expect(JSON.parse(body)).toMatchObject({ event: "checkout.cancelled" });
  });

  test("lists and finds payouts, the newest first, and pays a payroll", async () => {
    const { client, disbursements } = connect();
    const entries = ["a", "b", "c"].map((reference) => ({ ...request, reference }));
    expect(await createAll(client, entries, { concurrency: 1 })).toMatchObject({ created: 3 });
    const listed: string[] = [];
    for await (const { merchantsReference } of disbursements.list({ pageSize: 2 })) listed.push(merchantsReference);
    expect(listed).toEqual(["c", "b", "a"]);
    expect(await disbursements.find("b")).toMatchObject({ merchantsReference: "b" });
    expect(await disbursements.find("x")).toBeUndefined();
  });

  test("answers late, and wants a key and a path of the contract", async () => {
    const { service, disbursements, client } = connect({ timeout: 20, retry: { tries: 1 } });
    service.delay = 60;
    expect(await disbursements.create(request).result()).toMatchObject({ outcome: "unknown" });
    expect(service.payouts).toHaveLength(1);
    service.delay = 0;
    expect((await client.raw.GET("/sandbox/events")).response.status).toBe(404);
    expect((await service.fetch("https://fake.example/v1/disbursements")).status).toBe(401);
  });
});
