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
const pay = (phoneNumber: string) => submit("disbursements", { phoneNumber, amount: "10000" });
const later = (by: number) => new Date(server.clock.now() + by).toISOString();
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

test("the chaos switch does not act on the dashboard", async () => {
  await done(submit("chaos", { latencyMs: "50", failedRequestsPercent: "100" }));
  for (const name of ["disbursements", "settings"]) await says(visitor.get(`${area}/${name}`), 200, "Chaos is on.");
  await done(pay("2257038102473"));
});

describe("the clock", () => {
  test("moves to the time that was chosen, however often the form is sent, at most a year ahead", async () => {
    const payment = await done(pay("2257038102473"));
    for (const [query, by] of [
      ["", 30 * MINUTE],
      ["?by=7+days", 7 * DAY],
    ] as const)
      expect((await asked(query)).hidden("/advance").to).toBe(later(by));
    for (const wrong of ["by=8+days", "by=toString"]) await says(asked(`?${wrong}`), 422);
    const to = later(2 * DAY);
    for (let count = 0; count < 2; count += 1) await done(submit("advance", { to }));
    await says(visitor.get(`${area}/sandbox`), 200, `datetime="${to}"`);
    await says(visitor.get(payment), 200, "badge success", "+2 days");
    await done(submit("advance", { to: later(364 * DAY) }));
    await says(submit("advance", { to: later(365 * DAY + 1) }), 422, "more than 365 days ahead of real time");
  });

  test("moves after a page that says what will happen until the chosen time", async () => {
    receiver.respondWith(500);
    await server.storage.setDefaultWebhook(merchantId, receiver.url, "command ada@host");
    await done(pay("2257038102089"));
    const [payout] = (await server.storage.listDisbursements({ merchantId, limit: 1 })).items;
    const page = await done(submit("checkouts", { amount: "2500000" }));
    const [checkout] = (await server.storage.listCheckouts({ merchantId, limit: 1 })).items;
    const fails = `Disbursement ${payout!.merchantsReference}: failed`;
    const expires = `Checkout ${checkout!.merchantsReference}: cancelled`;
    await says(asked("?by=1+minutes"), 200, fails, not(expires));
    await says(visitor.get(page), 200, "badge pending");
    const before = await says(asked("?by=2+hours"), 200, fails, expires);
    await done(submit("advance", before.hidden("/advance")));
    await says(asked("?by=7+days"), 200, "webhook checkout.cancelled of");
    await says(visitor.get(page), 200, "badge cancelled");
  });
});
