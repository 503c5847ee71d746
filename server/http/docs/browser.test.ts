import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { pages } from "./pages.ts";

let server: TestServer;
let browser: Browser;
let page: Page;
/** Requests to other origins, and resources that the page's policy blocked. */
let strange: string[];

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer(), openBrowser()]);
});
afterAll(() => Promise.all([browser.close(), server.close()]));
beforeEach(async () => {
  page = await browser.newPage({ viewport: PHONE });
  strange = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${server.url}/`) && !request.url().startsWith("data:")) strange.push(request.url());
  });
  page.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) strange.push(message.text());
  });
  page.on("pageerror", (error) => strange.push(error.message));
});
afterEach(() => page.close());

const payouts = async () => (await server.request("GET", "/v1/disbursements")).body.data.items.length as number;

const PHONE = { width: 380, height: 720 };
const DESKTOP = { width: 1280, height: 900 };

async function open(name: string) {
  await page.goto(`${server.url}/docs${name === "index" ? "" : `/${name}`}`);
  if (name === "reference") await page.locator(".opblock").first().waitFor();
}

/** The violations that axe finds outside of the renderer's part. */
const violations = (rules?: string[]) => violationsOf(page, rules, ["#reference"]);

const width = () => page.evaluate(() => document.documentElement.scrollWidth);

describe.each([...pages.map(({ name }) => name), "an-unknown-page"])("%s", (name) => {
  test("passes axe in light and dark colours, and scrolls only downwards on a phone and on a desktop", async () => {
    await open(name);
    expect(await width()).toBe(PHONE.width);
    await page.setViewportSize(DESKTOP);
    expect(await width()).toBe(DESKTOP.width);
    expect(await violations()).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violations(["color-contrast"])).toEqual([]);
    expect(strange).toEqual([]);
  });
});

const operation = () => page.locator("#operations-Disbursements-createDisbursement");

async function authorize() {
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.locator(".modal-ux input").fill(server.key);
  await page.locator(".modal-ux button", { hasText: "Authorize" }).click();
  await page.locator(".modal-ux button", { hasText: "Close" }).click();
}

async function send() {
  await operation().locator(".opblock-summary-control").click();
  await operation().getByRole("button", { name: "Try it out" }).click();
  await operation().getByRole("button", { name: "Execute" }).click();
  const status = operation().locator(".live-responses-table .response-col_status");
  await expect.poll(() => status.last().textContent()).toMatch(/^\d/);
  return (await status.last().textContent())!.slice(0, 3);
}

describe("the console of the reference", () => {
  test.each([PHONE, DESKTOP])(
    "creates a payout on this server with the key that was typed, at $width pixels",
    async (viewport) => {
      await page.setViewportSize(viewport);
      await open("reference");
      await server.request("POST", "/sandbox/reset");
      expect(await send()).toBe("401");
      // Each visit proposes another reference. One viewport is enough to see it.
      for (let visit = 1; visit <= (viewport === DESKTOP ? 2 : 1); visit += 1) {
        await open("reference");
        await authorize();
        expect(await send()).toBe("200");
        expect(await payouts()).toBe(visit);
      }
      expect(await width()).toBe(viewport.width);
      expect(strange).toEqual([]);
    },
  );

  test("keeps the key nowhere but in the page's memory", async () => {
    await open("reference");
    await authorize();
    const kept = () =>
      page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    expect(await kept()).not.toContain(server.key);
    await page.reload();
    await page.locator(".opblock").first().waitFor();
    expect(await kept()).not.toContain(server.key);
    expect(await send()).toBe("401");
  });
});

test("on a live server the reference leaves out what exists only in a sandbox", async () => {
  const live = await startServer({ env: { SANDBOX: "false" } });
  try {
    await page.goto(`${live.url}/docs/reference`);
    await page.locator(".opblock").first().waitFor();
    const paths = await page.locator(".opblock-summary-path").allTextContents();
    expect(paths.some((path) => path.includes("disbursements"))).toBe(true);
    expect(paths.filter((path) => path.includes("sandbox"))).toEqual([]);
  } finally {
    await live.close();
  }
});
