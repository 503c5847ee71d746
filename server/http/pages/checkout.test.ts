import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FORCED_OUTCOMES } from "../../domain/outcomes.ts";
import { createTestRail, railsOf } from "../../testing/rail.ts";
import { MERCHANT, openShop, type Shop } from "../../testing/shop.ts";
import { CHECKOUT_LIFETIME_MS } from "../../domain/checkouts.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

type Fields = Record<string, string> | [string, string][];

/** Submits the form as a browser does, without following redirects. */
const post = (url: string, fields: Fields) =>
  fetch(url, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
const pay = (url: string, phoneNumber: string) => post(url, { action: "pay", phoneNumber });
const cancel = (url: string) => post(url, { action: "cancel", phoneNumber: "" });
const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers, redirect: "manual" });
const back = (url: string) => get(`${url}/return`);
const location = (response: Response) => new URL(response.headers.get("location")!, response.url);

/** The checkout's state as seen through the record, the events and the redirect. */
async function stateOf({ reference, url }: { reference: string; url: string }) {
  const { status, customer } = await shop.record(reference);
  const events = await shop.events(reference);
  const returned = location(await back(url)).searchParams.get("status");
  return { status, paid: customer !== undefined, events: events.map(({ event }) => event), returned };
}

test("the form knows the numbers of the checkout's country", async () => {
  const kenya = await shop.checkout({ country: "KE", currency: "KES" });
  const html = (await (await get(kenya.url)).text()).replaceAll("\u00a0", " ");
  expect(html).toContain("for example +254 712 000 000. Operators (Kenya): M-Pesa, Airtel Money.");
  expect(await (await pay(kenya.url, "0712345678")).text()).toContain("Start with the country code, for example +254.");
  const france = await shop.checkout({ country: "FR", currency: "EUR", locale: "fr" });
  expect(await (await get(france.url)).text()).toContain("Avec l’indicatif du pays.</p>");
});

describe("every response", () => {
  const responses: [string, (url: string) => Promise<Response>, number][] = [
    ["the form", get, 200],
    ["the result", async (url) => (await cancel(url), get(url)), 200],
    ["the waiting page", async (url) => (await pay(url, "2250000000129"), back(url)), 200],
    ["the redirect to the shop", async (url) => (await cancel(url), back(url)), 303],
    ["an unknown reference", (url) => get(`${url}X`), 404],
    ["an invalid escape", (url) => get(`${url}%zz`), 404],
    ["a NUL", (url) => get(`${url}%00`), 404],
    ["no reference", () => get(`${shop.origin}/checkouts`), 404],
    ["an unsupported method", (url) => fetch(url, { method: "PUT" }), 405],
    ["a failure", (url) => pay(url, "2250000000500"), 500],
    ["a refusal", (url) => pay(url, "2250000000503"), 503],
  ];
  test.each(responses)("%s is HTML that forbids framing, caching and scripts", async (_, ask, status) => {
    const { url } = await shop.checkout();
    const response = await ask(url);
    expect(response.status).toBe(status);
    const { headers } = response;
    if (status !== 303) expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = headers.get("content-security-policy")!.split("; ");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy.join()).not.toMatch(/unsafe|script|\*/);
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(await response.text()).not.toMatch(/<script|javascript:|https?:\/\/(?!127)|\son\w+=|\sstyle=/);
  });

  test("an unknown page uses the browser's language, other pages the checkout's", async () => {
    const french = { "accept-language": "fr-CI,fr;q=0.9" };
    expect(await (await get(`${shop.origin}/checkouts/CHKNONE`, french)).text()).toContain('<html lang="fr">');
    expect(await (await get(`${shop.origin}/checkouts/CHKNONE`)).text()).toContain('<html lang="en">');
    const english = await shop.checkout({ locale: "en" });
    expect(await (await get(english.url, french)).text()).toContain('<html lang="en">');
    const { url } = await shop.checkout({ locale: "fr" });
    expect(await (await fetch(url, { method: "PUT" })).text()).toContain('<html lang="fr">');
  });
});

