// One payment and one look at every kind of page in a real browser. Each browser.full.test.ts tries each page in both
// languages, in light and dark colours, on a phone, and with the keyboard alone.
import { afterAll, expect, test } from "vitest";
import { openBrowser, violationsOf } from "../../scripts/testing/browser.ts";
import { browse, openPage, payWith } from "../testing/browser.ts";
import { startServer } from "../testing/server.ts";
import { openShop } from "../testing/shop.ts";

const [server, shop, browser] = await Promise.all([startServer(), openShop(), openBrowser()]);
const PHONE = { viewport: { width: 380, height: 720 } };
afterAll(() => Promise.all([browser.close(), server.close(), shop.close()]));

test("a customer pays, returns to the shop, and the shop is told once", async () => {
  const { url, reference } = await shop.checkout();
  const page = await openPage(browser, url, PHONE);
  expect(await violationsOf(page)).toEqual([]);
  await payWith(page, "+225 07 00 00 00 01");
  await page.waitForURL(`${shop.site.url}/thanks**`);
  expect(new URL(page.url()).searchParams.get("status")).toBe("success");
  await expect
    .poll(() => shop.site.webhooks)
    .toEqual([{ event: "checkout.completed", data: await shop.record(reference) }]);
});

test("pages of the dashboard and of the documentation pass axe and fit a phone", async () => {
  const { body } = await server.createPayout();
  const page = await browse(browser, server, PHONE);
  const ofMerchant = ["overview", `disbursements/${body.data.reference}`, "checkouts", "webhooks", "requests"];
  const more = ["sandbox", "settings", "team", "balances", "audit"];
  const paths = [
    ...[...ofMerchant, ...more].map((name) => `/dashboard/m/${server.merchant.id}/${name}`),
    ...["", "/overview", "/approvals"].map((name) => `/dashboard${name}`),
    ...["", "/merchants", "/reference", "/search?q=webhook"].map((name) => `/docs${name}`),
  ];
  for (const path of paths) {
    await page.goto(server.url + path);
    expect.soft(await violationsOf(page), path).toEqual([]);
    expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(380);
  }
});
