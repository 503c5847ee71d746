import { describe, expect, test } from "vitest";
import { fakeService, type FakeService } from "./fake-service.ts";
import { createClient, type ClientOptions } from "../index.ts";
import { createAll } from "../payroll/payroll.ts";
import { checkoutRequest, disbursementRequest as request } from "./fakes.ts";
import { verifyWebhook } from "../webhooks/webhooks.ts";

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

interface Message {
  path?: string;
  body?: object;
  key?: string;
}

/** Sends a request as it is, without the client. */
async function send(service: FakeService, { path = "disbursements", body, key = "key" }: Message) {
  const init = { headers: { "x-api-key": key }, ...(body && { method: "POST", body: JSON.stringify(body) }) };
  const response = await service.fetch(`https://fake.example/v1/${path}`, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as unknown };
}

const refusal = (status: number, code: string, message: string) => ({
  status,
  body: { statusCode: status, error: "Refused", message, code },
});

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

  test.each([
    ["reference", undefined, "required"],
    ["reference", "", "pattern"],
    ["reference", 7, "pattern"],
    ["reference", "x".repeat(65), "pattern"],
    ["reference", "a\nb", "pattern"],
    ["amount", 0, "pattern"],
    ["amount", "100", "pattern"],
    ["amount", 2 ** 60, "pattern"],
    ["phoneNumber", "123456789", "pattern"],
    ["phoneNumber", "1234567890123456", "pattern"],
    ["phoneNumber", 2257038102473, "pattern"],
    ["country", "CIV", "pattern"],
    ["country", "ci", "pattern"],
    ["currency", "XO", "pattern"],
    ["currency", "XOFA", "pattern"],
  ])("refuses %s %j as the service does", async (path, value, code) => {
    const { service } = connect();
    const { status, body } = await send(service, { body: { ...request, [path]: value } });
    const message = `${path} is not valid.`;
    expect([status, body]).toEqual([
      422,
      { statusCode: 422, error: "Refused", message, code: "invalid_value", fields: [{ path, code, message }] },
    ]);
    expect(service.payouts).toEqual([]);
  });

  test("takes a reference of 64 characters, quotes and backslashes too, and a checkout without a reference", async () => {
    const { service } = connect();
    const reference = '"\\é'.padEnd(64, "x");
    expect(await send(service, { body: { ...request, reference } })).toMatchObject({ status: 200 });
    const { reference: _, ...anonymous } = checkoutRequest;
    for (const merchantsReference of ["generated-1", "generated-2"]) {
      const { body } = await send(service, { path: "checkouts", body: anonymous });
      expect(body).toMatchObject({ data: { merchantsReference } });
    }
    const unnamed = { ...anonymous, reference: null };
    expect(await send(service, { path: "checkouts", body: unnamed })).toMatchObject({ status: 422 });
    expect(await send(service, { path: "checkouts", body: { amount: 1 } })).toMatchObject({
      body: { message: "country is not valid. currency is not valid." },
    });
    expect(service.checkouts).toMatchObject([{ country: "CI", currency: "XOF" }, {}]);
  });

  test("answers with the status, the code and the headers of the service", async () => {
    const { service } = connect();
    await send(service, { body: request });
    const { reference } = service.payouts[0]!;
    expect(reference).toBe("DSBFAKE0000000000000001");
    const again = await send(service, { body: request });
    expect(again).toMatchObject(refusal(409, "duplicate_reference", "The reference is in use."));
    expect(Object.fromEntries(again.headers)).toEqual({
      "content-type": "application/json",
      "x-request-id": "req_fake",
      location: `/v1/disbursements/${reference}`,
    });
    service.refuse("x");
    expect(await send(service, { body: { ...request, reference: "x" } })).toMatchObject(
      refusal(422, "invalid_value", "Refused by the test."),
    );
    expect(await send(service, { path: "disbursements/DSB2" })).toMatchObject(
      refusal(404, "not_found", "No record has this reference."),
    );
    for (const path of ["payments", "disbursements/DSB1/more"])
      expect(await send(service, { path })).toMatchObject(refusal(404, "unknown_path", "No such path."));
    expect(await send(service, { key: "" })).toMatchObject(refusal(401, "unauthorized", "The key is missing."));
    service.loseResponse("y");
    await expect(send(service, { body: { ...request, reference: "y" } })).rejects.toMatchObject({
      name: "TypeError",
      message: "fetch failed",
      cause: { message: "lost", code: "ECONNRESET" },
    });
  });

  test("selects records by reference and status, page by page", async () => {
    const { service, disbursements } = connect();
    for (const reference of ["a", "b", "c", "d"]) await disbursements.create({ ...request, reference });
    await service.settle("b", "success");
    const list = async (query: string) => {
      const { body } = await send(service, { path: `disbursements?${query}` });
      const { items, nextCursor } = (body as { data: { items: { merchantsReference: string }[]; nextCursor?: string } })
        .data;
      return [items.map(({ merchantsReference }) => merchantsReference).join(""), nextCursor];
    };
    expect(await list("")).toEqual(["dcba", undefined]);
    expect(await list("status=pending")).toEqual(["dca", undefined]);
    expect(await list("status=pending&merchantsReference=b")).toEqual(["", undefined]);
    expect(await list("limit=2")).toEqual(["dc", "2"]);
    expect(await list("limit=2&cursor=2")).toEqual(["ba", undefined]);
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
    const paid = await service.settle("order-1", "success");
    expect(JSON.parse(paid.body)).toMatchObject({ event: "checkout.completed" });
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
    service.delay = 1;
    expect(await disbursements.resume(request).result()).toMatchObject({ outcome: "existed" });
    expect((await client.raw.GET("/sandbox/events")).response.status).toBe(404);
    expect((await service.fetch("https://fake.example/v1/disbursements")).status).toBe(401);
  });
});
