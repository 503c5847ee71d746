// The dashboard in a real browser: a person's way through it, and the accessibility of every page.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { linkAddress } from "../../domain/sign-in.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { newLink } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const NARROW = { width: 380, height: 720 };
const LONG = "Bon-de-commande-".repeat(4);
let server: TestServer;
let receiver: Receiver;
let browser: Browser;
let payout: string;
let delivery: string;
let replay: string;
let request: string;
let longName: string;
/** A payout that waits for approval, of the merchant with the long name. */
let waiting: string;
beforeAll(async () => {
  [server, browser, receiver] = await Promise.all([startServer(), openBrowser(), startReceiver(500)]);
  const { body } = await server.createPayout({ reference: LONG, amount: 2 ** 53 - 1, webhookURL: receiver.url });
  payout = body.data.reference;
  for (let index = 0; index < 30; index++) await server.createCheckout();
  await server.pass(server.config.settleDelayMs);
  await vi.waitFor(async () => {
    const logged = await server.storage.listRequests({ merchantId: server.merchant.id, limit: 1 });
    if (logged.items.length === 0) throw new Error("The log of requests is empty.");
    request = logged.items[0]!.requestId;
  }, 20_000);
  const { items } = await server.storage.listDeliveries({ merchantId: server.merchant.id, limit: 1 });
  delivery = items[0]!.id;
  const { id: merchantId } = server.merchant;
  replay = "stopped-replay";
  const filter = { host: `${LONG.toLowerCase()}.example`, createdAfter: server.clock.now() };
  await server.storage.startReplay({ id: replay, merchantId, filter, pace: 20, expected: 7 }, "dashboard Ada");
  await server.storage.stopReplay(merchantId, replay, "dashboard Ada");
  receiver.respondWith(410);
  await server.createPayout({ phoneNumber: "2250700000001", webhookURL: receiver.url });
  await server.pass(0);
  const long = await server.addMerchant("Établissements Kouassi & Söhne, import, export et transport international");
  longName = long.merchant.id;
  const limits = { perPayment: { XOF: 2 ** 53 - 1 }, recipients: ["2257038102473"], approvalFrom: { XOF: 1 } };
  await server.storage.setMerchantLimits(longName, limits, "command ada@host");
  waiting = (await server.createPayout({ reference: LONG, amount: 2 ** 53 - 1 }, { key: long.key })).body.data
    .reference;
});
afterAll(() => Promise.all([browser.close(), server.close(), receiver.close()]));

const pages: Page[] = [];
afterEach(async () => {
  for (const page of pages.splice(0)) await page.context().close();
});

/** Opens a link to sign in. Fails the test if a page's policy blocks anything. */
async function opened(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  pages.push(page);
  context.on("console", (message) => expect.fail(message.text()));
  await page.goto(linkAddress(server.url, await newLink(server)));
  return page;
}

async function signedIn(options?: BrowserContextOptions): Promise<Page> {
  const page = await opened(options);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  return page;
}

const area = () => `${server.url}/dashboard/m/${server.merchant.id}`;

test("without scripts, from the link to a new key, its first payout, and its revocation", async () => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.getByRole("link", { name: "Ada Stores" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Name of the new key").fill("Payroll");
  await page.getByRole("button", { name: "Create an API key" }).click();
  const key = (await page.locator("#new-key").textContent())!;
  const { status } = await server.createPayout({ reference: `with-${key.slice(-9)}` }, { key });
  expect(status).toBe(200);

  await page.getByRole("link", { name: "Disbursements" }).click();
  await page.getByLabel("Reference or phone number").fill(`with-${key.slice(-9)}`);
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: `with-${key.slice(-9)}` }).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();

  await page.getByRole("link", { name: "Settings" }).click();
  const row = page.getByRole("row").filter({ hasText: `…${key.slice(-4)}` });
  await row.getByText("Revoke…").click();
  await row.getByRole("button", { name: "Revoke" }).click();
  await row.getByText("revoked", { exact: true }).waitFor();
  expect((await server.createPayout({}, { key })).status).toBe(401);

  await page.getByText("Ada", { exact: true }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(area());
  expect(page.url()).toMatch(/sign-in$/);
});

test("no request after the link contains its token, and forms state their origin", async () => {
  const page = await opened();
  const token = new URL(page.url()).searchParams.get("token")!;
  const sent: Promise<Record<string, string>>[] = [];
  page.on("request", (one) => sent.push(one.allHeaders()));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  await page.getByRole("link", { name: "Ada Stores" }).click();
  await page.getByRole("heading", { name: "Disbursements" }).waitFor();
  const headers = await Promise.all(sent);
  expect(headers.length).toBeGreaterThan(2);
  expect(headers[0]).toMatchObject({ origin: server.url, referer: `${server.url}/` });
  expect(JSON.stringify(headers)).not.toContain(token);
  expect(await page.evaluate(() => document.referrer)).toBe(`${server.url}/`);
});

