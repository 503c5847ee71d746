import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FORCED_OUTCOMES } from "../../domain/outcomes.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

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
    expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "sandbox.create" });
  }
  expect((await create("2250700000500")).status).toBe(500);
  expect((await create("2250700000503")).status).toBe(503);
});

test("every page says how far the sandbox's time is ahead", async () => {
  const ahead = async () => /class="ahead"[^>]*>([^<]*)</.exec((await visitor.get(`${area}/disbursements`)).html)?.[1];
  expect(await ahead()).toBeUndefined();
  const to = new Date(server.clock.now() + 6 * DAY + MINUTE).toISOString();
  await visitor.post(`${area}/sandbox/advance`, { to });
  expect(await ahead()).toBe("+6 days");
});

test("no page says that a payment which has ended is not paid yet", async () => {
  await visitor.post(`${area}/sandbox/checkouts`, { amount: "2500000" });
  const [, payment] = /href="\/dashboard([^"]+\/checkouts\/CHK\w+)"/.exec(
    (await visitor.get(`${area}/checkouts`)).html,
  )!;
  for (const page of [`${area}/checkouts`, payment!]) expect((await visitor.get(page)).html).toContain("not paid yet");
  const to = new Date(server.clock.now() + 2 * DAY).toISOString();
  await visitor.post(`${area}/sandbox/advance`, { to });
  for (const page of [`${area}/checkouts`, payment!]) {
    const { html } = await visitor.get(page);
    expect(html).toContain('badge cancelled">cancelled');
    expect(html).not.toMatch(/not paid yet/i);
  }
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
  expect(html).toContain("fails after 2 s: wallet_not_found");
});

test("moves the clock forward, which settles what falls due", async () => {
  const { headers } = await create("2257038102473");
  const to = new Date(server.clock.now() + 2 * DAY).toISOString();
  const moved = await visitor.post(`${area}/sandbox/advance`, { to });
  expect(moved.html).toContain("The clock has moved");
  expect(moved.html).toContain(`<time datetime="${to}">`);
  expect((await follow(headers)).html).toContain('<span class="badge success">');
  expect(await lastAction()).toMatchObject({ action: "sandbox.advance", details: { to } });

  const again = await visitor.post(`${area}/sandbox/advance`, { to });
  expect(again.html).toContain(`<time datetime="${to}">`);
  expect(again.html).toContain("Nothing was due.");
  for (const fields of [{}, { to: "tomorrow" }, { to: "2026-13-01T00:00:00Z" }, { to: "9999-12-31T23:59:59Z" }]) {
    expect((await visitor.post(`${area}/sandbox/advance`, fields as Record<string, string>)).status).toBe(422);
  }
});

test("moves the clock at most a year ahead of real time, in several moves too", async () => {
  const latest = server.clock.now() + 365 * DAY;
  const move = (to: number) => visitor.post(`${area}/sandbox/advance`, { to: new Date(to).toISOString() });
  expect((await move(latest - DAY)).status).toBe(200);
  const refused = await move(latest + 1);
  expect(refused.status).toBe(422);
  expect(refused.html).toContain("more than 365 days ahead of real time");
  expect((await move(latest)).status).toBe(200);
  expect((await visitor.get(`${area}/sandbox`)).status).toBe(200);
});

const until = async (query: string) =>
  /name="to" value="([^"]+)"/.exec((await visitor.get(`${area}/sandbox${query}`)).html)?.[1];

test.each([
  ["", 30 * MINUTE],
  ["?stop=0", MINUTE],
  ["?stop=7", 7 * DAY],
])("the form %j moves the clock by %i ms", async (query, by) => {
  expect(await until(query)).toBe(new Date(server.clock.now() + by).toISOString());
});

test.each(["?stop=8", "?stop=1.5", "?stop=toString"])("refuses the form %j", async (query) => {
  expect((await visitor.get(`${area}/sandbox${query}`)).status).toBe(422);
});

