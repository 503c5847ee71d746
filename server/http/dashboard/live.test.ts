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
  const { server, area, kofi } = dashboard;
  const other = await server.addMerchant("Other");
  const [mine, settings] = [follow(`${area}/disbursements`), follow(`${area}/settings`)];
  const others = follow(`/m/${other.merchant.id}/disbursements`);
  expect([await mine(), await mine(), await others(), await settings()]).toEqual([200, 304, 200, 200]);
  for (const change of [server.createPayout, () => server.pass(server.config.settleDelayMs)]) {
    await change();
    expect([await mine(), await mine(), await others()]).toEqual([200, 304, 304]);
  }
  await server.createPayout({}, { key: other.key });
  await kofi.post(`${area}/settings/keys`, { name: "Payroll" });
  expect([await others(), await mine(), await settings()]).toEqual([200, 304, 200]);
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

test("the script may be kept, and is no part of the sign-in page; a response to a form names the page to read", async () => {
  const { server, ada, area } = dashboard;
  const { html, headers } = await says(ada.get(""), 200, not("data-address"));
  expect(headers.get("etag")).toBeNull();
  const script = await visit(server, /src="\/dashboard(\/live-\w+\.js)"/.exec(html)![1]!);
  expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(script.headers.get("cache-control")).toContain("immutable");
  await says(visit(server, "/sign-in"), 200, not("<script"));
  await says(ada.post(`${area}/settings/keys`, { name: "Payroll" }), 200, `data-address="/dashboard${area}/settings"`);
});
