// One payment and one look at every kind of page in a real browser. Each browser.full.test.ts tries each page in both
// languages, in light and dark colours, on a phone, and with the keyboard alone.
import { afterAll, expect, test } from "vitest";
import { openBrowser, violationsOf } from "../../scripts/testing/browser.ts";
import { linkAddress } from "../domain/sign-in.ts";
import { payWith } from "../testing/browser.ts";
import { newLink } from "../testing/dashboard-visitor.ts";
import { startServer } from "../testing/server.ts";
import { openShop } from "../testing/shop.ts";

const [server, shop, browser] = await Promise.all([startServer(), openShop(), openBrowser()]);
const page = await browser.newPage({ viewport: { width: 380, height: 720 } });
/** What the pages' security policies blocked, and errors of scripts. */
const faults: string[] = [];
page.on("console", (message) => {
  if (!message.text().startsWith("Failed to load resource")) faults.push(message.text());
});
page.on("pageerror", (error) => faults.push(error.message));
afterAll(() => Promise.all([browser.close(), server.close(), shop.close()]));

async function looksRight(path: string) {
  await page.goto(server.url + path);
  expect.soft(await violationsOf(page), path).toEqual([]);
  expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(380);
}

test("a customer pays, returns to the shop, and the shop is told once", async () => {
  const { url, reference } = await shop.checkout();
  await page.goto(url);
  expect(await violationsOf(page)).toEqual([]);
  await payWith(page, "+225 07 00 00 00 01");
  await page.waitForURL(`${shop.site.url}/thanks**`);
  expect(new URL(page.url()).searchParams.get("status")).toBe("success");
  await expect
    .poll(() => shop.site.webhooks)
    .toEqual([{ event: "checkout.completed", data: await shop.record(reference) }]);
  expect(faults).toEqual([]);
});

test("pages of the dashboard and of the documentation pass axe and fit a phone", async () => {
  const { body } = await server.createPayout();
  await page.goto(linkAddress(server.url, await newLink(server)));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  const ofMerchant = ["overview", `disbursements/${body.data.reference}`, "checkouts", "webhooks", "requests"];
  const more = ["sandbox", "settings", "team", "balances", "audit"];
  for (const name of [...ofMerchant, ...more]) await looksRight(`/dashboard/m/${server.merchant.id}/${name}`);
  for (const name of ["", "/overview", "/approvals"]) await looksRight(`/dashboard${name}`);
  for (const name of ["", "/merchants", "/reference", "/search?q=webhook"]) await looksRight(`/docs${name}`);
  expect(faults).toEqual([]);
});
