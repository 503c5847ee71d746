import { afterAll, beforeAll, describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { FORCED_OUTCOMES } from "../domain/outcomes.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";

const number = (ending: string) => `2257038102${ending}`;
const DAY = 24 * 3_600_000;
/** The numbers that fail, with the code that says why (D75). */
const FAILURES = {
  "002": "rejected",
  "089": "declined",
  "601": "wallet_not_found",
  "602": "wallet_blocked",
  "603": "wallet_limit_reached",
  "604": "amount_not_allowed",
  "605": "customer_declined",
  "606": "payer_insufficient_funds",
  "607": "rejected",
  "608": "not_approved",
  "609": "other",
};

describe("in the sandbox (D17)", () => {
  let server: TestServer;
  let receiver: Receiver;
  beforeAll(async () => {
    server = await startServer();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await server.close();
    await receiver.close();
  });
  const statusOf = async (reference: string) =>
    (await server.request("GET", `/v1/disbursements/${reference}`)).body.data.status;
  /** The events that the receiver has received for a payout. */
  const eventsOf = (reference: string) =>
    receiver.received.filter(({ body }) => body.data.reference === reference).map(({ body }) => body.event);

  test("every forced outcome is tested below", () => {
    expect(Object.keys(FORCED_OUTCOMES).toSorted()).toEqual(
      ["001", "129", "408", "500", "503", "504", ...Object.keys(FAILURES)].toSorted(),
    );
  });

  test.each([
    ["001", "success", "success", "disbursement.completed"],
    ["002", "failed", "failed", "disbursement.failed"],
    ["089", "pending", "failed", "disbursement.failed"],
    ["473", "pending", "success", "disbursement.completed"],
    ["000", "pending", "success", "disbursement.completed"],
  ])("%s: %s first, %s after the settle delay, with one webhook", async (ending, first, last, event) => {
    const phoneNumber = number(ending);
    const { status, reference } = (await server.createPayout({ phoneNumber, webhookURL: receiver.url })).body.data;
    expect([status, await statusOf(reference)]).toEqual([first, first]);
    await server.pass(1_999);
    expect([await statusOf(reference), eventsOf(reference)]).toEqual([first, first === "pending" ? [] : [event]]);
    await server.pass(1);
    expect([await statusOf(reference), eventsOf(reference)]).toEqual([last, [event]]);
    await server.pass(DAY);
    expect([await statusOf(reference), eventsOf(reference)]).toEqual([last, [event]]);
  });

  test("each code of a failure has a number", () => {
    expect([...new Set(Object.values(FAILURES))].toSorted()).toEqual(
      document.components.schemas.FailureCode.enum.toSorted(),
    );
  });

  test.each(Object.entries(FAILURES))("%s: fails with %s, in verify, list and webhook", async (ending, code) => {
    const payout = { phoneNumber: number(ending), webhookURL: receiver.url };
    const { reference, merchantsReference, status } = (await server.createPayout(payout)).body.data;
    const read = async () => (await server.request("GET", `/v1/disbursements/${reference}`)).body.data;
    expect((await read()).failure?.code).toBe(status === "failed" ? code : undefined);
    await server.pass(2_000);
    const record = await read();
    expect(record).toMatchObject({
      status: "failed",
      failure: { code, message: expect.stringMatching(/^[A-Z].+\.$/) },
    });
    const { items } = (await server.request("GET", `/v1/disbursements?merchantsReference=${merchantsReference}`)).body
      .data;
    expect(items).toEqual([record]);
    const { body } = receiver.received.find((each) => each.body.data.reference === reference)!;
    expect(body).toEqual({ event: "disbursement.failed", data: record });
  });

  test("129: stays pending", async () => {
    const { reference } = (await server.createPayout({ phoneNumber: number("129"), webhookURL: receiver.url })).body
      .data;
    await server.pass(365 * DAY);
    expect([await statusOf(reference), eventsOf(reference)]).toEqual(["pending", []]);
  });

  test("500: fails every time and records nothing", async () => {
    const payout = aPayout({ phoneNumber: number("500") });
    for (let attempt = 0; attempt < 4; attempt += 1) expect((await server.createPayout(payout)).status).toBe(500);
    expect((await server.createPayout({ ...payout, phoneNumber: number("473") })).status).toBe(200);
  });

  test("503: refuses the first two attempts with a reference, then accepts it", async () => {
    const payout = aPayout({ phoneNumber: number("503") });
    for (const other of [payout, payout, aPayout({ phoneNumber: number("503") })]) {
      const { status, headers } = await server.createPayout(other);
      expect([status, headers["retry-after"]]).toEqual([503, "1"]);
    }
    const third = await server.createPayout(payout);
    expect([third.status, third.body.data.status]).toEqual([200, "pending"]);
    await server.pass(2_000);
    expect(await statusOf(third.body.data.reference)).toBe("success");
    expect((await server.createPayout(payout)).status).toBe(409);
  });

  test("503: a request refused for another reason does not count as an attempt", async () => {
    const payout = aPayout({ phoneNumber: number("503") });
    for (const country of ["ci", "1", ""]) expect((await server.createPayout({ ...payout, country })).status).toBe(422);
    expect((await server.createPayout(payout)).status).toBe(503);
  });

  test("504: records the payout and closes the connection without a response", async () => {
    const payout = aPayout({ phoneNumber: number("504") });
    await expect(server.createPayout(payout)).rejects.toThrow("socket hang up");
    const again = await server.createPayout(payout);
    expect(again.status).toBe(409);
    await server.pass(2_000);
    expect((await server.request("GET", again.headers.location!)).body.data.status).toBe("success");
  });

  test("408: records the payout immediately and responds after 30 s of real time", async () => {
    const payout = aPayout({ phoneNumber: number("408") });
    let responded = false;
    const response = server.createPayout(payout).finally(() => (responded = true));
    let again = await server.createPayout({ ...payout, amount: 0 });
    while (again.status !== 409)
      again = await server.createPayout({ ...payout, country: "ZZ", phoneNumber: number("500") });

    await server.request("POST", "/sandbox/clock/advance", { body: { seconds: 3_600 } });
    server.clock.advance(29_999);
    expect(await statusOf(again.headers.location!.split("/").at(-1)!)).toBe("success");
    expect(responded).toBe(false);
    server.clock.advance(1);
    expect((await response).body.data).toMatchObject({ merchantsReference: payout.reference, status: "pending" });
  });
});

test("a settle delay of zero is valid", async () => {
  const server = await startServer({ env: { SETTLE_DELAY_MS: "0" } });
  const { status, reference } = (await server.createPayout()).body.data;
  expect(status).toBe("pending");
  await server.pass(0);
  expect((await server.request("GET", `/v1/disbursements/${reference}`)).body.data.status).toBe("success");
  await server.close();
});

test("outside the sandbox no outcome is forced: every payout succeeds", async () => {
  const server = await startServer({ env: { SANDBOX: "false" } });
  for (const ending of Object.keys(FORCED_OUTCOMES)) {
    const { status, body } = await server.createPayout({ phoneNumber: number(ending) });
    expect.soft([status, body.data.status], ending).toEqual([200, "pending"]);
  }
  await server.pass(2_000);
  const { items: settled } = await server.storage.listEvents({ merchantId: server.merchant.id, limit: 100 });
  expect(settled.map(({ type }) => type)).toEqual(Object.keys(FORCED_OUTCOMES).map(() => "disbursement.completed"));
  await server.close();
});