test("shows what will happen until the chosen time, and afterwards what happened", async () => {
  const receiver = await startReceiver(500);
  const merchantId = area.slice("/m/".length);
  await server.storage.setDefaultWebhook(merchantId, receiver.url, "command ada@host");
  await create("2257038102089");
  await visitor.post(`${area}/sandbox/checkouts`, { amount: "2500000" });
  const [disbursement] = (await server.storage.listDisbursements({ merchantId, limit: 1 })).items;
  const [checkout] = (await server.storage.listCheckouts({ merchantId, limit: 1 })).items;

  const minute = (await visitor.get(`${area}/sandbox?stop=0`)).html;
  expect(minute).toContain(`Disbursement ${disbursement!.merchantsReference} fails`);
  expect(minute).not.toContain(checkout!.merchantsReference);
  const { html: before } = await visitor.get(`${area}/sandbox?stop=3`);
  expect(before).toContain(`Checkout ${checkout!.merchantsReference} expires`);
  expect(before).toContain(`/checkouts/${checkout!.reference}`);

  const { html } = await visitor.post(`${area}/sandbox/advance`, { to: (await until("?stop=3"))! });
  expect(html).toContain("Event disbursement.failed");
  expect(html).toContain("Event checkout.cancelled");
  expect(html).toContain("Webhook disbursement.failed, attempt 1: status 500");
  expect(html).toContain("Webhook disbursement.failed, attempt 4: status 500");
  const [delivery] = (await server.storage.listDeliveries({ merchantId, limit: 1 })).items;
  expect(html).toContain(`/webhooks/${delivery!.id}`);
  expect((await visitor.get(`${area}/sandbox?stop=7`)).html).toContain("Webhook checkout.cancelled is sent again");
  await receiver.close();
});

test("a long list says how much more there is", async () => {
  for (let index = 0; index < 51; index += 1) await create("2257038102473");
  expect((await visitor.get(`${area}/sandbox`)).html).toContain("… and 1 more.");
});

test("sets the chaos switch, and every page of the merchant says that it is on", async () => {
  const settings = {
    latencyMs: "50",
    failedRequestsPercent: "10",
    lostResponsesPercent: "",
    lostWebhooksPercent: "100",
  };
  expect((await visitor.post(`${area}/sandbox/chaos`, settings)).status).toBe(303);
  const text = "Each request waits 50 ms, 10 % of requests get 500, 100 % of webhooks are lost.";
  for (const page of ["disbursements", "checkouts", "webhooks", "sandbox", "settings", "audit"]) {
    expect((await visitor.get(`${area}/${page}`)).html).toContain(text);
  }
  expect((await visitor.get(`${area}/sandbox`)).html).toContain(
    'name="latencyMs" type="number" min="0" max="10000" value="50"',
  );
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "sandbox.chaos" });
  // The chaos switch does not affect the dashboard itself.
  expect((await create("2257038102473")).status).toBe(303);

  expect((await visitor.post(`${area}/sandbox/chaos`)).status).toBe(303);
  expect((await visitor.get(`${area}/settings`)).html).not.toContain("Chaos is on");
});

test.each<Record<string, string>>([
  { latencyMs: "10001" },
  { lostWebhooksPercent: "101" },
  { lostResponsesPercent: "-1" },
  { latencyMs: "1.5" },
])("refuses the chaos settings %j", async (settings) => {
  const { status, html } = await visitor.post(`${area}/sandbox/chaos`, settings);
  expect(status).toBe(422);
  expect(html).toContain("enter a whole number from 0 to");
});

test("resets the merchant", async () => {
  await create("2257038102473");
  expect((await visitor.post(`${area}/sandbox/reset`)).status).toBe(303);
  expect((await visitor.get(`${area}/disbursements`)).html).toContain("No disbursements yet");
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "sandbox.reset" });
});

test("does not exist in live operation", async () => {
  const live = await startServer({ env: { SANDBOX: "false" }, seed: 2 });
  const operator = await signedIn(live);
  const place = `/m/${live.merchant.id}`;
  expect((await operator.get(`${place}/sandbox`)).status).toBe(404);
  expect((await operator.post(`${place}/sandbox/reset`)).status).toBe(404);
  expect((await operator.post(`${place}/sandbox/chaos`)).status).toBe(404);
  expect((await operator.get(`${place}/settings`)).html).not.toContain("/sandbox");
  await live.close();
});
