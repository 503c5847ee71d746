import { describe, expect, test } from "vitest";
import { createClient, type ClientOptions } from "../index.ts";
import { verifyWebhook } from "../webhooks/webhooks.ts";
import { fakeService } from "./fake-service.ts";
import { checkoutRequest, disbursementRequest as request } from "./fakes.ts";

function connect(options: Partial<ClientOptions> = {}) {
  const service = fakeService();
  const baseUrl = "https://fake.example/api";
  const retry = { minDelay: 1, maxDelay: 1 };
  const client = createClient({ baseUrl, apiKey: "key", fetch: service.fetch, retry, ...options });
  /** Sends a request as it is, without the client. */
  const send = async (path: string, body: object) => {
    const init = { headers: { "x-api-key": "key" }, method: "POST", body: JSON.stringify(body) };
    const response = await service.fetch(`https://fake.example/v1/${path}`, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { service, send, ...client };
}

const { reference: _, ...anonymous } = checkoutRequest;

describe("a fake service", () => {
  test("creates each payout once, and shows it", async () => {
    const { service, disbursements } = connect();
    const payout = await disbursements.create(request);
    expect(payout).toMatchObject({ merchantsReference: "payroll-1", amount: 1500000, fee: 15000, status: "pending" });
    expect(await disbursements.create(request).result()).toMatchObject({ outcome: "existed" });
    const other = await disbursements.create({ ...request, amount: 1 }).result();
    expect(other).toMatchObject({ outcome: "refused", error: { name: "DuplicateReferenceError", matches: false } });
    const { phoneNumber } = request;
    expect(service.payouts).toMatchObject([{ reference: payout.reference, customer: { phoneNumber } }]);
    expect(await disbursements.verify(payout.reference)).toEqual(service.payouts[0]);
    expect(await disbursements.verify("DSBX").result()).toMatchObject({ outcome: "missing" });
  });

  test("loses responses: the payout is found, or its outcome is unknown until it is resumed", async () => {
    const { service, disbursements } = connect();
    service.loseResponse(request.reference, 2);
    expect(await disbursements.create(request)).toMatchObject({ recovered: true });
    const alone = connect({ retry: { tries: 1 } });
    alone.service.loseResponse(request.reference);
    expect(await alone.disbursements.create(request).result()).toMatchObject({ outcome: "unknown" });
    expect(await alone.disbursements.resume(request).result()).toMatchObject({ outcome: "existed" });
    expect(alone.service.payouts).toHaveLength(1);
  });

  test("refuses what the test wants", async () => {
    const { service, disbursements } = connect();
    service.refuse(request.reference, { code: "insufficient_funds", message: "Not enough." });
    const refused = await disbursements.create(request).result();
    expect(refused).toMatchObject({ outcome: "refused", error: { status: 422, code: "insufficient_funds" } });
    service.refuse(request.reference, null);
    expect(await disbursements.create(request)).toMatchObject({ recovered: false });
    service.refuse("x");
    const error = { status: 422, code: "invalid_value", serverMessage: "Refused: Refused by the test." };
    expect(await disbursements.create({ ...request, reference: "x" }).result()).toMatchObject({ error });
  });

  test.each([
    ["reference", undefined, "required"],
    ["amount", "100", "pattern"],
    ["phoneNumber", "1234567890123456", "pattern"],
  ])("refuses %s %j as the service does", async (path, value, code) => {
    const { service, send } = connect();
    const message = expect.stringMatching(`^${path} must be `);
    const error = { statusCode: 422, error: "Refused", message, code: "invalid_value" };
    const body = { ...error, fields: [{ path, code, message }] };
    expect(await send("disbursements", { ...request, [path]: value })).toEqual({ status: 422, body });
    expect(service.payouts).toEqual([]);
  });

  test("selects records by reference and status, the newest first, page by page", async () => {
    const { service, disbursements } = connect();
    for (const reference of ["a", "b", "c", "d"]) await disbursements.create({ ...request, reference });
    await service.settle("b", "success");
    const list = async (filters: object) => {
      let references = "";
      for await (const { merchantsReference } of disbursements.list(filters)) references += merchantsReference;
      return references;
    };
    expect(await list({ pageSize: 3 })).toBe("dcba");
    expect(await list({ status: "pending" })).toBe("dca");
    expect(await list({ status: "pending", merchantsReference: "b" })).toBe("");
  });

  test("settles records and signs the webhooks that report it", async () => {
    const { service, disbursements, checkouts } = connect();
    const { reference } = await disbursements.create(request);
    const { body, headers } = await service.settle(request.reference, "failed");
    const { event } = await verifyWebhook(body, headers, service.secret);
    expect(event).toMatchObject({ event: "disbursement.failed", data: { reference, status: "failed" } });
    expect(await disbursements.waitFor(reference)).toMatchObject({ status: "failed" });
    await expect(service.settle("nobody", "success")).rejects.toThrow("No record has the reference nobody.");
    for (const created of [await checkouts.create(checkoutRequest), await checkouts.create(anonymous)])
      expect(created.url).toBe(`https://fake.example/checkouts/${created.reference}`);
    const settled = await service.settle("order-1", "success");
    expect(JSON.parse(settled.body)).toMatchObject({ event: "checkout.completed" });
  });

  test("answers late, when the payout exists", async () => {
    const { service, disbursements } = connect({ timeout: 20, retry: { tries: 1 } });
    service.delay = 60;
    expect(await disbursements.create(request).result()).toMatchObject({ outcome: "unknown" });
    expect(service.payouts).toHaveLength(1);
    service.delay = 1;
    expect(await disbursements.resume(request).result()).toMatchObject({ outcome: "existed" });
  });
});
