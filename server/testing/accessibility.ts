import axe from "axe-core";
import type { Page } from "playwright-core";

/**
 * Returns the violations that axe finds on a page. Its script is injected, so no policy applies to it.
 * @param rules the rules to check; by default all
 */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (runOnly) => (globalThis as unknown as { axe: typeof axe }).axe.run(runOnly ? { runOnly } : {}),
    rules,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(", ")}`);
}
