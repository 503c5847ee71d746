import { afterAll, describe, expect, test, vi } from "vitest";
import { CHECKOUT_LIFETIME_MS } from "../../domain/payments.ts";
import { ServiceError } from "../../domain/errors.ts";
import { FORCED_OUTCOMES } from "../../domain/outcomes.ts";
import { UnknownOutcome } from "../../storage/storage-error.ts";
import { createTestRail, railsOf } from "../../testing/rail.ts";
import { MERCHANT, openShop } from "../../testing/shop.ts";
import { PARAMETERS } from "../../testing/dashboard.ts";
import { textIn, type TextId } from "../../texts/index.ts";

const shop = await openShop();
afterAll(() => shop.close());

const LOCALES = ["en", "fr"] as const;
const SLOW = "2257038102473";
const STAYS_PENDING = "2250000000129";
const KENYA = { country: "KE", currency: "KES" };
const ALONE = { redirectURL: undefined };
const [TEXT, ESCAPED] = ["</dd><script>\"&'", "&lt;/dd&gt;&lt;script&gt;&quot;&amp;&#39;"];

/** A response, with its page. */
async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: "manual", ...init });
  const { status, headers } = response;
  const location = headers.get("location");
  const leadsTo = location === null ? undefined : new URL(location, url);
  return { status, headers, text: await response.text(), refresh: headers.get("refresh"), leadsTo };
}
type Response = ReturnType<typeof ask>;
const get = (url: string, headers: Record<string, string> = {}) => ask(url, { headers });
const back = (url: string) => get(`${url}/return`);
/** Submits the form as a browser does. */
const post = (url: string, fields: Record<string, string>) =>
  ask(url, { method: "POST", body: new URLSearchParams(fields) });
const pay = (url: string, phoneNumber = "2250000000001") => post(url, { action: "pay", phoneNumber });
const paySlowly = (url: string) => pay(url, SLOW);
const cancel = (url: string) => post(url, { action: "cancel", phoneNumber: "" });

/** The checkout's state as seen through the record, the events and the redirect. */
async function stateOf({ reference, url }: { reference: string; url: string }) {
  const { status, customer } = await shop.record(reference);
  const events = await shop.events(reference);
  const returned = (await back(url)).leadsTo!.searchParams.get("status");
  return { status, paid: customer !== undefined, events: events.map(({ event }) => event), returned };
}
const isUnpaid = async (reference: string) => expect(await shop.record(reference)).not.toHaveProperty("customer");

const french = { "accept-language": "fr-CI,fr;q=0.9" };
const language = (code: string) => `<html lang="${code}">`;
const form = (fields: string) => ({ method: "POST", body: new URLSearchParams(fields) });
const kept = (typed: string) => [`value="${typed}"`, 'aria-invalid="true" aria-describedby="fault hint"'];
const odd = "That did not work";
const json = { method: "POST", headers: { "content-type": "application/json" }, body: '{"action":"pay"}' };

