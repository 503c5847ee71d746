// The dashboard, and a customer on the payment page, in a browser.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { violationsOf } from "../../scripts/testing/browser.ts";
import { linkAddress } from "../domain/sign-in.ts";
import { textIn, type Language } from "../texts/index.ts";
import { newLink } from "./dashboard-visitor.ts";
import type { TestServer } from "./server.ts";

/** Opens an address in a browser of its own. Fails the test if a policy blocks anything, or a script fails. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) expect.fail(message.text());
  });
  context.on("weberror", (error) => expect.fail(String(error.error())));
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Signs an operator in with a browser. */
export async function browse(browser: Browser, server: TestServer, options?: BrowserContextOptions): Promise<Page> {
  const page = await openPage(browser, linkAddress(server.url, await newLink(server)), options);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  return page;
}

/** Expects that a page passes axe in both colours, and scrolls only downwards at these widths. */
export async function suitsEveryone(page: Page, name: string, ...widths: number[]): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await violationsOf(page, colorScheme === "dark" ? ["color-contrast"] : undefined);
    expect.soft(found, `${name}, ${colorScheme}`).toEqual([]);
  }
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), `${name} at ${width}`).toBe(width);
  }
}

export const number = (page: Page) => page.getByLabel(/mobile money/);
export const payButton = (page: Page) => page.getByRole("button", { name: /^(Pay|Payer) / });
export const cancelButton = (page: Page) => page.getByRole("button", { name: /^(Cancel|Annuler) / });

export async function payWith(page: Page, typed: string): Promise<void> {
  await number(page).fill(typed);
  await payButton(page).click();
}

/** Waits until the page has this heading. */
export const shows = (page: Page, heading: string): Promise<void> =>
  page.getByRole("heading", { level: 1, name: heading }).waitFor();

/** Waits for the waiting page at its own URL. The response to the form looks the same and leads to that URL. */
export async function waits(page: Page, locale: Language = "en"): Promise<void> {
  await page.waitForURL("**/return");
  await shows(page, textIn(locale, "pay.waiting"));
}
