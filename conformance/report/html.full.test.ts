import axe from "axe-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "../../scripts/testing/browser.ts";
import type { Report } from "../results.ts";
import { renderHtml } from "./html.ts";
import { busyReport, check, exchange, hostileReport, requirement, sampleReport } from "../testing/sample-report.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Opens the report in a browser. `trouble` collects requests, dialogs, script errors and console messages. */
async function opened(report: Report, options: { javaScriptEnabled?: boolean } = {}) {
  const page = await browser.newPage(options);
  const trouble: string[] = [];
  page.on("request", (request) => trouble.push(`request ${request.url()}`));
  page.on("dialog", async (dialog) => {
    trouble.push(`dialog ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("pageerror", (error) => trouble.push(`error ${error.message}`));
  page.on("console", (message) => trouble.push(`console ${message.text()}`));
  await page.setContent(renderHtml(report));
  return { page, trouble };
}

const { errors, created } = busyReport;
const observed = [{ requirement: "create.observed", name: "missing amount", value: { text: 400 } }];
const varied = sampleReport(
  [
    ...busyReport.requirements,
    requirement("final.status", "pass", { section: undefined, decision: "D3" }),
    requirement("later.decision", "pass", { section: undefined, decision: "D10" }),
    requirement("judged.partly", "pass", { reason: { code: "effects", text: "Nothing may be paid." } }),
  ],
  { errors, created, observed },
);

const texts = (page: Page, selector: string) => page.locator(selector).allInnerTexts();

test("shows the verdict first, then the failed check of each cause, and what was not judged", async () => {
  const { page, trouble } = await opened(varied);
  expect(await texts(page, "h1")).toEqual(["Failed\nhttps://sandbox.example"]);
  expect((await texts(page, "h2"))[1]).toBe("The target accepted requests that it must refuse");
  expect(await texts(page, "tr.unintended .number")).toEqual(["100.00 XOF"]);
  expect(await texts(page, ".others > summary")).toEqual(["2 other requirements with this cause"]);
  const card = page.locator(".card:visible").first();
  expect(await card.locator(".check[open] > summary .text").allInnerTexts()).toEqual(["8 at once"]);
  for (const text of ["one HTTP 200", "three HTTP 200", "curl last", "--only create.repeated --seed 42"])
    expect(await card.innerText()).toContain(text);
  const topics = ["auth", "create", "late", "keys", "webhook", "final", "later", "judged"];
  expect(await texts(page, ".group > summary h3")).toEqual(topics);
  const ids = await page.locator("[id]").evaluateAll((elements) => elements.map(({ id }) => id));
  expect(ids).toEqual([...new Set(ids)]);
  const open = await page.locator("section:has(> #not-judged)").innerText();
  for (const text of ["Partially judged. Nothing may be paid.", "Not applicable to this target", "late.a"])
    expect(open).toContain(text);
  expect(trouble).toEqual([]);
});

test("filters by text and by verdict", async () => {
  const { page } = await opened(varied);
  await page.getByRole("searchbox").fill("d3");
  expect(await texts(page, ".requirement:not([hidden]) > summary code")).toEqual(["final.status"]);
  expect(await texts(page, ".filter output")).toEqual(["1 of 15 shown"]);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("checkbox", { name: "Passed" }).uncheck();
  const others = varied.requirements.filter(({ verdict }) => verdict !== "pass").map(({ id }) => id);
  expect(await texts(page, ".requirement:not([hidden]) > summary code")).toEqual(others);
  await page.getByRole("button", { name: "Expand all" }).click();
  expect(await page.locator(".requirement[open]").count()).toBe(15);
});

test("is readable without scripts, and shows no control that needs them", async () => {
  const { page } = await opened(varied, { javaScriptEnabled: false });
  expect(await page.locator(".filter").isVisible()).toBe(false);
  expect(await page.locator("button:visible").count()).toBe(0);
  expect(await page.locator(".requirement").count()).toBe(15);
  await page.locator(".requirement", { hasText: "final.status" }).locator("> summary").click();
  expect(await page.locator(".requirement[open] .compare").isVisible()).toBe(false);
  await page.locator(".requirement[open] .check > summary").click();
  expect(await page.locator(".requirement[open] .compare").innerText()).toContain("HTTP 409");
});

test("shows what the target sent as text, never as markup, and runs no injected script", async () => {
  const { page, trouble } = await opened(hostileReport);
  expect(trouble).toEqual([]);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.locator("script").count()).toBe(1);
  expect(await page.locator("h1").innerText()).toContain(`<script>alert("x")</script>`);
  await page.setContent(
    renderHtml(hostileReport).replace("</main>", `<script>document.title = "owned"</script></main>`),
  );
  expect(await page.title()).not.toBe("owned");
});

test.each(["light", "dark"] as const)("axe finds no accessibility violation in %s colours", async (colorScheme) => {
  const { page } = await opened(varied);
  await page.emulateMedia({ colorScheme });
  await page.getByRole("button", { name: "Expand all" }).click();
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
});

test("on a phone, causes come before the conditions of the run, and nothing is cut; in print there are no controls", async () => {
  const url = `https://sandbox.example/v1/disbursements/${"DSB8DZFNYH6HN0CTZ2SWKGSR4AZ".repeat(3)}`;
  const checks = [check({ verdict: "fail", exchanges: [exchange({ url, curl: "curl it" })], shownBy: 1 })];
  const { page } = await opened(sampleReport([requirement("a", "fail", { checks })]));
  await page.setViewportSize({ width: 360, height: 700 });
  expect((await texts(page, "h2")).slice(0, 3)).toEqual(["Summary", "Needs attention", "The run"]);
  const edges = await page.locator("html, main p:visible").evaluateAll((all) => all.map((each) => each.scrollWidth));
  expect(Math.max(...edges)).toBeLessThanOrEqual(360);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  expect(await page.locator(".filter").isVisible()).toBe(false);
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
});
