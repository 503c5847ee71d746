import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FORCED_OUTCOMES } from "../../domain/outcomes.ts";
import { signedIn, type Visitor } from "../../testing/dashboard.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let visitor: Visitor;
let area: string;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  const { merchant } = await server.addMerchant("Sandbox");
  area = `/m/${merchant.id}`;
  visitor = await signedIn(server, { merchantId: merchant.id, name: "Kofi" });
});

const create = (phoneNumber: string, amount = "10000") =>
  visitor.post(`${area}/sandbox/disbursements`, { phoneNumber, amount });
const lastAction = async () =>
  (await server.storage.listAudit({ merchantId: area.slice("/m/".length), limit: 1 })).items[0];
/** The page that a response leads to. */
const follow = (headers: Headers) => visitor.get(headers.get("location")!.replace("/dashboard", ""));

test("creates a disbursement with the outcome that the number forces, also one without a response", async () => {
  for (const [number, status] of [
    ["+225 07 00 00 00 01", "success"],
    ["2250700000002", "failed"],
    ["2250700000504", "pending"],
  ]) {
    const { status: sent, headers } = await create(number!);
    expect(sent).toBe(303);
    expect((await follow(headers)).html).toContain(`<span class="badge ${status}">${status}</span>`);
    expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "sandbox.create" });
  }
  expect((await create("2250700000500")).status).toBe(500);
  expect((await create("2250700000503")).status).toBe(503);
});

test("creates a checkout", async () => {
  const { headers } = await visitor.post(`${area}/sandbox/checkouts`, { amount: "2500000" });
  const { html } = await follow(headers);
  expect(html).toContain("25,000.00");
  const [, payers] = /href="([^"]+\/checkouts\/CHK\w+)">Open it/.exec(html)!;
  expect((await fetch(payers!)).status).toBe(200);
});

test.each(["0", "-1", "1.5", "", "x", "9007199254740992"])("refuses the amount %j", async (amount) => {
  expect((await create("2257038102473", amount)).status).toBe(422);
  expect((await visitor.post(`${area}/sandbox/checkouts`, { amount })).status).toBe(422);
});

test.each(["07", "", "2250700000408"])("refuses the number %j", async (number) => {
  expect((await create(number)).status).toBe(422);
});

test("shows every outcome beside the form", async () => {
  const { html } = await visitor.get(`${area}/sandbox`);
  for (const digits of Object.keys(FORCED_OUTCOMES)) expect(html).toContain(`<code>${digits}</code>`);
});

test("moves the clock forward, which settles what falls due", async () => {
  const { headers } = await create("2257038102473");
  expect((await visitor.post(`${area}/sandbox/advance`, { amount: "2", unit: "days" })).status).toBe(303);
  expect((await follow(headers)).html).toContain('<span class="badge success">');
  const moved = new Date(server.clock.now() + 2 * 86_400_000).toISOString();
  expect((await visitor.get(`${area}/sandbox`)).html).toContain(`<time datetime="${moved}">`);
  expect(await lastAction()).toMatchObject({ action: "sandbox.advance", details: { by: "2 days" } });
  for (const fields of [{ amount: "0", unit: "days" }, { amount: "1", unit: "toString" }, {}]) {
    expect((await visitor.post(`${area}/sandbox/advance`, fields as Record<string, string>)).status).toBe(422);
  }
});

test("resets the merchant", async () => {
  await create("2257038102473");
  expect((await visitor.post(`${area}/sandbox/reset`)).status).toBe(303);
  expect((await visitor.get(`${area}/disbursements`)).html).toContain("No disbursements yet");
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "sandbox.reset" });
});

test("does not exist in live operation", async () => {
  const live = await startServer({ env: { SANDBOX: "false" }, seed: 2 });
  const operator = await signedIn(live);
  const place = `/m/${live.merchant.id}`;
  expect((await operator.get(`${place}/sandbox`)).status).toBe(404);
  expect((await operator.post(`${place}/sandbox/reset`)).status).toBe(404);
  expect((await operator.get(`${place}/settings`)).html).not.toContain("/sandbox");
  await live.close();
});
