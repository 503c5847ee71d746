// What operators and a merchant's people set up, and the audit trail in which it can be read.
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ServiceError } from "../../domain/errors.ts";
import { NO_CHAOS } from "../../domain/outcomes.ts";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";

const { server, id, area, ada, kofi, close } = await openDashboard();
const { storage } = server;
const path = `${area}/settings`;
afterAll(close);

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const statusWith = async (key: string) => (await server.request("GET", "/sandbox/clock", { key })).status;
const newKey = (name: string) => kofi.post(`${path}/keys`, { name });
const keyIn = ({ text }: { text: string }) => /test_\w{32}/.exec(text)![0];

describe("an API key", () => {
  test("is shown once, works, and is refused after it is revoked", async () => {
    const key = keyIn(await says(newKey(" Payroll & Söhne "), 200, "It is shown only now."));
    expect(await statusWith(key)).toBe(200);
    const { id: keyId } = (await storage.listKeysOf(id)).find(({ name }) => name === "Payroll & Söhne")!;
    await says(kofi.get(path), 200, "Payroll & Söhne", keyId, not(key));
    await done(kofi.post(`${path}/keys/revoke`, { key: keyId }));
    expect([await statusWith(key), await statusWith(server.key)]).toEqual([401, 200]);
    await says(kofi.get(path), 200, "revoked");
    for (const action of ["revoke", "limits"]) await says(kofi.post(`${path}/keys/${action}`, { key: "unknown" }), 404);
    const history = /Revoke the API key “Payroll & Söhne”.* Kofi.*Create an API key “Payroll & Söhne”/;
    await says(kofi.get(`${area}/audit`), 200, history, not(keyId));
  });

  test("is shown even if its page fails, with what was recorded", async () => {
    const { readSecrets } = storage;
    storage.readSecrets = () => Promise.reject(new ServiceError("unavailable", "The server is overloaded."));
    const page = await newKey("Lost page");
    storage.readSecrets = readSecrets;
    expect([page.status, await statusWith(keyIn(page))]).toEqual([500, 200]);
    expect(page.text).toContain("Recorded before this error: what you asked for");
    expect(page.link("See what")).toBe(`${area}/audit`);
  });
});

test("the secret is on the page only after Reveal or Rotate; the default address for webhooks is removed", async () => {
  const { current } = await storage.readSecrets(id);
  await says(kofi.get(path), 200, not("whsec_"));
  await says(kofi.post(`${path}/secret/reveal`), 200, current);
  const rotated = kofi.post(`${path}/secret/rotate`);
  await says(rotated, 200, current, (await storage.readSecrets(id)).current, /whsec_.+whsec_/);
  await says(kofi.get(path), 200, not("whsec_"));
  await done(kofi.post(`${path}/default-webhook`, { url: "https://shop.example/hooks" }));
  await done(kofi.post(`${path}/default-webhook`, { url: "" }));
  expect((await storage.findMerchant(id))!.webhookUrl).toBeUndefined();
});

test("a suspended merchant's people see that, and create nothing; one who is closed is not opened again", async () => {
  const { merchant } = await server.addMerchant("Shop");
  const own = `/m/${merchant.id}`;
  const at = `${own}/settings`;
  const member = await signedIn(server, { merchantId: merchant.id, name: "Esi" });
  await done(ada.post(`${at}/suspend`));
  const before = await trail(server);
  await says(ada.get(""), 200, /Shop.* suspended/);
  await says(member.get(`${own}/disbursements`), 200, "This merchant is suspended.");
  for (const kind of ["disbursements", "checkouts"])
    await says(member.post(`${own}/sandbox/${kind}`, { phoneNumber: "2257038102473", amount: "10000" }), 403);
  expect(await trail(server)).toEqual(before);
  await done(ada.post(`${at}/close`));
  expect((await member.get(`${own}/disbursements`)).to).toBe("/sign-in");
  await says(ada.get(`${own}/disbursements`), 200);
  await says(ada.post(`${at}/reopen`), 409);
  await says(ada.get(`${own}/team`), 200, not("Let a colleague in"));
  await says(ada.get(`${own}/sandbox`), 200, not("Create a test"));
  await says(ada.get(at), 200, not(/(Suspend|Reopen|Close|limits of) the merchant|Create an API/));
});

