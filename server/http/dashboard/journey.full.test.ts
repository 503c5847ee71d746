// A merchant's first day with the dashboard, in a real browser and by keyboard alone: from the link that a start prints
// to a revoked key. Every page on the way must be accessible, in both colour schemes and on a narrow screen.
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { banner } from "../../banner.ts";
import { linkAddress } from "../../domain/sign-in.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { newLink } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { aPayout, startServer, type TestServer } from "../../testing/server.ts";

const NARROW = { width: 380, height: 800 };
const WIDE = { width: 1_280, height: 800 };
const MOST_TABS = 100;
let server: TestServer;
let receiver: Receiver;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  [server, browser, receiver] = await Promise.all([startServer(), openBrowser(), startReceiver(500)]);
  page = await browser.newPage({ viewport: WIDE });
  page.on("console", (message) => expect.fail(message.text()));
});
afterAll(() => Promise.all([browser.close(), server.close(), receiver.close()]));

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
  await tabTo(page.getByRole(role, { name, exact: true }).first());
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

/** Checks the page as it is now; `JOURNEY_SCREENSHOTS=FOLDER` keeps pictures of it. */
async function suitsEveryone(name: string): Promise<void> {
  const { JOURNEY_SCREENSHOTS: folder } = process.env;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await violationsOf(page, colorScheme === "dark" ? ["color-contrast"] : undefined);
    expect.soft(found, `${name}, ${colorScheme}`).toEqual([]);
    for (const size of [NARROW, WIDE]) {
      await page.setViewportSize(size);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect.soft(width, `${name} at ${size.width}`).toBe(size.width);
      if (folder !== undefined) {
        await page.screenshot({ path: `${folder}/${name}-${size.width}-${colorScheme}.png`, fullPage: true });
      }
    }
  }
}

// A browser on a busy machine may take long for so many pages.
test("a merchant's first day, by keyboard alone", async () => {
  const signIn = linkAddress(server.url, await newLink(server));
  const printed = banner({ config: server.config, newKey: { text: server.key }, signIn, color: false });
  await page.goto(/http\S+sign-in\S+/.exec(printed)![0]);
  await press("button", "Sign in");
  await heading("Merchants");
  await press("link", "Ada Stores");
  await heading("Disbursements");
  await suitsEveryone("no-payments");

  await press("link", "Settings");
  await type("Name of the new key", "Payroll");
  await press("button", "Create an API key");
  const key = (await page.locator("#new-key").textContent())!;
  await suitsEveryone("new-key");
  const payout = aPayout({ webhookURL: receiver.url });
  expect((await server.createPayout(payout, { key })).status).toBe(200);

  await press("link", "Disbursements");
  await press("link", payout.reference);
  await shown("Succeeds");
  await server.pass(server.config.settleDelayMs);
  await shown("Succeeded");
  await shown("Attempt 1: status 500");
  await suitsEveryone("payment");

  await press("link", "Open or replay it");
  await heading(/disbursement\.completed/);
  receiver.respondWith(204);
  await press("button", "Replay");
  await expect.poll(() => server.pass(0).then(() => receiver.received.length)).toBe(2);
  await shown("Attempt 2: status 204");
  await press("link", "Webhooks");
  await type("Host of the receiver", new URL(receiver.url).host);
  await press("button", "Search");
  await press("link", "Replay these…");
  await heading("1 webhook");
  await suitsEveryone("replay");
  await press("button", "Start the replay");
  await heading(/^Replay of webhooks/);
  await expect.poll(() => server.pass(1_000).then(() => receiver.received.length)).toBe(3);
  await shown("1 of 1");

  await press("link", "Sandbox");
  await type("Requests that get 500 (%)", "100");
  await press("button", "Save");
  await shown("Chaos is on.");
  expect((await server.createPayout({}, { key })).status).toBe(500);
  await suitsEveryone("chaos");
  await press("button", "Switch chaos off");
  await page.getByText("Chaos is on.").waitFor({ state: "detached" });

  await press("button", "Create");
  await shown("Succeeds");
  await press("link", "Sandbox");
  await tabTo(page.getByLabel("Move it forward by"));
  await page.keyboard.press("End");
  await press("button", "Show what will happen");
  await shown(/^Disbursement test-.+ succeeds$/);
  await press("button", /^Move the clock to /);
  await heading(/The clock has moved/);
  await shown("Event disbursement.completed");
  await suitsEveryone("moved-clock");

  await press("link", "Settings");
  await tabTo(page.getByText("Rotate…"));
  await page.keyboard.press("Enter");
  await press("button", "Rotate the secret");
  const secret = await page.locator("#current-secret").textContent();
  expect((await server.storage.readSecrets(server.merchant.id)).current).toBe(secret);
  await suitsEveryone("new-secret");
  const row = page.getByRole("row").filter({ hasText: key.slice(-4) });
  await tabTo(row.getByText("Revoke…"));
  await page.keyboard.press("Enter");
  await press("button", `Revoke …${key.slice(-4)}`);
  await row.getByText("revoked", { exact: true }).waitFor();
  await expect.poll(async () => (await server.createPayout({}, { key })).status).toBe(401);
  await press("link", "Audit trail");
  await shown("Revoked the API key");
}, 180_000);
