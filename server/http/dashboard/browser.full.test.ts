// The dashboard in a real browser: the accessibility of every page, found by the servers' own routes, and people's ways.
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openBrowser, violationsOf } from "../../../scripts/testing/browser.ts";
import { browse, openLink } from "../../testing/browser.ts";
import { filledDashboard, openDashboard } from "../../testing/dashboard.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { aPayout } from "../../testing/server.ts";

const NARROW = { width: 380, height: 800 };
const WIDE = { width: 1_280, height: 800 };
const MOST_TABS = 100;
const [browser, down] = await Promise.all([openBrowser(), startReceiver(500)]);
const sandbox = await filledDashboard({
  merchant: "Établissements Kouassi & Söhne, import, export et transport international",
  reference: "Bon-de-commande-".repeat(4),
  amount: 2 ** 50,
  webhookURL: down.url,
});
for (let index = 0; index < 30; index++) await sandbox.server.createCheckout();
const requestId = await vi.waitUntil(async () => {
  sandbox.server.clock.advance(500);
  const { items } = await sandbox.server.storage.listRequests({ merchantId: sandbox.id, limit: 1 });
  return items[0]?.requestId;
}, 60_000);
const live = await filledDashboard({ isLive: true });
afterAll(() => Promise.all([browser.close(), sandbox.close(), live.close(), down.close()]));

/** Every page, with long and many values; of a live service those that a sandbox does not have. */
const isPage = ({ route }: { route: string }) => /^\/dashboard(?!.*\.(css|csv|js)$)/.test(route);
const known = new Set(sandbox.pages.map(({ route }) => route));
const pagesOf = (filled: typeof live, more: string[]) => [
  ...filled.pages
    .filter((page) => isPage(page) && (filled === sandbox || !known.has(page.route)))
    .map(({ path }) => path),
  ...more.map((path) => `/dashboard${path}`),
];
const { area } = sandbox;
const [, waiting] = sandbox.waiting[0]!.split("/");
const services: [string, typeof live, string[]][] = [
  [
    "a sandbox",
    sandbox,
    pagesOf(sandbox, [
      `?search=${waiting}`,
      `${area}/overview?of=checkouts`,
      `${area}/checkouts?search=nothing`,
      `${area}/disbursements/${waiting}`,
      `${area}/webhooks?status=failed&type=disbursement.completed`,
      `${area}/requests?request=${requestId}`,
      `${area}/nothing`,
    ]),
  ],
  [
    "a live service",
    live,
    pagesOf(
      live,
      live.attention.map((reference) => `${live.area}/disbursements/${reference}`),
    ),
  ],
];

/** Checks a page in both colours, narrow and wide; `DASHBOARD_SCREENSHOTS=FOLDER` keeps pictures of it. */
async function suitsEveryone(page: Page, name: string): Promise<void> {
  const { DASHBOARD_SCREENSHOTS: folder } = process.env;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await violationsOf(page, colorScheme === "dark" ? ["color-contrast"] : undefined);
    expect.soft(found, `${name}, ${colorScheme}`).toEqual([]);
    for (const size of [NARROW, WIDE]) {
      await page.setViewportSize(size);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect.soft(width, `${name} at ${size.width}`).toBe(size.width);
      const path = `${folder}/${name.replaceAll(/\W+/g, "-")}-${size.width}-${colorScheme}.png`;
      if (folder !== undefined) await page.screenshot({ path, fullPage: true });
    }
  }
}

describe.each(services)("every page of %s suits everyone", (_, filled, paths) => {
  let context: BrowserContext;
  beforeAll(async () => {
    context = (await browse(browser, filled.server)).context();
    context.removeAllListeners("console");
  });
  afterAll(() => context.close());

  test.each(paths)("%s", async (path) => {
    const page = await context.newPage();
    // French words are longer.
    for (const language of ["en", "fr"]) {
      await context.addCookies([{ name: "language", value: language, url: filled.server.url }]);
      await page.setViewportSize(NARROW);
      await page.goto(filled.server.url + path);
      for (const details of await page.locator("main details > summary").all()) await details.click();
      expect(await page.locator("html").getAttribute("lang")).toBe(language);
      await suitsEveryone(page, `${path}-${language}`);
    }
    await page.close();
  });
});

