import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { done, not, openDashboard, says } from "../../testing/dashboard.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const { server, receiver, close } = await openDashboard();
afterAll(close);

let visitor: Visitor;
let merchantId: string;
let area: string;
beforeEach(async () => {
  merchantId = (await server.addMerchant("Sandbox")).merchant.id;
  area = `/m/${merchantId}`;
  visitor = await signedIn(server, { merchantId, name: "Esi" });
});

const submit = (form: string, fields: Record<string, string> = {}) => visitor.post(`${area}/sandbox/${form}`, fields);
const pay = (phoneNumber = "2257038102473") => submit("disbursements", { phoneNumber, amount: "10000" });
const advance = (by: number) => submit("advance", { to: new Date(server.clock.now() + by).toISOString() });
const page = () => visitor.get(`${area}/sandbox`);
const asked = (query: string) => visitor.get(`${area}/sandbox/advance${query}`);

test.each([
  ["+225 07 00 00 00 01", 303, "success"],
  ["2250700000002", 303, "failed"],
  ["2250700000504", 303, "pending"],
  ["2250700000500", 500, ""],
  ["2250700000503", 503, ""],
])("creates a disbursement with the outcome that the number forces: %s %i %s", async (number, status, outcome) => {
  const { to } = await says(pay(number), status);
  if (to) await says(visitor.get(to), 200, `badge ${outcome}`);
});

test("creates a checkout, whose page for the payer it links", async () => {
  const payment = await says(visitor.get(await done(submit("checkouts", { amount: "2500000" }))), 200, "25,000.00");
  expect((await fetch(payment.link("http"))).status).toBe(200);
});

describe("the clock", () => {
  test("moves forward, which settles what falls due, and every page says how far it is ahead", async () => {
    const payment = await done(pay());
    await says(page(), 200, not("+2 days"));
    const to = new Date(server.clock.now() + 2 * DAY).toISOString();
    for (let count = 0; count < 2; count += 1) await done(submit("advance", { to }));
    await says(page(), 200, `datetime="${to}"`);
    await says(visitor.get(payment), 200, "badge success", "+2 days");
  });

  test("moves to the time that was chosen, at most a year ahead", async () => {
    for (const [query, by] of [
      ["", 30 * MINUTE],
      ["?by=10080", 7 * DAY],
    ] as const)
      expect((await asked(query)).hidden("/advance").to).toBe(new Date(server.clock.now() + by).toISOString());
    for (const wrong of ["by=11520", "by=toString"]) await says(asked(`?${wrong}`), 422);
    await done(advance(364 * DAY));
    await says(advance(365 * DAY + 1), 422, "more than 365 days ahead of real time");
  });

  test("moves after a page that says what will happen until the chosen time", async () => {
    receiver.respondWith(500);
    await server.storage.setDefaultWebhook(merchantId, receiver.url, "command ada@host");
    await done(pay("2257038102089"));
    await done(submit("checkouts", { amount: "2500000" }));
    const [payout] = (await server.storage.listDisbursements({ merchantId, limit: 1 })).items;
    const [checkout] = (await server.storage.listCheckouts({ merchantId, limit: 1 })).items;
    const fails = `Disbursement ${payout!.merchantsReference}: failed`;
    const expires = `Checkout ${checkout!.merchantsReference}: cancelled`;
    await says(asked("?by=1"), 200, fails, not(expires));
    for (const list of ["checkouts", `checkouts/${checkout!.reference}`])
      await says(visitor.get(`${area}/${list}`), 200, "badge pending");
    const before = await says(asked("?by=120"), 200, fails, expires);
    await done(submit("advance", before.hidden("/advance")));
    await says(asked("?by=10080"), 200, "webhook checkout.cancelled of");
    for (const list of ["checkouts", `checkouts/${checkout!.reference}`])
      await says(visitor.get(`${area}/${list}`), 200, "badge cancelled");
  });
});

test("every page says that chaos is on, which does not act there", async () => {
  const chaos = { latencyMs: 50, failedRequestsPercent: 100, lostResponsesPercent: 0, lostWebhooksPercent: 0 };
  await server.storage.setChaos(merchantId, chaos, "command ada@host");
  for (const name of ["disbursements", "settings"]) await says(visitor.get(`${area}/${name}`), 200, "Chaos is on.");
  await done(pay());
});

test("a reset deletes the merchant's records", async () => {
  await done(pay());
  await done(submit("reset"));
  await says(visitor.get(`${area}/disbursements`), 200, "There is nothing here.");
});
