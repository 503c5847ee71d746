// Reads what Chromium records of a page that calls the API.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openBrowser } from "../../scripts/testing/browser.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { readHar } from "./har.ts";
import { openRecording } from "./recorded.ts";
import type { Exchange } from "./traffic.ts";

const key = "a-key-of-a-test-0000";
const [service, browser] = await Promise.all([startSoundTarget({ key, environment: "sandbox" }), openBrowser()]);
afterAll(() => Promise.all([service.stop(), browser.close()]));

const payout = JSON.stringify({
  reference: "é",
  amount: 100,
  currency: "XOF",
  country: "CI",
  phoneNumber: "2257038102473",
});

/** Returns what is read from the recording of a page that creates a payout twice, reads a record, and asks in vain. */
async function recorded(content: "embed" | "omit") {
  const path = join(mkdtempSync(join(tmpdir(), "har-")), "page.har");
  const context = await browser.newContext({ recordHar: { path, content } });
  const page = await context.newPage();
  await page.goto(`${service.url}/healthz`);
  await page.evaluate(
    async ([body, apiKey]) => {
      const headers = { "x-api-key": apiKey, "content-type": "application/json" };
      for (const _ of [1, 2]) await (await fetch("/v1/disbursements", { method: "POST", body, headers })).text();
      await (await fetch("/v1/disbursements/nothing", { headers })).text();
      await fetch("http://127.0.0.1:1/v1/disbursements/away", { headers }).catch(() => {});
    },
    [payout, key] as const,
  );
  await context.close();
  const seen: Exchange[] = [];
  const missed: string[] = [];
  const listener = {
    see: (each: unknown) => void seen.push(each as Exchange),
    missed: (why: string) => void missed.push(why),
  };
  await readHar(await openRecording(path), listener, service.url);
  return { calls: seen.filter((each) => each.path.startsWith("/v1/")), missed };
}

test("a recording has the bodies, keys and times that the page and the service sent", async () => {
  const { calls, missed } = await recorded("embed");
  expect(calls.map(({ method, path, body, response }) => [method, path, body, response?.status])).toEqual([
    ["POST", "/v1/disbursements", payout, 200],
    ["POST", "/v1/disbursements", payout, 409],
    ["GET", "/v1/disbursements/nothing", "", 404],
  ]);
  for (const { headers, sentAt, endedAt, response } of calls) {
    expect(headers).toMatchObject({ "x-api-key": key, host: new URL(service.url).host });
    expect(endedAt).toBeGreaterThanOrEqual(sentAt);
    expect(JSON.parse(response!.body as string)).toMatchObject({ statusCode: response!.status });
  }
  expect(missed).toContain(`not for ${service.url}`);
});

test("bodies that a recording leaves out are missing", async () => {
  const { calls } = await recorded("omit");
  expect(calls.map(({ response }) => response?.body)).toEqual(calls.map(() => ({ absent: "missing" })));
});
