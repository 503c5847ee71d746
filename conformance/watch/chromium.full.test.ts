// Reads what Chromium records of a page that calls the API.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openBrowser } from "../../scripts/testing/browser.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { readHar } from "./har.ts";
import { openRecording } from "./recorded.ts";
import type { Exchange, Seen } from "./traffic.ts";

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
const calls = [
  { method: "POST", path: "/v1/disbursements", body: payout },
  { method: "POST", path: "/v1/disbursements", body: payout },
  { method: "GET", path: "/v1/disbursements/nothing" },
];

test.each(["embed", "omit"] as const)("a recording that does %s bodies", async (content) => {
  const file = join(mkdtempSync(join(tmpdir(), "har-")), "page.har");
  const context = await browser.newContext({ recordHar: { path: file, content } });
  const page = await context.newPage();
  await page.goto(`${service.url}/healthz`);
  for (const call of calls)
    await page.evaluate(async ({ to, headers, ...init }) => (await fetch(to, { ...init, headers })).text(), {
      ...call,
      to: call.path,
      headers: { "x-api-key": key, "content-type": "application/json" },
    });
  await context.close();
  const all: Seen[] = [];
  await readHar(await openRecording(file), { see: (each) => void all.push(each), missed() {} }, service.url);
  const seen = (all as Exchange[]).filter((each) => each.path.startsWith("/v1/"));
  const missing = { absent: "missing" };
  expect(seen).toMatchObject(
    calls.map(({ method, path, body }) => ({
      method,
      path,
      headers: { "x-api-key": key },
      body: body === undefined ? "" : content === "omit" ? missing : body,
    })),
  );
  const responses = seen.map(({ response }) => response!.body);
  if (content === "omit") expect(responses).toEqual([missing, missing, missing]);
  else
    expect(responses.map((each) => JSON.parse(each as string))).toMatchObject([{ data: {} }, { statusCode: 409 }, {}]);
});
