// The dashboard, and a customer on the payment page, in a browser.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { linkAddress } from "../domain/sign-in.ts";
import { textIn, type Language } from "../texts/index.ts";
import { newLink } from "./dashboard-visitor.ts";
import type { TestServer } from "./server.ts";

/** Opens a link to sign in, in a browser of its own. Fails the test if a policy blocks anything, or a script fails. */
export async function openLink(browser: Browser, server: TestServer, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  context.on("console", (message) => expect.fail(message.text()));
  context.on("weberror", (error) => expect.fail(String(error.error())));
  const page = await context.newPage();
  await page.goto(linkAddress(server.url, await newLink(server)));
  return page;
}

/** Signs an operator in with a browser. */
export async function browse(...how: Parameters<typeof openLink>): Promise<Page> {
  const page = await openLink(...how);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  return page;
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
