import axe from "axe-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "../../scripts/testing/browser.ts";
import type { Report } from "../results.ts";
import { renderHtml } from "./html.ts";
import { check, exchange, hostile, sampleReport, requirement } from "../testing/sample-report.ts";

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

const failing = requirement("create.repeated", "fail", {
  text: "A duplicate reference is refused.",
  matters: "The recipient is paid twice.",
  checks: [
    check({ name: "in turn" }),
    check({
      name: "at once",
      verdict: "fail",
      actual: "three HTTP 200",
      exchanges: [exchange({ curl: "curl it" })],
      shownBy: 1,
    }),
  ],
});
const varied = () =>
  sampleReport([
    requirement("verify.fields", "pass", { section: "§2.3" }),
    requirement("final.status", "pass", { section: undefined, decision: "D3" }),
    requirement("later.decision", "pass", { section: undefined, decision: "D10" }),
    failing,
    requirement("webhook.failed", "not-applicable", { section: "§6" }),
  ]);

const texts = (page: Page, selector: string) => page.locator(selector).allInnerTexts();

test("shows the verdict and its reason first, then failures with what was expected and received", async () => {
  const { page, trouble } = await opened(varied());
  expect(await texts(page, "h1")).toEqual(["Failed\nhttps://sandbox.example"]);
  const card = page.locator(".card");
  expect(await card.locator("h3").innerText()).toContain("A duplicate reference is refused.");
  expect(await card.locator(".about").innerText()).toContain("§4.1");
  const text = await card.innerText();
  for (const part of [
    "HTTP 409",
    "three HTTP 200",
    "curl it",
    "The recipient is paid twice.",
    "--only create.repeated --seed 42",
  ]) {
    expect(text).toContain(part);
  }
  expect(await texts(page, ".card .check[open] > summary .text")).toEqual(["at once"]);
  expect(trouble).toEqual([]);
});

test("on a phone, causes come before the conditions of the run, and no address is cut", async () => {
  const url = `https://sandbox.example/v1/disbursements/${"DSB8DZFNYH6HN0CTZ2SWKGSR4AZ".repeat(3)}`;
  const exchanges = [exchange({ url, curl: "curl it" })];
  const checks = [check({ verdict: "fail", exchanges, shownBy: 1 })];
  const { page } = await opened(sampleReport([requirement("a", "fail", { checks })]));
  await page.setViewportSize({ width: 380, height: 700 });
  expect((await texts(page, "h2")).slice(0, 3)).toEqual(["Summary", "Needs attention", "The run"]);
  const edges = await page.locator("main p:visible").evaluateAll((all) => all.map(({ scrollWidth }) => scrollWidth));
  expect(Math.max(...edges)).toBeLessThan(380);
});

test("shows requirements that fail for one cause together, the first one open", async () => {
  const evidence = [exchange({ id: 5, status: 500, responseBody: '{"error":"Internal Server Error"}' })];
  const checks = [check({ verdict: "fail", exchanges: evidence, shownBy: 5 })];
  const ids = ["a", "b", "c", "d", "e"];
  const { page } = await opened(sampleReport(ids.map((id) => requirement(id, "fail", { checks }))));
  expect(await texts(page, ".shared")).toEqual([
    expect.stringMatching(/^5 requirements, one cause: The target responds with 500 Internal Server Error\. The value/),
  ]);
  expect(await page.locator(".card:visible").count()).toBe(1);
  expect(await texts(page, ".others > summary")).toEqual(["4 other requirements with this cause"]);
});

test("groups requirements by topic, with each id once", async () => {
  const { page } = await opened(varied());
  expect(await texts(page, ".group > summary h3")).toEqual(["verify", "final", "later", "create", "webhook"]);
  const ids = await page.locator("[id]").evaluateAll((elements) => elements.map(({ id }) => id));
  expect(ids).toEqual([...new Set(ids)]);
});

test("names what was not judged with the reason", async () => {
  const part = requirement("judged.partly", "pass", { reason: { code: "effects", text: "Nothing may be paid." } });
  const report = varied();
  const { page } = await opened({ ...report, requirements: [...report.requirements, part] });
  const text = await page.locator("section:has(> #not-judged)").innerText();
  expect(text).toContain("Partially judged. Nothing may be paid.");
  expect(await page.locator("section:has(> #glance)").innerText()).toContain(
    "3 of 6 musts passed, 1 failed, 1 not applicable, 1 not judged in full",
  );
  expect(text).toContain("Not applicable to this target");
  expect(text).toContain("webhook.failed");
  expect(text).toContain("The target has no payment page to finish.");
});

