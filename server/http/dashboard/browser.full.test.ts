// The dashboard in a real browser: the accessibility of every page, found by the servers' own routes, and people's ways.
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { browse, openLink, suitsEveryone } from "../../testing/browser.ts";
import { filledDashboard, openDashboard } from "../../testing/dashboard.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { aPayout } from "../../testing/server.ts";

const [NARROW, WIDE] = [380, 1_280];
const [browser, down] = await Promise.all([openBrowser(), startReceiver(500)]);
const sandbox = await filledDashboard({
  merchant: "Établissements Kouassi & Söhne, import, export et transport international",
  reference: "Bon-de-commande-".repeat(4),
  amount: 2 ** 50,
  webhookURL: down.url,
});
for (let index = 0; index < 30; index++) await sandbox.server.createCheckout();
const hanging = await sandbox.server.createPayout({ phoneNumber: "2250000000129" });
const requestId = await vi.waitUntil(async () => {
  sandbox.server.clock.advance(500);
  const { items } = await sandbox.server.storage.listRequests({ merchantId: sandbox.id, limit: 1 });
  return items[0]?.requestId;
}, 60_000);
const live = await filledDashboard({ isLive: true });
afterAll(() => Promise.all([browser.close(), sandbox.close(), live.close(), down.close()]));

/** Every page, with long and many values; of a live service those that a sandbox does not have. */
const known = new Set(sandbox.pages.map(({ route }) => route));
const pagesOf = (filled: typeof live, more: string[]) => [
  ...filled.pages
    .filter(({ route }) => !/\.(css|csv|js)$/.test(route) && (filled === sandbox || !known.has(route)))
    .map(({ path }) => path),
  ...more,
];
const { area } = sandbox;
const [, waiting] = sandbox.waiting[0]!.split("/");
const payments = live.attention.map((reference) => `${live.area}/disbursements/${reference}`);
const services: [string, typeof live, string[]][] = [
  [
    "a sandbox",
    sandbox,
    pagesOf(sandbox, [
      `?search=${waiting}`,
      `${area}/overview?of=checkouts`,
      `${area}/checkouts?search=nothing`,
      `${area}/disbursements/${waiting}`,
      `${area}/disbursements/${hanging.body.data.reference}`,
      `${area}/webhooks?status=failed&type=disbursement.completed`,
      `${area}/requests?request=${requestId}`,
      `${area}/nothing`,
    ]),
  ],
  ["a live service", live, pagesOf(live, payments)],
];

/** Visits the controls of a page with the Tab key. Returns those that it does not reach, or whose focus is not visible. */
async function unreachable(page: Page): Promise<string[]> {
  const reached = await page.evaluateHandle(() => new Set<Element>());
  const visitNext = (all: Set<Element>) => {
    const { activeElement: focused, body } = document;
    if (focused && getComputedStyle(focused).outlineStyle === "solid") all.add(focused);
    return focused !== body;
  };
  // The first turn begins where a click was.
  for (const _ of [1, 2]) {
    do await page.keyboard.press("Tab");
    while (await page.evaluate(visitNext, reached));
  }
  const controls = page.locator("a, button, input, select, summary").filter({ visible: true });
  return controls.evaluateAll(
    (all, found) => all.filter((each) => !found.has(each)).map(({ outerHTML }) => outerHTML),
    reached,
  );
}

describe.each(services)("every page of %s suits everyone", (_, filled, paths) => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = (await browse(browser, filled.server)).context();
  });
  afterAll(() => context.close());

  test.each(paths)("%s", async (path) => {
    const page = await context.newPage();
    // French words are longer.
    for (const language of ["en", "fr"]) {
      await context.setExtraHTTPHeaders({ "accept-language": language });
      await page.setViewportSize({ width: NARROW, height: 800 });
      await page.goto(`${filled.server.url}/dashboard${path}`);
      for (const details of await page.locator("main details > summary").all()) await details.click();
      expect(await page.locator("html").getAttribute("lang")).toBe(language);
      await suitsEveryone(page, `${path}, ${language}`, NARROW, WIDE);
    }
    expect.soft(await unreachable(page), path).toEqual([]);
    await page.close();
  });
});

test("a merchant's first day, with the keyboard alone", async () => {
  const dashboard = await openDashboard();
  const { server, receiver } = dashboard;
  receiver.respondWith(500);
  const page = await openLink(browser, server, { viewport: { width: WIDE, height: 800 } });
  /** Moves the focus to an element with the Tab key, and presses a key there. */
  async function press(target: Locator, key = "Enter"): Promise<void> {
    await target.waitFor();
    while (!(await target.evaluate((element) => element === document.activeElement))) await page.keyboard.press("Tab");
    await page.keyboard.press(key);
  }
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const link = (name: string) => page.getByRole("link", { name, exact: true }).first();
  const shown = (text: string) => page.getByText(text).first().waitFor();

  await press(button("Sign in"));
  await press(link("Ada Stores"));
  await page.getByRole("heading", { name: "Disbursements" }).waitFor();
  await suitsEveryone(page, "no-payments", NARROW, WIDE);
  await press(link("Settings"));
  await press(page.getByLabel("Name of the new key"), "ControlOrMeta+A");
  await page.keyboard.type("Payroll");
  await press(button("Create an API key"));
  const key = (await page.locator("#shown-once").textContent())!;
  await suitsEveryone(page, "new-key", NARROW, WIDE);
  const payout = aPayout({ webhookURL: receiver.url });
  expect((await server.createPayout(payout, { key })).status).toBe(200);

  await press(link("Disbursements"));
  await press(link(payout.reference));
  await shown("Due: success");
  await server.pass(server.config.settleDelayMs);
  await shown("Attempt 1: status 500");
  await suitsEveryone(page, "payment", NARROW, WIDE);
  await press(link("Open or replay it"));
  receiver.respondWith(204);
  await press(button("Replay the webhook"));
  await expect.poll(() => server.pass(0).then(() => receiver.received.length)).toBe(2);
  await shown("Attempt 2: status 204");

  await press(link("Sandbox"));
  await press(page.getByLabel("Move it forward by"), "End");
  await press(button("Move the sandbox’s clock…"));
  await press(button("Move the sandbox’s clock"));
  await shown("+7 days");
  await suitsEveryone(page, "moved-clock", NARROW, WIDE);
  await press(link("Settings"));
  const row = page.getByRole("row").filter({ hasText: key.slice(-4) });
  await press(row.getByText("Revoke the API key…"));
  await press(button(`Revoke the API key …${key.slice(-4)}`));
  await row.getByText("revoked", { exact: true }).waitFor();
  await expect.poll(async () => (await server.createPayout({}, { key })).status).toBe(401);
  await page.context().close();
  await dashboard.close();
});
