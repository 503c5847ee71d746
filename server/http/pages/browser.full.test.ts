import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { cancelButton, number, payButton, payWith, shows, waits } from "../../testing/customer.ts";
import { openShop, type Shop } from "../../testing/shop.ts";
import { texts, type Locale } from "./texts.ts";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), openBrowser()]);
});
afterAll(() => Promise.all([browser.close(), shop.close()]));

type Checkout = Awaited<ReturnType<Shop["checkout"]>>;

const contexts: BrowserContext[] = [];
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close();
});

/** What a page's security policy blocked. */
const blocked: string[] = [];

/** A customer's browser that has opened a checkout. */
async function customer(options: BrowserContextOptions = {}, locale: Locale = "en") {
  const context = await browser.newContext(options);
  contexts.push(context);
  context.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) blocked.push(message.text());
  });
  const [page, checkout] = [await context.newPage(), await shop.checkout({ locale })];
  await page.goto(checkout.url);
  return { page, checkout };
}

const atShop = (page: Page) => page.waitForURL(`${shop.site.url}/thanks**`);

/**
 * Returns the checkout's status after checking that the redirect to the shop, the record and the webhook agree on it.
 */
async function agreed({ reference, merchantsReference }: Checkout, page?: Page): Promise<string> {
  const record = await shop.record(reference);
  const { status } = record;
  expect(blocked.splice(0)).toEqual([]);
  if (page) {
    const { searchParams, hash } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ cart: "a b", reference, merchantsReference, status });
    expect(hash).toBe("#order");
  }
  const event = status === "success" ? "completed" : status;
  const webhooks = () => shop.site.webhooks.filter(({ data }) => data.reference === reference);
  await expect.poll(webhooks).toEqual([{ event: `checkout.${event}`, data: record }]);
  expect(await shop.events(reference)).toHaveLength(1);
  return status;
}

const phone = { viewport: { width: 360, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

describe.each<[string, string, string, Locale, BrowserContextOptions]>([
  ["with scripts", "+225 07 00 00 00 89", "failed", "en", {}],
  ["without scripts", "+225 07 03 81 02 47", "success", "en", { javaScriptEnabled: false }],
  ["in French, on a phone", "00225-07 03 81.02.47", "success", "fr", phone],
])("%s", (_, slow, slowStatus, locale, options) => {
  const { results } = texts[locale];

  test.each([
    ["+225 07 00 00 00 01", "success"],
    ["+225 07 00 00 00 02", "failed"],
  ])("a payment with %s returns to the shop immediately: %s", async (typed, status) => {
    const { page, checkout } = await customer(options, locale);
    await payWith(page, typed);
    await atShop(page);
    expect(await agreed(checkout, page)).toBe(status);
  });

  test("a pending payment shows the waiting page, which returns to the shop once it settles", async () => {
    const { page, checkout } = await customer(options, locale);
    await payWith(page, slow);
    await waits(page, locale);
    await shop.settle();
    await atShop(page);
    expect(await agreed(checkout, page)).toBe(slowStatus);
  });

  test("a payment that settles while the response to the form is in transit returns to the shop", async () => {
    const { page, checkout } = await customer(options, locale);
    await page.route(checkout.url, async (route) => {
      const response = await route.fetch({ maxRedirects: 0 });
      expect((await shop.record(checkout.reference)).status).toBe("pending");
      await shop.settle();
      await route.fulfill({ response });
    });
    await payWith(page, slow);
    await atShop(page);
    expect(await agreed(checkout, page)).toBe(slowStatus);
  });

  test("a cancelled payment returns to the shop, whether or not a number was typed", async () => {
    for (const typed of ["", "0"]) {
      const { page, checkout } = await customer(options, locale);
      await number(page).fill(typed);
      await cancelButton(page).click();
      await atShop(page);
      expect(await agreed(checkout, page)).toBe("cancelled");
    }
  });

  test("a customer who pays too late sees that it expired and returns by a link", async () => {
    const { page, checkout } = await customer(options, locale);
    await shop.expire();
    await payWith(page, "2250700000001");
    await shows(page, results.expired.heading);
    expect(await agreed(checkout)).toBe("cancelled");
    await page.getByRole("link").click();
    await atShop(page);
    expect(await agreed(checkout, page)).toBe("cancelled");
  });
});

describe("a customer who does something unusual", () => {
  test("a double click pays once", async () => {
    const { page, checkout } = await customer();
    await number(page).fill("2250700000001");
    await payButton(page).dblclick();
    await atShop(page);
    expect(await agreed(checkout, page)).toBe("success");
  });

  test("a customer who presses Pay again while waiting for the response pays once and returns to the shop", async () => {
    const { page, checkout } = await customer();
    await number(page).fill("2250700000001");
    const posts: string[] = [];
    await page.route(checkout.url, async (route) => {
      posts.push(route.request().method());
      if (posts.length > 1) return route.continue();
      // The server processes the first request, but its response never arrives.
      await route.fetch({ maxRedirects: 0 });
    });
    const { x, y } = (await payButton(page).boundingBox())!;
    await page.mouse.click(x + 9, y + 9);
    await expect.poll(() => posts).toEqual(["POST"]);
    await page.mouse.click(x + 9, y + 9);
    await expect.poll(() => posts).toEqual(["POST", "POST"]);
    await atShop(page);
    expect(await agreed(checkout, page)).toBe("success");
  });

  test.each(["2250700000001", "2257038102473"])(
    "the Back button after paying with %s shows the result",
    async (typed) => {
      const { page, checkout } = await customer();
      await payWith(page, typed);
      if (typed.endsWith("473")) await waits(page);
      await shop.settle();
      await atShop(page);
      await page.goBack();
      expect(page.url()).toBe(checkout.url);
      await shows(page, "Payment complete");
      expect(await payButton(page).count()).toBe(0);
      await page.getByRole("link", { name: "Back to" }).click();
      await atShop(page);
      expect(await agreed(checkout, page)).toBe("success");
    },
  );
});