type Wishes = Parameters<typeof shop.checkout>[0];
test.each<[string, Wishes, (url: string) => Response, number, ...texts: string[]]>([
  ["the form", {}, get, 200, "You have 30 minutes left"],
  ["to a French browser", {}, (url) => get(url, french), 200, language("en")],
  ["for Kenya", KENYA, get, 200, "for example +254 712 000 000. Operators (Kenya): M-Pesa, Airtel Money."],
  ["for an unknown country", { country: "FR", locale: "fr" }, get, 200, "Avec l’indicatif du pays.</p>"],
  ["a merchant's texts", { reference: TEXT }, get, 200, ESCAPED, MERCHANT.replace("&", "&amp;")],
  ["the result", {}, async (url) => (await cancel(url), get(url)), 200, "Back to"],
  ["without a redirectURL", ALONE, async (url) => (await cancel(url), get(url)), 200, "You can close this page."],
  ["the waiting page", {}, async (url) => (await pay(url, STAYS_PENDING), back(url)), 200, "You can close this page"],
  ["the redirect to the shop", {}, async (url) => (await cancel(url), back(url)), 303],
  ["an unknown reference", {}, (url) => get(`${url}X`), 404, language("en")],
  ["an unknown reference, in French", {}, (url) => get(`${url}X`, french), 404, language("fr")],
  ["an invalid escape", {}, (url) => get(`${url}%zz`), 404],
  ["a NUL", {}, (url) => get(`${url}%00`), 404],
  ["no reference", {}, () => get(`${shop.origin}/checkouts`), 404],
  ["an unsupported method", { locale: "fr" }, (url) => ask(url, { method: "PUT" }), 405, language("fr")],
  ["a failure", {}, (url) => pay(url, "2250000000500"), 500],
  ["a refusal", {}, (url) => pay(url, "2250000000503"), 503],
  ["no number", {}, (url) => pay(url, ""), 422, "Enter the number", ...kept("")],
  ["a word", {}, (url) => pay(url, '"><b>'), 422, "digits only", ...kept("&quot;&gt;&lt;b&gt;")],
  ["no calling code", KENYA, (url) => pay(url, "0703"), 422, "country code, for example +254.", ...kept("0703")],
  ["too few digits", {}, (url) => pay(url, "225 07"), 422, "10 to 15 digits", ...kept("225 07")],
  ["JSON", {}, (url) => ask(url, json), 400, odd],
  ["no form", {}, (url) => ask(url, { method: "POST" }), 400, odd],
  ["no action", {}, (url) => ask(url, form("phoneNumber=2250000000001")), 400, odd],
  ["an unknown action", {}, (url) => ask(url, form("action=refund")), 400, odd],
  ["two numbers", {}, (url) => ask(url, form("action=pay&phoneNumber=1&phoneNumber=2250000000001")), 400, odd],
  ["too many bytes", {}, (url) => pay(url, "2".repeat(5_000)), 413, odd],
  ["too many fields", {}, (url) => ask(url, form(`action=pay${"&a=".repeat(20)}`)), 413, odd],
])(
  "the response has a status, texts, no script, and headers that forbid framing, caching and scripts: %s",
  async (_, wishes, open, expected, ...texts) => {
    const { url, reference } = await shop.checkout(wishes);
    const { status, headers, text } = await open(url);
    expect(status).toBe(expected);
    for (const each of texts) expect(text.replaceAll("\u00a0", " ")).toContain(each);
    expect(text).not.toMatch(/<script|javascript:|https?:\/\/(?!127)|\son\w+=|\sstyle=/);
    if (status !== 303) expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = headers.get("content-security-policy")!.split("; ");
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"])
      expect(policy).toContain(part);
    expect(policy.join()).not.toMatch(/unsafe|script|\*/);
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    if (status < 400) return;
    await isUnpaid(reference);
    expect((await pay(url)).status).toBe(200);
  },
);

test("a field that the form does not have changes nothing", async () => {
  const paid = async (fields: Record<string, string>) => {
    const { url, reference } = await shop.checkout();
    const { status, text } = await post(url, { action: "pay", phoneNumber: STAYS_PENDING, ...fields });
    const { id: _id, reference: _own, merchantsReference: _same, ...record } = await shop.record(reference);
    return { status, text: text.replaceAll(reference, ""), record };
  };
  const plain = await paid({});
  const names = PARAMETERS.filter((name) => name !== "phoneNumber");
  // The form may have six fields more.
  for (let at = 0; at < names.length; at += 6)
    expect(await paid(Object.fromEntries(names.slice(at, at + 6).map((name) => [name, "1"])))).toEqual(plain);
});