test("an operator finds merchants by name, and payments of all merchants by reference or phone number", async () => {
  const [one, two] = [await server.addMerchant("Zoe Fruits"), await server.addMerchant("Yao Fruits")];
  const phoneNumber = "2250799887766";
  const payout = (await server.createPayout({ reference: "salary & 7", phoneNumber }, one)).body.data.reference;
  const checkout = (await server.createCheckout({ reference: "salary & 7" }, two)).body.data.reference;
  for (const [search, found] of [
    ["fruits", /^Yao Fruits.*\nZoe Fruits[^\n]*$/],
    [one.merchant.id, /^Zoe Fruits[^\n]*$/],
    ["salary & 7", /Disbursement · Zoe Fruits[^]*Checkout · Yao Fruits/],
    [payout, /salary & 7/],
    [checkout, /salary & 7/],
    [`+${phoneNumber}`, /^[^\n]*Zoe Fruits[^\n]*$/],
    ["salary", /^$/],
  ] as const)
    expect((await ada.get(`?${new URLSearchParams({ search })}`)).rows.join("\n"), `${search}`).toMatch(found);
});

test("the audit trail is in French for a browser that prefers it, also its details, and has amounts with sign and currency", async () => {
  const { merchant } = await server.addMerchant("Kofi & Sons");
  const change = { id: "bank-118", currency: "XOF", amount: -1_000_000, reason: "Bank" };
  await storage.adjustBalance(merchant.id, change, "dashboard Ada", true);
  const filter = { createdAfter: Date.parse("2026-11-02T09:30:00Z") };
  await storage.replayAll({ merchantId: merchant.id, filter, pace: 20 }, "dashboard Esi");
  const at = `/m/${merchant.id}/audit`;
  await says(ada.get(at), 200, "reference: bank-118 · amount: -XOF 10,000.00 · reason: Bank");
  const details = "créés depuis : 2026-11-02 09:30:00 UTC · rythme : 20 par seconde";
  await says(ada.get(at, { "accept-language": "fr" }), 200, "Lancer un renvoi de webhooks", details);
  const { rows } = await says(ada.get("/audit"), 200, `href="/dashboard${at}"`, /Sign in .*Ada, operator/);
  expect(rows[0]!.join()).toMatch(/Kofi & Sons.*Esi/);
});

describe("in a sandbox", () => {
  let visitor: Visitor;
  let merchantId: string;
  let own: string;
  beforeEach(async () => {
    merchantId = (await server.addMerchant("Sandbox")).merchant.id;
    own = `/m/${merchantId}`;
    visitor = await signedIn(server, { merchantId, name: "Esi" });
  });

  const submit = (form: string, fields: Record<string, string> = {}) => visitor.post(`${own}/sandbox/${form}`, fields);
  const pay = (phoneNumber: string) => submit("disbursements", { phoneNumber, amount: "10000" });
  const later = (by: number) => new Date(server.clock.now() + by).toISOString();
  const asked = (query: string) => visitor.get(`${own}/sandbox/advance${query}`);

  test.each([
    ["+225 07 00 00 00 01", 303, "success"],
    ["2250700000002", 303, "failed"],
    ["2250700000504", 422, ""],
    ["2250700000500", 500, ""],
    ["2250700000503", 503, ""],
  ])("creates a disbursement with the outcome that the number forces: %s %i %s", async (number, status, outcome) => {
    const { to } = await says(pay(number), status);
    if (to) await says(visitor.get(to), 200, `badge ${outcome}`);
  });

  test("chaos does not act on the dashboard", async () => {
    const chaos = { ...NO_CHAOS, latencyMs: 50, failedRequestsPercent: 100 };
    await storage.setChaos(merchantId, chaos, "command ada@host");
    for (const name of ["disbursements", "settings"]) await says(visitor.get(`${own}/${name}`), 200, "Chaos is on.");
    await done(pay("2257038102473"));
  });

  test("the clock moves to the time that was chosen, however often the form is sent, at most a year ahead", async () => {
    const payment = await done(pay("2257038102473"));
    for (const [query, by] of [
      ["", 30 * MINUTE],
      ["?by=10080", 7 * DAY],
    ] as const)
      expect((await says(asked(query), 200, "Move the clock to")).hidden("/advance").to).toBe(later(by));
    for (const wrong of ["by=11520", "by=toString"]) await says(asked(`?${wrong}`), 422);
    const to = later(2 * DAY);
    for (let count = 0; count < 2; count += 1) await done(submit("advance", { to }));
    await says(visitor.get(`${own}/sandbox`), 200, `datetime="${to}"`);
    await says(visitor.get(payment), 200, "badge success", "+2 days");
    await done(submit("advance", { to: later(364 * DAY) }));
    await says(submit("advance", { to: later(365 * DAY + 1) }), 422, "more than 365 days ahead of real time");
  });
});
