import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let visitor: Visitor;
beforeEach(async () => {
  server = await startServer();
  visitor = await signedIn(server);
});
afterEach(() => server.close());

/** Follows a page as its script does. Each call of the returned function reads the page once and returns the status. */
function follow(path: string, { cookie } = visitor): () => Promise<number> {
  let version = "";
  return async () => {
    // The headers that browsers add to a request whose response must not come from their cache.
    const headers = { cookie, "x-live": "yes", "if-none-match": version, "cache-control": "max-age=0" };
    const read = await visit(server, path, { headers });
    expect(read.html === "").toBe(read.status !== 200);
    version = read.headers.get("etag") ?? version;
    return read.status;
  };
}

const pageOf = (id: string, name = "disbursements") => `/m/${id}/${name}`;

describe("what a page reads by itself", () => {
  test("is sent again only after the page has changed, and not because of another merchant", async () => {
    const other = await server.addMerchant("Other");
    const [mine, others] = [follow(pageOf(server.merchant.id)), follow(pageOf(other.merchant.id))];
    expect([await mine(), await mine(), await others(), await others()]).toEqual([200, 304, 200, 304]);
    await server.createPayout();
    expect([await mine(), await mine(), await others()]).toEqual([200, 304, 304]);
    await server.pass(server.config.settleDelayMs);
    expect([await mine(), await mine(), await others()]).toEqual([200, 304, 304]);
    await server.createPayout({}, { key: other.key });
    expect([await others(), await mine()]).toEqual([200, 304]);
  });

  test("changes with the log of requests, the attempts to deliver a webhook, and what others do in settings", async () => {
    const { id } = server.merchant;
    const webhookURL = "http://127.0.0.1:9/webhooks";
    await server.createPayout({ phoneNumber: "2250700000001", webhookURL });
    for (const [name, step] of Object.entries({
      requests: () => server.request("GET", "/sandbox/clock"),
      webhooks: () => server.pass(6_000),
      settings: async () => (await signedIn(server)).post(`/m/${id}/settings/keys`, { name: "Payroll" }),
    })) {
      const read = follow(pageOf(id, name));
      // Earlier changes may still be on their way into the storage.
      await expect.poll(async () => [await read(), await read()]).toEqual([304, 304]);
      await step();
      await expect.poll(() => (server.clock.advance(100), read())).toBe(200);
    }
  });

  test("ends with the session, also if the session was ended elsewhere", async () => {
    const kofi = await signedIn(server, { name: "Kofi" });
    const path = pageOf(server.merchant.id);
    const [mine, kept] = [follow(path), follow(path, kofi)];
    expect([await mine(), await kept()]).toEqual([200, 200]);
    const { sessions } = await server.storage.listTeam({ idleMs: 3_600_000, limit: 10 });
    const { id } = sessions.find(({ name }) => name === "Ada")!;
    await server.storage.endSessions({ id }, "command ada@host");
    expect([await mine(), await kept()]).toEqual([303, 304]);
    await kofi.post("/sign-out");
    expect(await kept()).toBe(303);
    expect(await follow(path, { ...visitor, cookie: "dashboard=x" })()).toBe(303);
  });

  test("is not stored by browsers, and a page that a person opens has no version", async () => {
    const path = pageOf(server.merchant.id);
    const byItself = await visit(server, path, { headers: { cookie: visitor.cookie, "x-live": "yes" } });
    expect(byItself.headers.get("cache-control")).toBe("no-store");
    const opened = await visit(server, path, {
      headers: { cookie: visitor.cookie, "if-none-match": byItself.headers.get("etag")! },
    });
    expect([opened.status, opened.headers.get("etag")]).toEqual([200, null]);
  });
});

test("what a page does by itself keeps no session alive", async () => {
  const path = `/m/${server.merchant.id}/disbursements`;
  const byItself = () => visit(server, path, { headers: { cookie: visitor.cookie, "x-live": "yes" } });
  server.clock.advance(2 * 3_600_000 - 1);
  expect((await byItself()).status).toBe(200);
  server.clock.advance(1);
  expect((await byItself()).status).toBe(303);
});

test("the script comes from this server, may be kept, and is no part of the sign-in page", async () => {
  const { html, headers } = await visitor.get(`/m/${server.merchant.id}/disbursements`);
  const [, src] = /<script type="module" src="\/dashboard\/(live-\w+\.js)"><\/script>/.exec(html)!;
  expect(headers.get("content-security-policy")).toContain("; script-src 'self'; connect-src 'self'");
  const script = await visit(server, `/${src}`);
  expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(script.headers.get("cache-control")).toContain("immutable");
  expect((await visitor.get("/sign-in")).html).not.toContain("<script");
});

test("the response to a form names the page to read in its place", async () => {
  const [, main] = /<main(.*?)>/.exec((await visitor.get("/team")).html)!;
  expect(main).toBe(' id="main"');
  const area = `/dashboard/m/${server.merchant.id}`;
  const { html } = await visitor.post(`/m/${server.merchant.id}/settings/keys`, { name: "Payroll" });
  expect(html).toContain(`<main id="main" data-address="${area}/settings">`);
});