describe("the form", () => {
  test("a merchant's texts are escaped", async () => {
    const reference = "</dd><script>\"&'";
    const { url } = await shop.checkout({ reference });
    const html = await (await get(url)).text();
    expect(html).toContain("&lt;/dd&gt;&lt;script&gt;&quot;&amp;&#39;");
    expect(html).toContain(MERCHANT.replace("&", "&amp;"));
  });

  test.each([
    ["nothing", "", "Enter the number"],
    ["a word", '"><b>', "digits only"],
    ["a number without its country", "0703810247", "Start with the country code"],
    ["too few digits", "225 07 03", "10 to 15 digits"],
  ])(
    "a number that is %s is refused with a hint and stays in the field; a later payment succeeds",
    async (_, typed, words) => {
      const checkout = await shop.checkout();
      const response = await pay(checkout.url, typed);
      expect(response.status).toBe(422);
      const html = await response.text();
      expect(html).toContain(words);
      expect(html).toContain(
        `value="${typed.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;").replace(">", "&gt;")}"`,
      );
      expect(html).toMatch(/aria-invalid="true" aria-describedby="fault hint"/);
      expect(await shop.record(checkout.reference)).not.toHaveProperty("customer");
      expect((await pay(checkout.url, "2250000000001")).status).toBe(200);
    },
  );

  const bodies: [string, number, RequestInit][] = [
    ["JSON", 415, { headers: { "content-type": "application/json" }, body: '{"action":"pay"}' }],
    ["nothing", 415, {}],
    ["no action", 400, { body: new URLSearchParams({ phoneNumber: "2250000000001" }) }],
    ["an unknown action", 400, { body: new URLSearchParams({ action: "refund" }) }],
    ["two numbers", 400, { body: new URLSearchParams("action=pay&phoneNumber=1&phoneNumber=2250000000001") }],
    ["too many bytes", 413, { body: new URLSearchParams({ action: "pay", phoneNumber: "2".repeat(5_000) }) }],
    ["too many fields", 413, { body: new URLSearchParams(`action=pay${"&a=".repeat(20)}`) }],
  ];
  test.each(bodies)("a body with %s returns %i and records nothing", async (_, status, init) => {
    const checkout = await shop.checkout();
    const response = await fetch(checkout.url, { method: "POST", ...init });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain("That did not work");
    expect(await shop.record(checkout.reference)).not.toHaveProperty("customer");
  });
});

