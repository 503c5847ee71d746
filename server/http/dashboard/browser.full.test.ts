// The dashboard in a real browser: the accessibility of every page, found by the servers' own routes.
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { browse, suitsEveryone } from "../../testing/browser.ts";
import { filledDashboard } from "../../testing/dashboard.ts";
import { startReceiver } from "../../testing/receiver.ts";

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
