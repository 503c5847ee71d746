import axe from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";
import { shared } from "./ask-shared.ts";

/** Connects to the browser that all test files share. Closing the connection closes its pages only. */
export const openBrowser = async (): Promise<Browser> => chromium.connect(await shared("browser"));

/**
 * Returns the violations that axe finds on a page. Its script is injected, so no policy applies to it.
 * @param rules the rules to check; by default all
 */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (runOnly) => (globalThis as unknown as { axe: typeof axe }).axe.run(runOnly ? { runOnly } : {}),
    rules,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(", ")}`);
}
