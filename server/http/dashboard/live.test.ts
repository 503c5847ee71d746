// Pages that update automatically, as their script reads them.
import { afterEach, beforeEach, expect, test } from "vitest";
import { done, not, openDashboard, says } from "../../testing/dashboard.ts";
import { visit } from "../../testing/dashboard-visitor.ts";

let dashboard: Awaited<ReturnType<typeof openDashboard>>;
beforeEach(async () => {
  dashboard = await openDashboard();
});
afterEach(() => dashboard.close());

/** Follows a page as its script does. Each call of the returned function reads the page once and returns the status. */
function follow(path: string, { get } = dashboard.ada): () => Promise<number> {
  let version = "";
  return async () => {
    // The headers that browsers add to a request whose response must not come from their cache.
    const read = await get(path, { "x-live": "yes", "if-none-match": version, "cache-control": "max-age=0" });
    expect(read.html === "").toBe(read.status !== 200);
    version = read.headers.get("etag") ?? version;
    return read.status;
  };
}

test("a page is sent again only after it has changed, and not because of another merchant", async () => {
  const { server, area } = dashboard;
  const other = await server.addMerchant("Other");
  const [mine, others] = [follow(`${area}/disbursements`), follow(`/m/${other.merchant.id}/disbursements`)];
  expect([await mine(), await mine(), await others(), await others()]).toEqual([200, 304, 200, 304]);
  for (const change of [server.createPayout, () => server.pass(server.config.settleDelayMs)]) {
    await change();
    expect([await mine(), await mine(), await others()]).toEqual([200, 304, 304]);
  }
  await server.createPayout({}, { key: other.key });
  expect([await others(), await mine()]).toEqual([200, 304]);
});

test("a page changes with the log of requests, with attempts of webhooks, and with what others do in settings", async () => {
  const { server, area, kofi } = dashboard;
  await server.createPayout({ phoneNumber: "2250700000001", webhookURL: "http://127.0.0.1:9/webhooks" });
  for (const [name, step] of Object.entries({
    requests: () => server.request("GET", "/sandbox/clock"),
    webhooks: () => server.pass(6_000),
    settings: () => kofi.post(`${area}/settings/keys`, { name: "Payroll" }),
  })) {
    const read = follow(`${area}/${name}`);
    // Earlier changes may still be on their way into the storage.
    await expect.poll(async () => [await read(), await read()]).toEqual([304, 304]);
    await step();
    await expect.poll(() => (server.clock.advance(100), read())).toBe(200);
  }
});

test("a page ends with the session, also if the session was ended elsewhere", async () => {
  const { server, area, ada, kofi } = dashboard;
  const [mine, kept] = [follow(`${area}/disbursements`), follow(`${area}/disbursements`, kofi)];
  expect([await mine(), await kept()]).toEqual([200, 200]);
  const { sessions } = await server.storage.listTeam();
  const { id } = sessions.find(({ name }) => name === "Ada")!;
  await server.storage.endSessions({ id }, "command ada@host");
  expect([await mine(), await kept()]).toEqual([303, 304]);
  await done(kofi.post("/sign-out"));
  expect(await kept()).toBe(303);
  await says(ada.get(area, { "x-live": "yes", cookie: "dashboard=x" }), 303);
});

test("the script comes from this server, may be kept, and is no part of the sign-in page", async () => {
  const { server, ada } = dashboard;
  const { html, headers } = await ada.get("");
  expect(headers.get("etag")).toBeNull();
  const script = await visit(server, /src="\/dashboard(\/live-\w+\.js)"/.exec(html)![1]!);
  expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(script.headers.get("cache-control")).toContain("immutable");
  await says(visit(server, "/sign-in"), 200, not("<script"));
});

test("the response to a form names the page to read in its place", async () => {
  const { ada, area } = dashboard;
  await says(ada.get("/team"), 200, not("data-address"));
  await says(ada.post(`${area}/settings/keys`, { name: "Payroll" }), 200, `data-address="/dashboard${area}/settings"`);
});
