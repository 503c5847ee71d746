import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser } from "../../scripts/browser.ts";
import { EXPIRY_S, openShop, SETTLE_S, type Shop } from "./shop.ts";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(), launchBrowser()]);
});
afterAll(() => Promise.all([browser.close(), shop.close()]));

type Checkout = Awaited<ReturnType<Shop["checkout"]>>;

/** A customer's browser; `blocked` fills with whatever a page's policy stopped. */
async function customer(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  const blocked: string[] = [];
  context.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) blocked.push(message.text());
  });
  return { page: await context.newPage(), context, blocked };
}

const number = (page: Page) => page.getByLabel(/mobile money/);
const payButton = (page: Page) => page.getByRole("button", { name: /^(Pay|Payer) / });
const cancelButton = (page: Page) => page.getByRole("button", { name: /^(Cancel|Annuler)/ });
const heading = (page: Page) => page.getByRole("heading", { level: 1 });
const atShop = (page: Page) => page.waitForURL(`${shop.site.url}/thanks**`);

async function payWith(page: Page, typed: string): Promise<void> {
  await number(page).fill(typed);
  await payButton(page).click();
}

/** What the customer brings to the shop, the record, and the webhook say the same. */
async function allAgree({ reference, merchantsReference }: Checkout, status: string, page?: Page): Promise<void> {
  if (page) {
    const { searchParams, hash } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ cart: "a b", reference, merchantsReference, status });
    expect(hash).toBe("#order");
  }
  const record = await shop.record(reference);
  expect(record.status).toBe(status);
  const event = { success: "checkout.completed", failed: "checkout.failed", cancelled: "checkout.cancelled" }[status];
  const told = () => shop.site.webhooks.filter(({ data }) => data.reference === reference);
  await expect.poll(told).toEqual([{ event, data: record }]);
  expect(await shop.events(reference)).toHaveLength(1);
}

describe.each([
  ["with scripts", {}],
  ["without scripts", { javaScriptEnabled: false }],
])("%s", (_, options) => {
  test.each([
    ["+225 07 00 00 00 01", "success"],
    ["+225 07 00 00 00 02", "failed"],
  ])("%s is back at the shop at once: %s", async (typed, status) => {
    const { page, blocked } = await customer(options);
    const checkout = await shop.checkout();
    await page.goto(checkout.url);
    await payWith(page, typed);
    await atShop(page);
    await allAgree(checkout, status, page);
    expect(blocked).toEqual([]);
  });

  test.each([
    ["+225 07 00 00 00 89", "failed"],
    ["+225 07 03 81 02 47", "success"],
  ])("%s waits, and the wait ends by itself at the shop: %s", async (typed, status) => {
    const { page, blocked } = await customer(options);
    const checkout = await shop.checkout();
    await page.goto(checkout.url);
    await payWith(page, typed.replace("00 89", "00 0 89"));
    await expect.poll(() => heading(page).innerText()).toBe("Waiting for your payment");
    await shop.advance(SETTLE_S);
    await atShop(page);
    await allAgree(checkout, status, page);
    expect(blocked).toEqual([]);
  });

  test("a cancelled payment leads back to the shop, with a number typed or not", async () => {
    for (const typed of ["", "0"]) {
      const { page, blocked } = await customer(options);
      const checkout = await shop.checkout();
      await page.goto(checkout.url);
      await number(page).fill(typed);
      await cancelButton(page).click();
      await atShop(page);
      await allAgree(checkout, "cancelled", page);
      expect(blocked).toEqual([]);
    }
  });

  test("who pays too late is told so, and goes back by a link", async () => {
    const { page } = await customer(options);
    const checkout = await shop.checkout();
    await page.goto(checkout.url);
    await shop.advance(EXPIRY_S);
    await payWith(page, "2250700000001");
    await expect.poll(() => heading(page).innerText()).toBe("Payment expired");
    await allAgree(checkout, "cancelled");
    await page.getByRole("link", { name: "Back to" }).click();
    await atShop(page);
    await allAgree(checkout, "cancelled", page);
  });
});