test("the keyboard alone is enough, and the focus is always visible", async () => {
  const page = await opened();
  const press = async (key: string, times = 1) => {
    for (let index = 0; index < times; index++) await page.keyboard.press(key);
  };
  const focused = () =>
    page.locator(":focus").evaluate((element) => ({
      text: element.textContent.trim(),
      outlined: getComputedStyle(element).outlineStyle === "solid",
    }));
  await press("Tab");
  expect(await focused()).toEqual({ text: "Skip to the content", outlined: true });
  await press("Tab", 2);
  expect(await focused()).toEqual({ text: "Sign in", outlined: true });
  await press("Enter");
  await page.waitForURL("**/dashboard");
  await press("Tab", 3);
  expect(await focused()).toEqual({ text: "Docs", outlined: true });
  await press("Tab");
  expect(await focused()).toEqual({ text: "Ada", outlined: true });
  await press("Enter");
  await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
  await press("Tab");
  await press("Escape");
  expect(await page.getByRole("button", { name: "Sign out", exact: true }).isVisible()).toBe(false);
  expect(await focused()).toEqual({ text: "Ada", outlined: true });
  await press("Enter");
  await press("Tab", 11);
  expect(await focused()).toEqual({ text: "Ada Stores", outlined: true });
  await press("Enter");
  await page.getByRole("heading", { name: "Disbursements" }).waitFor();
});

/** Every page, with long and many values. */
const PAGES: Record<string, () => string> = {
  "the sign-in page": () => `${server.url}/dashboard/sign-in`,
  "the operators' team": () => `${server.url}/dashboard/team`,
  "the merchants": () => `${server.url}/dashboard`,
  "a search across merchants": () => `${server.url}/dashboard?search=${payout}`,
  "a merchant to manage": () => `${server.url}/dashboard/merchants/${longName}`,
  "a merchant before it is closed": () => `${server.url}/dashboard/merchants/${longName}/close`,
  "an overview": () => `${area()}/overview?range=month`,
  "the overview of all merchants": () => `${server.url}/dashboard/overview`,
  disbursements: () => `${area()}/disbursements`,
  checkouts: () => `${area()}/checkouts?status=pending`,
  "a search without result": () => `${area()}/checkouts?search=nothing`,
  "a payment": () => `${area()}/disbursements/${payout}`,
  "a payment that waits for approval": () => `${server.url}/dashboard/m/${longName}/disbursements/${waiting}`,
  "payouts that wait for approval": () => `${server.url}/dashboard/approvals`,
  "a payout before it is rejected": () =>
    `${server.url}/dashboard/m/${longName}/approvals/reject?payment=${longName}/${waiting}`,
  webhooks: () => `${area()}/webhooks`,
  "a webhook": () => `${area()}/webhooks/${delivery}`,
  "a search for webhooks": () => `${area()}/webhooks?status=failed&type=disbursement.completed`,
  "a replay before it starts": () => `${area()}/replays/new?status=failed`,
  "a replay": () => `${area()}/replays/${replay}`,
  replays: () => `${area()}/replays`,
  requests: () => `${area()}/requests?result=2xx`,
  "a request": () => `${area()}/requests?request=${request}`,
  "the sandbox": () => `${area()}/sandbox`,
  settings: () => `${area()}/settings`,
  "a merchant with a long name": () => `${server.url}/dashboard/m/${longName}/settings`,
  "a merchant's team": () => `${area()}/team`,
  balances: () => `${area()}/balances`,
  "the balances of all merchants": () => `${server.url}/dashboard/balances`,
  "the audit trail": () => `${area()}/audit`,
  "the audit trail of all merchants": () => `${server.url}/dashboard/audit`,
  "an error": () => `${area()}/nothing`,
};

describe("every page passes axe in light and dark colours, and fits a narrow screen", () => {
  test.each(Object.entries(PAGES))("%s", async (name, address) => {
    const page = await signedIn({ viewport: NARROW });
    page.context().removeAllListeners("console");
    await page.goto(address());
    for (const details of await page.locator("main details > summary").all()) await details.click();
    expect(await violationsOf(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page, ["color-contrast"])).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(NARROW.width);
    const { DASHBOARD_SCREENSHOTS: folder } = process.env;
    const path = `${folder}/${name.replaceAll(" ", "-")}`;
    if (folder !== undefined) await screenshots(page, path);
    // French words are longer.
    await page.context().addCookies([{ name: "language", value: "fr", url: server.url }]);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(NARROW);
    await page.reload();
    for (const details of await page.locator("main details > summary").all()) await details.click();
    expect(await page.locator("html").getAttribute("lang")).toBe("fr");
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(NARROW.width);
    if (folder !== undefined) await screenshots(page, `${path}-fr`);
  });
});

/** For people who look at the pages: `DASHBOARD_SCREENSHOTS=FOLDER npx vitest run server/http/dashboard/browser`. */
async function screenshots(page: Page, path: string): Promise<void> {
  for (const width of [NARROW.width, 1_280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${path}-${width}-${colorScheme}.png`, fullPage: true });
    }
  }
}
