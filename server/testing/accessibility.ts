import axe from "axe-core";
import type { Page } from "playwright-core";

/**
 * Returns the violations that axe finds on a page. Its script is injected, so no policy applies to it.
 * @param rules the rules to check; by default all
 * @param exclude selects parts of the page that are not checked
 */
export async function violationsOf(page: Page, rules?: string[], exclude: string[] = []): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    ({ runOnly, parts }) =>
      (globalThis as unknown as { axe: typeof axe }).axe.run({ exclude: parts }, runOnly ? { runOnly } : {}),
    { runOnly: rules, parts: exclude },
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(", ")}`);
}