describe("outcomes (D17)", () => {
  test.each([
    ["2250000000001", "success", "checkout.completed"],
    ["2250000000002", "failed", "checkout.failed"],
  ])("%s is %s immediately", async (number, status, event) => {
    const checkout = await shop.checkout();
    const response = await pay(checkout.url, number);
    expect(response.headers.get("refresh")).toBe(`0; url=${checkout.reference}/return`);
    expect(await stateOf(checkout)).toEqual({ status, paid: true, events: [event], returned: status });
  });

  test.each([
    ["2250000000089", "failed", "checkout.failed"],
    ["2257038102473", "success", "checkout.completed"],
  ])("%s is pending, then %s", async (number, status, event) => {
    const checkout = await shop.checkout();
    // The response must not be a redirect, because the return page could lead to the merchant's site by the time the
    // browser follows it (D36).
    const response = await pay(checkout.url, number);
    expect(response.status).toBe(200);
    expect(response.headers.get("refresh")).toBe(`0; url=${checkout.reference}/return`);
    expect(await response.text()).toContain(`href="${checkout.reference}/return"`);
    expect((await back(checkout.url)).headers.get("refresh")).toBe("2");
    expect(await shop.record(checkout.reference)).toMatchObject({ status: "pending" });
    await shop.settle();
    expect(await stateOf(checkout)).toEqual({ status, paid: true, events: [event], returned: status });
  });

  test.each(["2250700000473", "12"])(
    "%s, sent while another number is paying, is not used, and the page says so",
    async (typed) => {
      const checkout = await shop.checkout();
      await pay(checkout.url, "2250000000129");
      const response = await pay(checkout.url, typed);
      const page = await response.text();
      expect(page).toContain("The number you entered was not used.");
      expect(page).toContain("The payment is being made with the number ending in 129.");
      expect(page).not.toContain("2250000000129");
      expect(response.headers.get("refresh")).toBe(`15; url=${checkout.reference}/return`);
      expect(await shop.record(checkout.reference)).toMatchObject({ customer: { phoneNumber: "2250000000129" } });
      const same = await (await pay(checkout.url, "+225 0000000129")).text();
      expect(same).not.toContain("was not used");
    },
  );

  test("129 stays pending: once paid it neither expires (D9) nor can be cancelled", async () => {
    const { url, reference } = await shop.checkout();
    await pay(url, "2250000000129");
    await cancel(url);
    await shop.expire();
    expect(await shop.record(reference)).toMatchObject({ status: "pending" });
    const waiting = await back(url);
    expect(waiting.status).toBe(200);
    expect(waiting.headers.get("refresh")).toBe("15");
    expect(await shop.events(reference)).toEqual([]);
  });

  test("503 is refused twice with Retry-After, keeping the number, then succeeds", async () => {
    const { url, reference } = await shop.checkout();
    for (let i = 0; i < 2; i++) {
      const response = await pay(url, "+225 0000000503");
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toBe("1");
      expect(await response.text()).toContain('value="+225 0000000503"');
      expect(await shop.record(reference)).not.toHaveProperty("customer");
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
    expect(await shop.record(reference)).toMatchObject({ status: "success" });
    expect(responded).toBe(false);
    await shop.pass(1);
    // The payment has settled meanwhile, so the page returns to the shop immediately.
    const refreshes = (await all).map(({ headers }) => headers.get("refresh"));
    expect(refreshes).toContain(`0; url=${reference}/return`);
  });

  test.each(["en", "fr"] as const)(
    "in %s, outside the sandbox no number forces an outcome: the page leads to the rail's, and mentions no test mode",
    async (locale) => {
      const live = await openShop({ SANDBOX: "false" }, railsOf(createTestRail({ status: "pending" })));
      try {
        const { url, reference } = await live.checkout({ locale });
        const pages = [await get(url), await back(url), await get(`${url}-unknown`, { "accept-language": locale })];
        for (const page of pages) expect(await page.text()).not.toMatch(/test mode|mode test|simul|<form/i);
        for (const ending of Object.keys(FORCED_OUTCOMES))
          expect(location(await pay(url, `2250000000${ending}`)).href).toBe(url);
        await live.pass(0);
        expect(location(await get(url)).href).toBe(`https://rail.example/pay/${reference}`);
        expect(await live.record(reference)).toMatchObject({ status: "pending" });
      } finally {
        await live.close();
      }
    },
  );
});

describe("one outcome", () => {
  test("a second payment changes nothing and gets no forced outcome", async () => {
    const { reference } = await shop.checkout();
    const opened = (await shop.checkouts.open(reference))!;
    await shop.checkouts.pay(opened, "2257038102473");
    const before = await shop.record(reference);
    await expect(shop.checkouts.pay(opened, "2250000000504")).resolves.toBeUndefined();
    expect(await shop.record(reference)).toEqual(before);
  });

  test("of a concurrent payment and cancellation one takes effect", async () => {
    for (let i = 0; i < 10; i++) {
      const checkout = await shop.checkout();
      await Promise.all([pay(checkout.url, "2250000000001"), cancel(checkout.url)]);
      const { status, paid, events, returned } = await stateOf(checkout);
      expect([status, paid, ...events]).toEqual(
        paid ? ["success", true, "checkout.completed"] : ["cancelled", false, "checkout.cancelled"],
      );
      expect(returned).toBe(status);
    }
  });

  test.each(["success", "failed", "cancelled"] as const)(
    "a checkout that is %s cannot be paid or cancelled",
    async (status) => {
      const checkout = await shop.checkout();
      await shop.finish(checkout.reference, status);
      const before = await shop.record(checkout.reference);
      // The number is not validated any more either.
      for (const number of ["2250000000001", "2250000000500", "wrong"]) {
        expect((await pay(checkout.url, number)).status).toBe(303);
      }
      await cancel(checkout.url);
      expect(await shop.record(checkout.reference)).toEqual(before);
      expect((await stateOf(checkout)).events).toHaveLength(1);
      expect(await (await get(checkout.url)).text()).not.toContain("<form");
    },
  );

  test("after 30 minutes a payment is refused, even before a worker has expired the checkout", async () => {
    const checkout = await shop.checkout();
    shop.passUnnoticed(CHECKOUT_LIFETIME_MS);
    const response = await pay(checkout.url, "2250000000001");
    expect(location(response).pathname).toBe(`/checkouts/${checkout.reference}`);
    expect(await (await get(checkout.url)).text()).toContain("The time to pay has run out");
    expect(await stateOf(checkout)).toMatchObject({ status: "cancelled", paid: false, events: ["checkout.cancelled"] });
  });
});

describe("the return path (D10)", () => {
  test("redirects to the form before payment, and to the result without a redirectURL", async () => {
    const checkout = await shop.checkout();
    expect(location(await back(checkout.url)).href).toBe(checkout.url);

    const withoutRedirect = await shop.checkout({ redirectURL: undefined });
    expect(location(await cancel(withoutRedirect.url)).href).toBe(withoutRedirect.url);
    expect(location(await back(withoutRedirect.url)).href).toBe(withoutRedirect.url);
    expect(await (await get(withoutRedirect.url)).text()).toContain("You can close this page.");
  });

  test("redirects with 303 to the redirectURL with the result appended", async () => {
    const checkout = await shop.checkout({ reference: "order é&1" });
    await pay(checkout.url, "2250000000002");
    const response = await back(checkout.url);
    expect(response.status).toBe(303);
    const own = `reference=${checkout.reference}&merchantsReference=order%20%C3%A9%261&status=failed`;
    expect(response.headers.get("location")).toBe(`${shop.site.url}/thanks?cart=a%20b&${own}#order`);
  });
});
