// The pages of a live service, in a real browser: what needs a person, the rails, and the comparison with a rail.
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { linkAddress } from "../../domain/sign-in.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { newLink } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const HOUR = 3_600_000;
const NARROW = { width: 380, height: 720 };
let rail: TestRail;
let server: TestServer;
let browser: Browser;
const pages: Page[] = [];
/** Payouts: one that was contradicted, and one whose outcome is unknown. */
let contradicted: string;
let unknown: string;

beforeAll(async () => {
  rail = createTestRail();
  [server, browser] = await Promise.all([
    startServer({ env: { SANDBOX: "false", ONE_OPERATOR_DECIDES: "true" }, rails: railsOf(rail) }),
    openBrowser(),
  ]);
  contradicted = await pay("salary-".repeat(8));
  const answer = { status: "failed" } as const;
  rail.ledger.get(contradicted)!.answer = answer;
  await server.storage.recordNotification("test", contradicted, { exchanges: [], answer, askAgainAfterMs: 0 });
  rail.answers.push(new Error("The connection was closed."));
  rail.found.push(...Array.from({ length: 20 }, () => new Error("no response")));
  unknown = await pay("salary-2");
  await server.pass(HOUR + 1);
});
afterEach(async () => {
  for (const page of pages.splice(0)) await page.context().close();
});
afterAll(() => Promise.all([browser.close(), server.close()]));

async function pay(reference: string): Promise<string> {
  const { body } = await server.createPayout({ reference, amount: 123_456_789_000 });
  await server.pass(0);
  return body.data.reference;
}

/** Fails the test if a page's policy blocks anything. */
async function signedIn(viewport?: typeof NARROW): Promise<Page> {
  const context = await browser.newContext(viewport && { viewport });
  const page = await context.newPage();
  pages.push(page);
  context.on("console", (message) => expect.fail(message.text()));
  await page.goto(linkAddress(server.url, await newLink(server)));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/dashboard");
  return page;
}

const dashboard = () => `${server.url}/dashboard`;
const pageOf = (reference: string) => `${dashboard()}/m/${server.merchant.id}/disbursements/${reference}`;
const COMPARISON = "rails/reconcile?rail=test&from=2026-11-20&to=2026-11-20";

/** Words that no French sentence contains, and no message of the rail. */
const ENGLISH = /\b(of|with|this|paid|unknown|pending|failed|reason)\b/i;

/** Every page that only a live service has, with the problems above. */
const PAGES: Record<string, () => string> = {
  "what needs attention": () => `${dashboard()}/attention`,
  "a payment with a conflict": () => pageOf(contradicted),
  "a payment whose outcome is unknown": () => pageOf(unknown),
  "the rails": () => `${dashboard()}/rails`,
  "the form of the comparison": () => `${dashboard()}/rails/reconcile`,
  "a comparison": () => `${dashboard()}/${COMPARISON}`,
};

test.each(Object.entries(PAGES))("%s passes axe in light and dark colours, and fits a narrow screen", async (_, at) => {
  const page = await signedIn(NARROW);
  page.context().removeAllListeners("console");
  await page.goto(at());
  for (const details of await page.locator("main details > summary").all()) await details.click();
  expect(await violationsOf(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await violationsOf(page, ["color-contrast"])).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(NARROW.width);
  // French words are longer.
  await page.context().addCookies([{ name: "language", value: "fr", url: server.url }]);
  await page.reload();
  for (const details of await page.locator("main details > summary").all()) await details.click();
  expect(await page.locator("html").getAttribute("lang")).toBe("fr");
  expect(await page.locator("main").textContent()).not.toMatch(ENGLISH);
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(NARROW.width);
});

test("an operator pauses a rail, compares with it, and ends what needs a person", async () => {
  const page = await signedIn();
  await page.getByRole("link", { name: "Rails" }).click();
  await page.getByText("Pause…").click();
  await page.getByLabel("Reason").fill("maintenance at night");
  await page.getByRole("button", { name: "Pause test" }).click();
  await page.getByText("maintenance at night").waitFor();
  await page.getByRole("button", { name: "Resume test" }).click();
  await page.getByText("Pause…").waitFor();

  await page.getByRole("link", { name: "Compare with a rail" }).click();
  await page.getByLabel("From").fill("2026-11-20");
  await page.getByLabel("To").fill("2026-11-20");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("link", { name: "All as CSV" }).waitFor();

  await page.getByRole("link", { name: "Needs attention" }).click();
  await page.getByRole("link", { name: "salary-salary" }).click();
  await page.getByText("Close the conflict…").click();
  await page.getByLabel("Reason, for the audit trail").fill("the money was returned");
  await page.getByRole("button", { name: "Close the conflict" }).click();
  await page.getByText("the money was returned").waitFor();

  await page.goto(`${dashboard()}/attention`);
  await page.getByRole("link", { name: "salary-2" }).click();
  await page.getByText("Decide by hand…").click();
  await page.getByLabel("The payment has").selectOption("failed");
  await page.getByLabel("Reason, for the audit trail").fill("not in the rail's books");
  await page.getByRole("button", { name: "End the payment" }).click();
  await page.getByText("Decided by hand: not paid").waitFor();
  await page.goto(`${dashboard()}/attention`);
  await page.getByRole("heading", { name: "Nothing needs a person" }).waitFor();
  const { items } = await server.storage.listAudit({ limit: 5 });
  expect(items.map(({ action }) => action)).toEqual([
    "payment.decide",
    "payment.close-conflict",
    "rail.reconcile",
    "rail.resume",
    "rail.pause",
  ]);
});
