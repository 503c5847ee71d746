// Customer actions on the payment page, for browser tests.
import type { Page } from "playwright-core";
import { texts, type Locale } from "../http/pages/texts.ts";

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
export async function waits(page: Page, locale: Locale = "en"): Promise<void> {
  await page.waitForURL("**/return");
  await shows(page, texts[locale].waiting.heading);
}
