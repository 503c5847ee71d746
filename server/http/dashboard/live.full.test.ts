// Pages that update automatically, in a real browser.
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { openBrowser, violationsOf } from "../../../scripts/testing/browser.ts";
import { browse } from "../../testing/browser.ts";
import { openDashboard } from "../../testing/dashboard.ts";
import { enter } from "../../testing/dashboard-visitor.ts";

const [{ server, area, kofi, close }, browser] = await Promise.all([openDashboard(), openBrowser()]);
afterAll(() => Promise.all([browser.close(), close()]));

/** Opens a page of the merchant in a browser of its own. */
async function opened(path = "disbursements", options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browse(browser, server, options);
  await page.goto(`${server.url}/dashboard${area}/${path}`);
  // Shows that the page was not loaded again.
  await page.evaluate(() => Object.assign(globalThis, { isFirst: true }));
  return page;
}

const isFirst = (page: Page) => page.evaluate(() => "isFirst" in globalThis);

/** Lets the server's time pass, a little at a time, until the page shows this. */
async function shows(page: Page, text: string): Promise<void> {
  const row = page.getByRole("row").filter({ hasText: text }).first();
  for (let waited = 0; !(await row.isVisible()); waited += 1) {
    if (waited > 400) expect.fail(`The page does not show ${text}.`);
    server.clock.advance(100);
    await page.waitForTimeout(25);
  }
}

test("a payment appears and settles on an open page, which keeps what is typed, focused and scrolled", async () => {
  const page = await opened();
  await server.createPayout({ reference: "first" });
  await shows(page, "first");
  const search = page.getByLabel("Reference or phone number");
  await search.pressSequentially("half a refer");
  const row = await page.getByRole("row").filter({ hasText: "first" }).elementHandle();
  await server.createPayout({ reference: "second" });
  await server.pass(server.config.settleDelayMs);
  await shows(page, "second");
  await expect.poll(() => page.locator("td .badge.success:visible").count()).toBe(2);
  expect(await search.inputValue()).toBe("half a refer");
  expect(await search.evaluate((element) => element === document.activeElement)).toBe(true);
  // The row is the same element with a new text, and the new row stands before it.
  expect(await row!.evaluate((element) => element.isConnected && element.textContent.includes("success"))).toBe(true);
  expect(await page.locator("tbody tr").first().textContent()).toContain("second");
  expect(await isFirst(page)).toBe(true);
  await page.context().close();
});

test("a page asks again after its server was away, gets nothing that it has, and says when one is signed out", async () => {
  const page = await opened();
  const statuses: number[] = [];
  page.on("response", (response) => void statuses.push(response.status()));
  await expect.poll(() => statuses).toContain(304);
  await page.context().route("**/disbursements", (route) => route.abort());
  const away = page.getByText("The service does not respond.");
  await page.waitForEvent("requestfailed");
  await away.waitFor();
  await page.context().unroute("**/disbursements");
  await server.createPayout({ reference: "asked for" });
  await shows(page, "asked for");
  expect(await away.isVisible()).toBe(false);
  expect(await isFirst(page)).toBe(true);
  await page.context().clearCookies();
  await page.getByRole("alert").filter({ hasText: "You are signed out" }).waitFor();
  await page.context().close();
});

const timeOf = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text }).locator("time:visible");

test("the visitor's local time stands beside UTC, also in what has changed, unless it is the same", async () => {
  await server.createPayout({ reference: "local-0" });
  const page = await opened("disbursements", { timezoneId: "Africa/Lagos" });
  await server.createPayout({ reference: "local-1" });
  await shows(page, "local-1");
  const time = timeOf(page, "local-1");
  const at = Date.parse((await time.getAttribute("datetime"))!);
  const inLagos = new Date(at + 3_600_000).toISOString().slice(11, 16);
  expect(await time.locator("small").textContent()).toBe(`${inLagos} in your time zone`);
  expect(await page.locator("time:visible > small").count()).toBe(await page.locator("time:visible").count());
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("link", { name: "local-1" }).click();
  await page.locator(".timeline time > small").first().waitFor();
  await page.getByRole("link", { name: "Sandbox", exact: true }).click();
  await page.locator("p > time[title$='in your time zone']").first().waitFor();
  await page.context().close();

  const inUtc = await opened("disbursements", { timezoneId: "Africa/Abidjan" });
  expect(await timeOf(inUtc, "local-1").textContent()).not.toContain("zone");
  await inUtc.context().close();
});

test("settings and team follow what others change, and keep forms that are half filled in", async () => {
  const page = await opened("settings");
  const address = page.getByRole("textbox", { name: "Address" });
  /** What somebody else does: an address, and a key, which the page then shows. */
  async function change(path: string, key: string) {
    await kofi.post(`${area}/settings/default-webhook`, { url: `http://127.0.0.1:4000/${path}` });
    await kofi.post(`${area}/settings/keys`, { name: key });
    await shows(page, key);
  }
  await page.getByLabel("Name of the new key").pressSequentially("Pay");
  await change("first", "Shop");
  expect(await page.getByLabel("Name of the new key").inputValue()).toBe("Pay");
  expect(await address.inputValue()).toBe("http://127.0.0.1:4000/first");
  await page.getByRole("row").filter({ hasText: "Shop" }).getByText("Revoke the API key…").click();
  await address.fill("http://127.0.0.1:4000/mi");
  await change("second", "Refunds");
  expect(await address.inputValue()).toBe("http://127.0.0.1:4000/mi");
  expect(await page.getByRole("button", { name: /^Revoke the API key …/ }).count()).toBe(1);
  expect(await isFirst(page)).toBe(true);

  // The response to a form goes on as its page.
  await page.getByRole("link", { name: "Team" }).click();
  await page.getByLabel("The person’s name").fill("Esi");
  await page.getByRole("button", { name: "Make a sign-in link" }).click();
  await page.getByLabel("The person’s name").fill("Yaw Men");
  const link = (await page.locator("#shown-once").textContent())!;
  expect(await violationsOf(page)).toEqual([]);
  await enter(server, new URL(link).searchParams.get("token")!);
  await page.getByRole("row").filter({ hasText: "Esi" }).getByText("last seen").waitFor();
  expect(await page.getByLabel("The person’s name").inputValue()).toBe("Yaw Men");
  await page.context().close();
});
