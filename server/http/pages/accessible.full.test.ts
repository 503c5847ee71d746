import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { payWith, shows, waits } from "../../testing/customer.ts";
import { openShop, type Shop } from "../../testing/shop.ts";
import { texts, type Locale } from "./texts.ts";

let shop: Shop;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), openBrowser()]);
});
afterAll(() => Promise.all([browser.close(), shop.close()]));
beforeEach(async () => {
  page = await browser.newPage(PHONE);
});
afterEach(() => page.close());

/** The narrowest common screen, and the width of 1280 pixels at 400 % zoom (WCAG 1.4.10). */
const PHONE = { viewport: { width: 320, height: 640 } };
const AMOUNT = 2 ** 53 - 1;
const LONG = "Bon-de-commande-".repeat(4);

/** Opens a checkout with the longest possible amount and reference. */
async function opened(locale: Locale) {
  const { url, reference } = await shop.checkout({
    locale,
    amount: AMOUNT,
    reference: crypto.randomUUID() + LONG.slice(36),
  });
  await page.goto(url);
  return reference;
}

async function finished(locale: Locale, outcome: "success" | "failed" | "cancelled") {
  const reference = await opened(locale);
  await shop.finish(reference, outcome);
  await page.reload();
}

type Reach = (locale: Locale) => Promise<unknown>;
/** Every state of the page that a customer can see. */
const states: [string, Reach][] = [
  ["the form", opened],
  ["an invalid number", async (locale) => (await opened(locale), payWith(page, "07 00"))],
  ["a refusal", async (locale) => (await opened(locale), payWith(page, "2250700000503"))],
  [
    "waiting",
    async (locale) => {
      await opened(locale);
      await payWith(page, "2250700000129");
      await waits(page, locale);
      // After a minute the page reloads rarely enough that a reload cannot disturb the checks.
      await shop.pass(60_000);
      await page.reload();
    },
  ],
  ["success", (locale) => finished(locale, "success")],
  ["failure", (locale) => finished(locale, "failed")],
  ["cancellation", (locale) => finished(locale, "cancelled")],
  ["expiry", async (locale) => (await opened(locale), await shop.expire(), page.reload())],
  ["an error", async (locale) => (await opened(locale), payWith(page, "2250700000500"))],
  [
    "an unknown page",
    async (locale) => (
      await page.setExtraHTTPHeaders({ "accept-language": locale }),
      page.goto(`${shop.origin}/checkouts/CHKNONE`)
    ),
  ],
  [
    "redirecting to the shop",
    async (locale) => {
      await page.route("**/return", (route) => route.abort("aborted"));
      await opened(locale);
      await payWith(page, "2250700000001");
      await shows(page, texts[locale].results.success.heading);
    },
  ],
];
const everywhere = states.flatMap(([name, reach]) =>
  (["en", "fr"] as const).map((locale) => ({ name, locale, reach })),
);

describe.each(everywhere)("$name, in $locale", ({ locale, reach }) => {
  test("passes axe in light and dark colours, fits a phone's width, and has large touch targets", async () => {
    await reach(locale);
    expect(await page.locator("html").getAttribute("lang")).toBe(locale);
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page, ["color-contrast"])).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.viewport.width);
    for (const target of await page.locator("a, button, input").all()) {
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(44);
    }
  });
});

/** The focused element, and whether its focus is visible. */
const focused = () =>
  page.locator(":focus").evaluate((element) => ({
    name: element.textContent.trim() || element.id,
    outlined: getComputedStyle(element).outlineStyle === "solid",
  }));

describe("with only the keyboard", () => {
  test("Tab visits the form's controls in order, and Enter in the field pays", async () => {
    await page.goto((await shop.checkout()).url);
    const seen = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("Tab");
      seen.push(await focused());
    }
    expect(seen).toEqual([
      { name: "phoneNumber", outlined: true },
      { name: "Pay XOF\u00a015,000.00", outlined: true },
      { name: "Cancel payment", outlined: true },
    ]);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("2250700000001");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/thanks**");
    expect(new URL(page.url()).searchParams.get("status")).toBe("success");
  });

  test("an invalid number moves the focus to the field, which the message describes", async () => {
    await page.goto((await shop.checkout({ locale: "fr" })).url);
    await page.keyboard.press("Tab");
    await page.keyboard.type("07 03 81 02 47");
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: texts.fr.number });
    await page.getByText(texts.fr.numberFault("country-code", "+225")).waitFor();
    expect(await focused()).toEqual({ name: "phoneNumber", outlined: true });
    expect(await page.title()).toMatch(/^Erreur/);
    expect(await field.getAttribute("aria-describedby")).toBe("fault hint");
    expect(await field.inputValue()).toBe("07 03 81 02 47");
  });
});