test("points out records that the target must refuse before anything else", async () => {
  const record = { kind: "disbursement" as const, at: "2026-11-20T10:00:01.000Z", amount: 10_000, currency: "XOF" };
  const { page } = await opened({ ...varied(), created: [record, { ...record, unintended: true }] });
  expect((await texts(page, "h2"))[1]).toBe("The target accepted requests that it must refuse");
  expect(await texts(page, "tr.unintended .number")).toEqual(["100.00 XOF"]);
});

test("says what Dredd judged", () => {
  expect(renderHtml(sampleReport([], { dredd: { transactions: 12, failed: [] } }))).toContain(
    "12 documented responses",
  );
});

test("filters by text and by verdict", async () => {
  const { page } = await opened(varied());
  await page.getByRole("searchbox").fill("d3");
  expect(await texts(page, ".requirement:not([hidden]) > summary code")).toEqual(["final.status"]);
  expect(await texts(page, ".filter output")).toEqual(["1 of 5 shown"]);
  await page.getByRole("searchbox").fill("");
  await page.getByRole("checkbox", { name: "Passed" }).uncheck();
  expect(await texts(page, ".requirement:not([hidden]) > summary code")).toEqual(["create.repeated", "webhook.failed"]);
  await page.getByRole("button", { name: "Expand all" }).click();
  expect(await page.locator(".requirement[open]").count()).toBe(5);
});

test("is readable without scripts, and shows no control that needs them", async () => {
  const { page } = await opened(varied(), { javaScriptEnabled: false });
  expect(await page.locator(".filter").isVisible()).toBe(false);
  expect(await page.locator("button:visible").count()).toBe(0);
  expect(await page.locator(".requirement").count()).toBe(5);
  await page.locator(".requirement", { hasText: "verify.fields" }).locator("> summary").click();
  expect(await page.locator(".requirement[open] .compare").isVisible()).toBe(false);
  await page.locator(".requirement[open] .check > summary").click();
  expect(await page.locator(".requirement[open] .compare").innerText()).toContain("HTTP 409");
});

test("shows what the target sent as text, never as markup", async () => {
  const headers = { [hostile]: hostile };
  const evidence = exchange({
    method: hostile,
    url: hostile,
    requestHeaders: headers,
    requestBody: hostile,
    responseHeaders: headers,
    responseBody: hostile,
    failure: hostile,
    curl: hostile,
  });
  const withoutResponse = { ...evidence, status: undefined };
  const checks = [
    check({
      name: hostile,
      verdict: "fail",
      expected: hostile,
      actual: hostile,
      exchanges: [evidence, withoutResponse],
    }),
  ];
  const everything = requirement(hostile, "fail", { text: hostile, section: hostile, checks });
  const passed = requirement("b", "pass", {
    checks: [check({ name: hostile, actual: hostile, exchanges: [evidence] })],
  });
  const left = requirement("c", "not-applicable", { reason: { code: "target", text: hostile } });
  const { page, trouble } = await opened(
    sampleReport([everything, passed, left], {
      baseUrl: hostile,
      summary: hostile,
      errors: [hostile],
      baselineProblems: [hostile],
      only: [hostile],
      observed: [{ requirement: hostile, name: hostile, value: { [hostile]: hostile } }],
      created: [
        {
          kind: "disbursement",
          at: hostile,
          reference: hostile,
          merchantsReference: hostile,
          amount: 1,
          currency: hostile,
        },
      ],
    }),
  );
  expect(trouble).toEqual([]);
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.locator("script").count()).toBe(1);
  expect(await page.locator("h1").innerText()).toContain(`<script>alert("x")</script>`);
  expect(await page.locator("h1").innerText()).toContain("\\u{1b}[2J");
});

test("does not run an injected script", async () => {
  const page = await browser.newPage();
  const injected = renderHtml(varied()).replace("</main>", `<script>document.title = "owned"</script></main>`);
  await page.setContent(injected);
  expect(await page.title()).toBe("Failed: https://sandbox.example, conformance report");
});

test.each(["light", "dark"] as const)("axe finds no accessibility violation in %s colours", async (colorScheme) => {
  const known = requirement("known", "warn", { knownFailure: { reason: "Fixed in 4.2", expires: "2026-12-31" } });
  const report = sampleReport([...varied().requirements, known, requirement("split", "observed")], {
    errors: ["unreachable"],
    baselineProblems: ["a: no longer fails."],
    observed: [{ requirement: "split", name: "missing amount", value: { text: 400 } }],
    created: [{ kind: "disbursement", at: "2026-11-20T10:00:01.000Z", reference: "DSB1", unintended: true }],
  });
  const { page } = await opened(report);
  await page.emulateMedia({ colorScheme });
  await page.getByRole("button", { name: "Expand all" }).click();
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  expect(passes.map(({ id }) => id)).toContain("color-contrast");
});

test("fits a narrow screen, and prints in light colours without controls", async () => {
  const { page } = await opened(varied());
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  expect(await page.locator(".filter").isVisible()).toBe(false);
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
});
