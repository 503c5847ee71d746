// What the conformance suite does not show of forced outcomes (D17).
import { expect, test } from "vitest";
import { FORCED_OUTCOMES } from "../domain/outcomes.ts";
import { aPayout, startServer } from "../testing/server.ts";

const number = (ending: string) => `2257038102${ending}`;

test("503: a request refused for another reason does not count as an attempt; a settle delay of zero is valid", async () => {
  const server = await startServer({ env: { SETTLE_DELAY_MS: "0" } });
  const payout = aPayout({ phoneNumber: number("503") });
  for (const country of ["ci", "1", ""]) expect((await server.createPayout({ ...payout, country })).status).toBe(422);
  for (const status of [503, 503, 200]) expect((await server.createPayout(payout)).status).toBe(status);
  await server.pass(0);
  expect((await server.request("GET", "/v1/disbursements")).body.data.items).toMatchObject([{ status: "success" }]);
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

test("408: the payout is recorded at once, and the response comes after 30 s of real time", async () => {
  const server = await startServer();
  const payout = aPayout({ phoneNumber: number("408") });
  let responded = false;
  const response = server.createPayout(payout).finally(() => (responded = true));
  let again = await server.createPayout({ ...payout, amount: 0 });
  while (again.status !== 409) again = await server.createPayout({ ...payout, phoneNumber: number("500") });
  await server.request("POST", "/sandbox/clock/advance", { body: { seconds: 3_600 } });
  server.clock.advance(29_999);
  expect((await server.request("GET", again.headers.location!)).body.data.status).toBe("success");
  expect(responded).toBe(false);
  server.clock.advance(1);
  expect((await response).body.data).toMatchObject({ merchantsReference: payout.reference, status: "pending" });
  await server.close();
});