describe("outcomes (D17)", () => {
  test.each([
    ["2250000000001", "success", "checkout.completed"],
    ["2250000000002", "failed", "checkout.failed"],
    ["2250000000089", "failed", "checkout.failed"],
    [SLOW, "success", "checkout.completed"],
  ])("%s is %s, at once or after a while", async (number, status, event) => {
    const checkout = await shop.checkout();
    // The response must not be a redirect, because the return page could lead to the merchant's site by the time the
    // browser follows it (D10).
    const response = await pay(checkout.url, number);
    expect([response.status, response.refresh]).toEqual([200, `0; url=${checkout.reference}/return`]);
    if (!/00\d$/.test(number)) {
      expect(response.text).toContain(`href="${checkout.reference}/return"`);
      expect((await back(checkout.url)).refresh).toBe("2");
      expect(await shop.record(checkout.reference)).toMatchObject({ status: "pending" });
      await shop.settle();
    }
    expect(await stateOf(checkout)).toEqual({ status, paid: true, events: [event], returned: status });
  });

  test.each(["2250700000473", "2250000000504", "12"])(
    "%s, sent while another number pays, is not used, and the page says so",
    async (typed) => {
      const { url, reference } = await shop.checkout();
      await pay(url, STAYS_PENDING);
      const { text, refresh } = await pay(url, typed);
      expect(text).toContain("The number you entered was not used.");
      expect(text).toContain("The payment is being made with the number ending in 129.");
      expect(text).not.toContain(STAYS_PENDING);
      expect(refresh).toBe(`15; url=${reference}/return`);
      expect(await shop.record(reference)).toMatchObject({ customer: { phoneNumber: STAYS_PENDING } });
      expect((await pay(url, `+225 ${STAYS_PENDING.slice(3)}`)).text).not.toContain("was not used");
    },
  );

  test("503 is refused twice with Retry-After, keeping the number, then succeeds", async () => {
    const { url, reference } = await shop.checkout();
    for (let i = 0; i < 2; i++) {
      const { status, headers, text } = await pay(url, "+225 0000000503");
      expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
      expect(text).toContain('value="+225 0000000503"');
      await isUnpaid(reference);
    }
    expect((await pay(url, "2250000000503")).status).toBe(200);
    await shop.settle();
    expect(await shop.record(reference)).toMatchObject({ status: "success" });
  });

  test("408 records the payment and delays the response by 30 s", async () => {
    const { url, reference } = await shop.checkout();
    const responses = [pay(url, "2250000000408"), pay(url, "2250000000408")];
    // Of two concurrent payments only the winner's response is delayed. The other response shows the payment in
    // progress.
    expect((await Promise.race(responses)).status).toBe(200);
    const recorded = { status: "pending", customer: { phoneNumber: "2250000000408" } };
    expect(await shop.record(reference)).toMatchObject(recorded);
    let responded = false;
    const all = Promise.all(responses).finally(() => (responded = true));
    await shop.pass(29_999);
    expect(responded).toBe(false);
    await shop.pass(1);
    // The payment has settled meanwhile, so the page returns to the shop immediately.
    expect((await all).map(({ refresh }) => refresh)).toContain(`0; url=${reference}/return`);
  });

  test.each(LOCALES)(
    "in %s, outside the sandbox the page leads to the rail's, and mentions no test mode",
    async (locale) => {
      const live = await openShop({ SANDBOX: "false" }, railsOf(createTestRail({ status: "pending" })));
      const { url, reference } = await live.checkout({ locale });
      for (const page of [get(url), back(url), get(`${url}-unknown`, { "accept-language": locale })])
        expect((await page).text).not.toMatch(/test mode|mode test|simul|<form/i);
      for (const ending of Object.keys(FORCED_OUTCOMES))
        expect((await pay(url, `2250000000${ending}`)).leadsTo!.href).toBe(url);
      await live.pass(0);
      expect((await get(url)).leadsTo!.href).toBe(`https://rail.example/pay/${reference}`);
      expect(await live.record(reference)).toMatchObject({ status: "pending" });
      await live.close();
    },
  );
});

describe("one outcome", () => {
  test.each(["success", "failed", "cancelled"] as const)("of a checkout that is %s stays", async (status) => {
    const checkout = await shop.checkout();
    await shop.finish(checkout.reference, status);
    const before = await shop.record(checkout.reference);
    // The number is not validated any more either.
    for (const number of ["2250000000001", "2250000000500", "wrong"])
      expect((await pay(checkout.url, number)).status).toBe(303);
    await cancel(checkout.url);
    expect(await shop.record(checkout.reference)).toEqual(before);
    expect((await stateOf(checkout)).events).toHaveLength(1);
    expect((await get(checkout.url)).text).not.toContain("<form");
  });

  test("of a concurrent payment and cancellation takes effect", async () => {
    for (let i = 0; i < 5; i++) {
      const checkout = await shop.checkout();
      await Promise.all([pay(checkout.url), cancel(checkout.url)]);
      const { status, paid, events } = await stateOf(checkout);
      const one = paid ? ["success", "checkout.completed"] : ["cancelled", "checkout.cancelled"];
      expect([status, ...events]).toEqual(one);
    }
  });

  test("after 30 minutes a payment is refused, even before a worker has expired the checkout", async () => {
    const checkout = await shop.checkout();
    shop.clock.advance(CHECKOUT_LIFETIME_MS);
    expect((await pay(checkout.url)).leadsTo!.pathname).toBe(`/checkouts/${checkout.reference}`);
    expect((await get(checkout.url)).text).toContain("The time to pay has run out");
    expect(await stateOf(checkout)).toMatchObject({ status: "cancelled", paid: false, events: ["checkout.cancelled"] });
  });
});

