// The payment page in a real browser: what customers do, and whether everybody can.
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import {
  cancelButton,
  number,
  openPage,
  payButton,
  payWith,
  shows,
  suitsEveryone,
  waits,
} from "../../testing/browser.ts";
import { openShop, type Shop } from "../../testing/shop.ts";
import { textIn, type Language } from "../../texts/index.ts";

const [shop, browser] = await Promise.all([openShop(), openBrowser()]);
afterAll(() => Promise.all([browser.close(), shop.close()]));

type Checkout = Awaited<ReturnType<Shop["checkout"]>>;

/** A customer's browser that has opened a checkout. */
async function customer(options: BrowserContextOptions = {}) {
  const checkout = await shop.checkout();
  const page = await openPage(browser, checkout.url, options);
  onTestFinished(() => page.context().close());
  return { page, checkout };
}

const atShop = (page: Page) => page.waitForURL(`${shop.site.url}/thanks**`);

/** Returns how a checkout has ended, on which the redirect to the shop, the record and the only webhook agree. */
async function ended({ reference, merchantsReference }: Checkout, page: Page): Promise<string> {
  await atShop(page);
  const data = await shop.record(reference);
  const { status } = data;
  const { searchParams, hash } = new URL(page.url());
  expect(Object.fromEntries(searchParams)).toEqual({ cart: "a b", reference, merchantsReference, status });
  expect(hash).toBe("#order");
  const event = `checkout.${status === "success" ? "completed" : status}`;
  const webhooks = () => shop.site.webhooks.filter((each) => each.data.reference === reference);
  await expect.poll(webhooks).toEqual([{ event, data }]);
  expect(await shop.events(reference)).toHaveLength(1);
  return status;
}

const SLOW = "00225-07 03 81.02.47";

// The pages have no scripts, so nothing depends on them.
test.each<[what: string, status: string, way: (page: Page, checkout: Checkout) => Promise<unknown>]>([
  ["is refused at once", "failed", (page) => payWith(page, "+225 07 00 00 00 02")],
  ["cancels", "cancelled", (page) => cancelButton(page).click()],
  [
    "cancels after typing a number",
    "cancelled",
    async (page) => {
      await number(page).fill("0");
      await cancelButton(page).click();
    },
  ],
  [
    "waits until the payment settles",
    "success",
    async (page) => {
      await payWith(page, SLOW);
      await waits(page);
      await shop.settle();
    },
  ],
  [
    "pays, which settles while the response to the form is in transit",
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
  [
    "pays too late, sees that it expired, and returns by a link",
    "cancelled",
    async (page) => {
      await shop.expire();
      await payWith(page, "2250700000001");
      await shows(page, textIn("en", "pay.expired"));
      await page.getByRole("link").click();
    },
  ],
])("a customer who %s returns to the shop", async (_, status, way) => {
  const { page, checkout } = await customer({ javaScriptEnabled: false });
  await way(page, checkout);
  expect(await ended(checkout, page)).toBe(status);
});

describe("what a customer does who is in doubt", () => {
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
    expect(await ended(checkout, page)).toBe("success");
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
    expect(await ended(checkout, page)).toBe("success");
  });
});

/** The narrowest common screen, and the width of 1280 pixels at 400 % zoom (WCAG 1.4.10). */
const NARROW = 320;

describe("everybody can use", () => {
  let page: Page;
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: NARROW, height: 640 } });
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
    await suitsEveryone(page, name, NARROW);
    for (const target of await page.locator("a, button, input").all())
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(44);
  });

  /** Expects that the focus is on this element, and visible. */
  async function focused(target: Locator): Promise<void> {
    const outline = () =>
      target.evaluate((element) => element === document.activeElement && getComputedStyle(element).outlineStyle);
    await expect.poll(outline).toBe("solid");
  }

  test("the form with the keyboard: Tab visits its controls in order, and Enter in the field pays", async () => {
    await page.goto((await shop.checkout()).url);
    for (const control of [number(page), payButton(page), cancelButton(page)]) {
      await page.keyboard.press("Tab");
      await focused(control);
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
    await page.getByText(textIn("fr", "pay.country-code", { example: ", par exemple +225" })).waitFor();
    await focused(number(page));
    expect(await page.title()).toMatch(/^Erreur/);
    expect(await number(page).getAttribute("aria-describedby")).toBe("fault hint");
    expect(await number(page).inputValue()).toBe("07 03 81 02 47");
  });
});
