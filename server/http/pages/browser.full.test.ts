// The payment page in a real browser: what customers do, and whether everybody can.
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openBrowser, violationsOf } from "../../../scripts/testing/browser.ts";
import { cancelButton, number, payButton, payWith, shows, waits } from "../../testing/browser.ts";
import { openShop, type Shop } from "../../testing/shop.ts";
import { textIn, type Language } from "../../texts/index.ts";

const [shop, browser] = await Promise.all([openShop(), openBrowser()]);
afterAll(() => Promise.all([browser.close(), shop.close()]));

type Checkout = Awaited<ReturnType<Shop["checkout"]>>;

/** What a page's security policy blocked. */
const blocked: string[] = [];

/** A customer's browser that has opened a checkout. */
async function customer(options: BrowserContextOptions = {}, locale: Language = "en") {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
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

type Way = (page: Page, checkout: Checkout, locale: Language) => Promise<unknown>;
const paysWith =
  (typed: string): Way =>
  (page) =>
    payWith(page, typed);
const cancels =
  (typed: string): Way =>
  async (page) => {
    await number(page).fill(typed);
    await cancelButton(page).click();
  };
const SLOW = "00225-07 03 81.02.47";

/** What customers do, and how the payment ends. */
const ways: Record<string, [status: string, way: Way]> = {
  "pays at once": ["success", paysWith("+225 07 00 00 00 01")],
  "is refused at once": ["failed", paysWith("+225 07 00 00 00 02")],
  cancels: ["cancelled", cancels("")],
  "cancels after typing a number": ["cancelled", cancels("0")],
  "waits until the payment settles": [
    "success",
    async (page, _, locale) => {
      await payWith(page, SLOW);
      await waits(page, locale);
      await shop.settle();
    },
  ],
  "pays, which settles while the response to the form is in transit": [
    "success",
    async (page, { url, reference }) => {
      await page.route(url, async (route) => {
        const response = await route.fetch({ maxRedirects: 0 });
        expect((await shop.record(reference)).status).toBe("pending");
        await shop.settle();
        await route.fulfill({ response });
      });
      await payWith(page, SLOW);
    },
  ],
  "pays too late, sees that it expired, and returns by a link": [
    "cancelled",
    async (page, checkout, locale) => {
      await shop.expire();
      await payWith(page, "2250700000001");
      await shows(page, textIn(locale, "pay.expired"));
      expect(await agreed(checkout)).toBe("cancelled");
      await page.getByRole("link").click();
    },
  ],
};

const phone = { viewport: { width: 360, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

describe.each<[string, Language, BrowserContextOptions]>([
  ["with scripts", "en", {}],
  ["without scripts", "en", { javaScriptEnabled: false }],
  ["in French, on a phone", "fr", phone],
])("%s", (_, locale, options) => {
  test.each(Object.entries(ways))("a customer who %s returns to the shop", async (_what, [status, way]) => {
    const { page, checkout } = await customer(options, locale);
    await way(page, checkout, locale);
    await atShop(page);
    expect(await agreed(checkout, page)).toBe(status);
  });
});

describe("a customer who does something unusual", () => {
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
    for (const sent of [["POST"], ["POST", "POST"]]) {
      await page.mouse.click(x + 9, y + 9);
      await expect.poll(() => posts).toEqual(sent);
    }
    await atShop(page);
    expect(await agreed(checkout, page)).toBe("success");
  });

  test.each([true, false])("the Back button after paying at once (%s) or later shows the result", async (isAtOnce) => {
    const { page, checkout } = await customer();
    await number(page).fill(isAtOnce ? "2250700000001" : SLOW);
    await payButton(page).dblclick();
    if (!isAtOnce) await waits(page);
    await shop.settle();
    await atShop(page);
    await page.goBack();
    expect(page.url()).toBe(checkout.url);
    await shows(page, "Payment complete");
    expect(await payButton(page).count()).toBe(0);
    await page.getByRole("link", { name: "Back to" }).click();
    await atShop(page);
    expect(await agreed(checkout, page)).toBe("success");
  });
});

/** The narrowest common screen, and the width of 1280 pixels at 400 % zoom (WCAG 1.4.10). */
const NARROW = { viewport: { width: 320, height: 640 } };

describe("everybody can use", () => {
  let page: Page;
  beforeEach(async () => {
    page = await browser.newPage(NARROW);
    onTestFinished(() => page.close());
  });

  /** Opens a checkout with the longest possible amount and reference. */
  async function opened(locale: Language) {
    const reference = crypto.randomUUID() + "Bon-de-commande-".repeat(4).slice(36);
    const checkout = await shop.checkout({ locale, amount: 2 ** 53 - 1, reference });
    await page.goto(checkout.url);
    return checkout.reference;
  }
  const finished = (outcome: Parameters<Shop["finish"]>[1]) => async (locale: Language) => {
    await shop.finish(await opened(locale), outcome);
    await page.reload();
  };
  const typed = (text: string) => async (locale: Language) => {
    await opened(locale);
    await payWith(page, text);
  };

  /** Every state of the page that a customer can see. */
  const states: Record<string, (locale: Language) => Promise<unknown>> = {
    "the form": opened,
    "an invalid number": typed("07 00"),
    "a refusal": typed("2250700000503"),
    "an error": typed("2250700000500"),
    async waiting(locale) {
      await typed("2250700000129")(locale);
      await waits(page, locale);
      // After a minute the page reloads rarely enough that a reload cannot disturb the checks.
      await shop.pass(60_000);
      await page.reload();
    },
    success: finished("success"),
    failure: finished("failed"),
    cancellation: finished("cancelled"),
    async expiry(locale) {
      await opened(locale);
      await shop.expire();
      await page.reload();
    },
    async "an unknown page"(locale) {
      await page.setExtraHTTPHeaders({ "accept-language": locale });
      await page.goto(`${shop.origin}/checkouts/CHKNONE`);
    },
    async "redirecting to the shop"(locale) {
      await page.route("**/return", (route) => route.abort("aborted"));
      await typed("2250700000001")(locale);
      await shows(page, textIn(locale, "pay.success"));
    },
  };
  const LOCALES = ["en", "fr"] as const;
  const everywhere = LOCALES.flatMap((locale) => Object.keys(states).map((name) => [name, locale] as const));

  test.each(everywhere)("%s, in %s, in both colours, on a phone, with fingers", async (name, locale) => {
    await states[name]!(locale);
    expect(await page.locator("html").getAttribute("lang")).toBe(locale);
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page, ["color-contrast"])).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(NARROW.viewport.width);
    for (const target of await page.locator("a, button, input").all())
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(44);
  });

  /** The focused element, and whether its focus is visible. */
  const focused = () =>
    page.locator(":focus").evaluate((element) => ({
      name: element.textContent.trim() || element.id,
      outlined: getComputedStyle(element).outlineStyle === "solid",
    }));

  test("the form with the keyboard: Tab visits its controls in order, and Enter in the field pays", async () => {
    await page.goto((await shop.checkout()).url);
    for (const name of ["phoneNumber", "Pay XOF\u00a015,000.00", "Cancel payment"]) {
      await page.keyboard.press("Tab");
      expect(await focused()).toEqual({ name, outlined: true });
    }
    for (const _ of [1, 2]) await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("2250700000001");
    await page.keyboard.press("Enter");
    await atShop(page);
    expect(new URL(page.url()).searchParams.get("status")).toBe("success");
  });

  test("the message about an invalid number, which moves the focus to the field and describes it", async () => {
    await page.goto((await shop.checkout({ locale: "fr" })).url);
    await payWith(page, "07 03 81 02 47");
    const field = page.getByRole("textbox", { name: textIn("fr", "pay.number") });
    await page.getByText(textIn("fr", "pay.country-code", { example: ", par exemple +225" })).waitFor();
    expect(await focused()).toEqual({ name: "phoneNumber", outlined: true });
    expect(await page.title()).toMatch(/^Erreur/);
    expect(await field.getAttribute("aria-describedby")).toBe("fault hint");
    expect(await field.inputValue()).toBe("07 03 81 02 47");
  });
});