test("no request after the link contains its token, and forms state their origin", async () => {
  const { server } = sandbox;
  const page = await openLink(browser, server);
  const token = new URL(page.url()).searchParams.get("token")!;
  const sent: Promise<Record<string, string>>[] = [];
  page.on("request", (one) => sent.push(one.allHeaders()));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  await page.getByRole("link", { name: "Établissements" }).click();
  await page.getByRole("heading", { name: "Disbursements" }).waitFor();
  const headers = await Promise.all(sent);
  expect(headers.length).toBeGreaterThan(2);
  expect(headers[0]).toMatchObject({ origin: server.url, referer: `${server.url}/` });
  expect(JSON.stringify(headers)).not.toContain(token);
  expect(await page.evaluate(() => document.referrer)).toBe(`${server.url}/`);
  await page.context().close();
});

test("a merchant's first day, by keyboard alone, with a focus that is always visible", async () => {
  const dashboard = await openDashboard();
  const { server, receiver } = dashboard;
  receiver.respondWith(500);
  const page = await openLink(browser, server, { viewport: WIDE });
  /** Moves the focus to an element with the Tab key. */
  async function tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < MOST_TABS; presses += 1) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`The Tab key does not reach ${target.toString()}.`);
  }

  async function press(role: "button" | "link", name: string | RegExp): Promise<void> {
    const target = page.getByRole(role, { name, exact: true }).first();
    await tabTo(target);
    expect.soft(await target.evaluate((element) => getComputedStyle(element).outlineStyle), String(name)).toBe("solid");
    await page.keyboard.press("Enter");
  }

  /** Types into a field with the keyboard, in place of what it contains. */
  async function type(label: string, text: string): Promise<void> {
    await tabTo(page.getByLabel(label, { exact: true }));
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type(text);
  }

  const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
  const heading = (name: string | RegExp) => page.getByRole("heading", { name, exact: true }).first().waitFor();

  await press("button", "Sign in");
  await heading("Merchants");
  await press("link", "Ada Stores");
  await heading("Disbursements");
  await suitsEveryone(page, "no-payments");

  await press("link", "Settings");
  await type("Name of the new key", "Payroll");
  await press("button", "Create an API key");
  const key = (await page.locator("#shown-once").textContent())!;
  await suitsEveryone(page, "new-key");
  const payout = aPayout({ webhookURL: receiver.url });
  expect((await server.createPayout(payout, { key })).status).toBe(200);

  await press("link", "Disbursements");
  await press("link", payout.reference);
  await shown("Due: success");
  await server.pass(server.config.settleDelayMs);
  await shown("Attempt 1");
  await shown("Attempt 1: status 500");
  await suitsEveryone(page, "payment");

  await press("link", "Open or replay it");
  await heading(/disbursement\.completed/);
  receiver.respondWith(204);
  await press("button", "Replay the webhook");
  await expect.poll(() => server.pass(0).then(() => receiver.received.length)).toBe(2);
  await shown("Attempt 2: status 204");
  await press("link", "Webhooks");
  await type("Host of the receiver", new URL(receiver.url).host);
  await press("button", "Search");
  await press("link", "Replay these…");
  await shown("Webhooks: 1");
  await suitsEveryone(page, "replay");
  await press("button", "Start a replay of webhooks");
  await heading("Replays");
  await expect.poll(() => server.pass(1_000).then(() => receiver.received.length)).toBe(3);
  await shown("1 of 1");

  await press("link", "Sandbox");
  await tabTo(page.getByLabel("Move it forward by"));
  await page.keyboard.press("End");
  await press("button", "Move the sandbox’s clock…");
  await press("button", "Move the sandbox’s clock");
  await shown("+7 days");
  await suitsEveryone(page, "moved-clock");

  await press("link", "Settings");
  await tabTo(page.getByText("Replace the webhook secret…"));
  await page.keyboard.press("Enter");
  await press("button", "Replace the webhook secret");
  const secret = await page.locator("#shown-once").textContent();
  expect((await server.storage.readSecrets(server.merchant.id)).current).toBe(secret);
  await suitsEveryone(page, "new-secret");
  const row = page.getByRole("row").filter({ hasText: key.slice(-4) });
  await tabTo(row.getByText("Revoke the API key…"));
  await page.keyboard.press("Enter");
  await press("button", `Revoke the API key …${key.slice(-4)}`);
  await row.getByText("revoked", { exact: true }).waitFor();
  await expect.poll(async () => (await server.createPayout({}, { key })).status).toBe(401);
  await press("link", "Audit trail");
  await shown("Revoke the API key");
  await page.context().close();
  await dashboard.close();
});
