import type { Page } from "playwright-core";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { openBrowser, violationsOf } from "../../../scripts/testing/browser.ts";
import { openPage, suitsEveryone } from "../../testing/browser.ts";
import { startServer } from "../../testing/server.ts";
import { pages } from "./pages.ts";

const PHONE = { width: 380, height: 720 };
const DESKTOP_WIDTH = 1_280;
const [server, browser] = await Promise.all([startServer(), openBrowser()]);
afterAll(() => Promise.all([browser.close(), server.close()]));
let page: Page;
beforeEach(async () => {
  page = await openPage(browser, `${server.url}/docs`, { viewport: PHONE });
  onTestFinished(() => page.context().close());
});

const open = (name: string) => page.goto(`${server.url}/docs${name === "index" ? "" : `/${name}`}`);

test.each([
  ...pages.map(({ name }) => name),
  "requirements/create.duplicate-race",
  "search?q=webhook+reference",
  "an-unknown-page",
])("%s passes axe in light and dark colours, and scrolls only downwards on a phone and on a desktop", async (name) => {
  await open(name);
  await suitsEveryone(page, name, PHONE.width, DESKTOP_WIDTH);
});

test("the keyboard leads from the search field to the part that was found", async () => {
  await open("merchants");
  await page.getByRole("searchbox").focus();
  await page.keyboard.type("<b> same rotation");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing contains “<b> same rotation”").waitFor();
  await page.getByRole("searchbox").fill("merchantsReference cursor");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "List disbursements (extension)" }).click();
  await expect.poll(() => page.url()).toBe(`${server.url}/docs/reference#listDisbursements`);
});

test("the console of the reference creates payouts with the key that was typed, and keeps it only in memory", async () => {
  const operation = page.locator("section[aria-labelledby=createDisbursement]");
  const key = page.getByLabel("enter your API key");
  const kept = () =>
    page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
  async function send() {
    const output = operation.locator("output");
    await output.evaluate((element) => (element.textContent = ""));
    await operation.getByRole("button", { name: "Send" }).click();
    await expect.poll(() => output.textContent()).toMatch(/^\d/);
    return (await output.textContent())!.slice(0, 3);
  }
  await open("reference");
  await operation.getByText("Send this request").click();
  expect(await send()).toBe("401");
  await key.fill(server.key);
  // Each payout has a reference of its own.
  for (const count of [1, 2]) {
    expect(await send()).toBe("200");
    expect((await server.request("GET", "/v1/disbursements")).body.data.items).toHaveLength(count);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
  expect(await violationsOf(page)).toEqual([]);
  expect(await kept()).not.toContain(server.key);
  await page.reload();
  expect(await key.inputValue()).toBe("");
  expect(await kept()).not.toContain(server.key);
});