test("the return path leads to the form before payment, and to the result without a redirectURL (D10)", async () => {
  const { url } = await shop.checkout();
  expect((await back(url)).leadsTo!.href).toBe(url);
  const without = await shop.checkout(ALONE);
  for (const response of [cancel, back]) expect((await response(without.url)).leadsTo!.href).toBe(without.url);
});

describe.each(LOCALES)("if the server fails, in %s, the page", (locale) => {
  const away = new ServiceError("unavailable", "The database is away.", { retryAfterSeconds: 1 });
  type Operation = "findPublicCheckout" | "payCheckout" | "cancelCheckout";

  /** Makes the storage fail. @param after how many calls succeed before the storage fails */
  function failing(name: Operation, error: Error, after = 0): void {
    const operation = shop.storage[name] as (...args: unknown[]) => Promise<never>;
    let calls = 0;
    const spy = vi.spyOn(shop.storage, name) as unknown as { mockImplementation(of: typeof operation): void };
    spy.mockImplementation((...args) => (++calls > after ? Promise.reject(error) : operation(...args)));
  }

  const reload = (url: string) => get(url, { "accept-language": locale });
  const forced = (url: string) => pay(url, "2250000000500");
  const find = "findPublicCheckout";
  /** Nobody knows whether the payment was made. */
  const unknown = "pay.unchecked.text";
  test.each<
    [what: string, was: string, (url: string) => Response, number, TextId, ...Partial<Parameters<typeof failing>>]
  >([
    ["a reload of a paid checkout", "paid", reload, 503, unknown, find, away],
    ["a reload after a bug", "paid", get, 500, unknown, find, new Error("a bug")],
    ["the waiting page", "pending", back, 503, unknown, find, away],
    ["a form of which nothing is known", "payable", paySlowly, 503, unknown, find, away],
    ["a payment that was recorded", "payable", paySlowly, 503, unknown, find, away, 1],
    ["a payment that may be recorded", "payable", paySlowly, 500, unknown, "payCheckout", new UnknownOutcome("lost")],
    ["a second payment", "pending", paySlowly, 503, unknown, find, away, 1],
    ["a cancellation", "pending", cancel, 503, unknown, "cancelCheckout", away],
    ["a payment that was refused before it was recorded", "payable", paySlowly, 503, "pay.busy", "payCheckout", away],
    ["a forced failure", "payable", forced, 500, "pay.notCharged"],
  ])(
    "says what is known of %s, and loads again what is not",
    async (_, was, open, expected, says, name, error, after) => {
      const { url, reference } = await shop.checkout({ locale });
      if (was !== "payable") await paySlowly(url);
      if (was === "paid") await shop.settle();
      if (name && error) failing(name, error, after);
      const { status, refresh, text } = await open(url);
      vi.restoreAllMocks();
      const again = open === paySlowly || open === cancel ? `10; url=${reference}` : "10";
      expect([status, refresh]).toEqual([expected, says === unknown ? again : null]);
      // Without the checkout, the language of the checkout is not known either.
      expect(text).toContain(textIn(text.includes(`lang="${locale}"`) ? locale : "en", says));
      if (says === unknown) expect(text).not.toMatch(/been charged|not charge|débité/);
      else await isUnpaid(reference);
      const later = await fetch(url);
      expect([later.status, await later.text()]).toEqual([200, expect.not.stringContaining(textIn(locale, unknown))]);
    },
  );
});
