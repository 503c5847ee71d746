// The dashboard's refusals, tested on every route, so that a new page needs no entry here.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../../domain/merchants.ts";
import { routesOf, send, signedIn, visit, type Route } from "../../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../../testing/receiver.ts";
import { aCheckout, startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
let routes: Route[];
beforeAll(async () => {
  receiver = await startReceiver(500, HOSTILE);
  server = await startServer();
  routes = routesOf(server.service.app).filter(({ path }) => path.startsWith("/dashboard"));
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
const AREA = "/dashboard/m/:merchant";
const pages = () => routes.filter(({ method }) => method === "GET");
const forms = () => routes.filter(({ method }) => method === "POST");
const ofMerchants = (found: Route[]) => found.filter(({ path }) => path.startsWith(`${AREA}/`));

/** Returns the part of a route's address after `/dashboard`. Parameters without a value become `x`. */
const filled = ({ path }: Route, values: Record<string, string> = {}) =>
  path.slice("/dashboard".length).replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? "x");
const inOwn = (route: Route) => filled(route, { merchant: server.merchant.id });

test("the routes are found", () => {
  expect(ofMerchants(pages()).map(({ path }) => path)).toEqual(
    expect.arrayContaining([`${AREA}/settings`, `${AREA}/team`, `${AREA}/audit`, `${AREA}/webhooks/:id`]),
  );
  expect(ofMerchants(forms()).length).toBeGreaterThan(10);
});

describe("without a session", () => {
  test("every page and form leads to the sign-in page", async () => {
    for (const route of routes.filter(({ path }) => path !== "/dashboard/sign-in")) {
      const { status, headers } = await (route.method === "GET"
        ? visit(server, inOwn(route))
        : send(server, inOwn(route), {}));
      // Style sheets and scripts contain no data.
      if (/javascript|css/.test(headers.get("content-type") ?? "")) continue;
      expect([route, status, headers.get("location")]).toEqual([route, 303, "/dashboard/sign-in"]);
    }
  });
});

describe("across merchants", () => {
  test("another merchant does not exist, on every page and for every form", async () => {
    const [own, other] = [await server.addMerchant("Own"), await server.addMerchant("Other")];
    const visitor = await signedIn(server, { merchantId: own.merchant.id, name: "Kofi" });
    const trail = () => server.storage.listAudit({ merchantId: other.merchant.id, limit: 99 });
    const before = await trail();
    for (const route of ofMerchants(routes)) {
      const path = filled(route, { merchant: other.merchant.id });
      const { status, html } = await (route.method === "GET" ? visitor.get(path) : visitor.post(path));
      expect([route, status]).toEqual([route, 404]);
      expect(html).not.toContain("Other");
    }
    expect(await trail()).toEqual(before);
  });
});

describe("forms", () => {
  test("are refused from another site and without the session's token", async () => {
    const [visitor, other] = [await signedIn(server), await signedIn(server, { name: "Other" })];
    const before = (await server.storage.listAudit({ limit: 1 })).items;
    for (const route of forms()) {
      if (route.path === "/dashboard/sign-in") continue;
      const path = inOwn(route);
      const statuses = [
        await visitor.post(path, {}, { origin: "https://evil.example" }),
        await visitor.post(path, {}, { origin: "null" }),
        await visit(server, path, { method: "POST", headers: { cookie: visitor.cookie } }),
        await visitor.post(path, { csrf: "" }),
        await visitor.post(path, { csrf: other.csrf }),
      ].map(({ status }) => status);
      expect([route, ...statuses]).toEqual([route, 403, 403, 403, 403, 403]);
    }
    expect((await server.storage.listAudit({ limit: 1 })).items).toEqual(before);
  });

  test("say that nothing was recorded, unless the same form may have recorded it before", async () => {
    const { merchant, storage } = server;
    const visitor = await signedIn(server, { name: "Grace" });
    const change = { id: "bank-118", currency: "XOF", amount: 500, reason: "Bank" };
    await storage.proposeAdjustment(merchant.id, change, "command ada@host");
    await signedIn(server, { name: "Guest" });
    const { sessions } = await storage.listTeam({ idleMs: 60_000, limit: 500 });
    const session = sessions.find(({ name }) => name === "Guest")!.id;
    for (const [path, fields, status, says] of [
      ["/balances/reject", { proposal: `${merchant.id}/${change.id}` }, 409, false],
      ["/team/end", { session }, 404, false],
      ["/merchants", { name: "" }, 422, true],
    ] as const) {
      await visitor.post(path, fields);
      const again = await visitor.post(path, fields);
      expect([path, again.status, again.html.includes("Nothing was recorded")]).toEqual([path, status, says]);
    }
  });

  test("of one session are limited, without a limit for others", async () => {
    const [busy, calm] = [await signedIn(server), await signedIn(server)];
    const statuses = new Set<number>();
    for (let count = 0; count < 120; count++) statuses.add((await busy.post("/nothing")).status);
    expect([...statuses]).toEqual([404]);
    const refused = await busy.post("/merchants", { name: "One too many" });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(refused.html).toContain("more than 120 forms within a minute");
    expect((await busy.get("")).status).toBe(200);
    expect((await calm.post("/nothing")).status).toBe(404);
  });
});

test("every page shows what others wrote as text, and cannot be framed or run scripts of others", async () => {
  const { merchant, key } = await server.addMerchant(HOSTILE);
  await createKey(server.merchants, merchant.id, { name: HOSTILE });
  const reference = HOSTILE.slice(0, 64);
  const payout = await server.createPayout({ reference, webhookURL: receiver.url }, { key });
  const checkout = await server.request("POST", "/v1/checkouts", { key, body: aCheckout({ reference }) });
  expect([payout.status, checkout.status]).toEqual([200, 200]);
  await server.request("GET", `/v1/disbursements/${encodeURIComponent(HOSTILE)}`, { key });
  await server.pass(server.config.settleDelayMs);
  const [delivery] = (await server.storage.listDeliveries({ merchantId: merchant.id, limit: 1 })).items;
  expect(delivery!.attempts[0]!.responseBody).toBe(HOSTILE);

  const visitors = [
    await signedIn(server, { name: HOSTILE }),
    await signedIn(server, { merchantId: merchant.id, name: HOSTILE }),
  ];
  const seen = new Set<string>();
  const references = [payout.body.data.reference, checkout.body.data.reference] as string[];
  for (const route of pages()) {
    for (const value of [...references, delivery!.id]) {
      const path = filled(route, { merchant: merchant.id, reference: value, id: value });
      for (const { cookie } of visitors) {
        const page = await openPage(path, cookie);
        if (!page) continue;
        const { html, headers } = page;
        expect([path, /<script>|<img/.test(html)]).toEqual([path, false]);
        expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
        expect(headers.get("content-security-policy")).not.toMatch(/unsafe|\*/);
        expect([headers.get("x-frame-options"), headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
        if (html.includes("&lt;script&gt;alert(1)")) seen.add(route.path);
        if (html.includes("onerror=alert(1)&gt;</code>")) seen.add("the receiver's response");
      }
    }
  }
  // Every page has the person's name, except those that redirect.
  expect([...seen]).toEqual(expect.arrayContaining(["/dashboard", `${AREA}/settings`, "the receiver's response"]));
  expect(seen.size).toBeGreaterThan(9);
});

/**
 * Opens a page as a browser does, redirects included. Undefined if it is not HTML, because it may be an endless stream.
 */
async function openPage(path: string, cookie: string): Promise<{ html: string; headers: Headers } | undefined> {
  const response = await fetch(`${server.url}/dashboard${path}`, { headers: { cookie } });
  const { headers } = response;
  if (headers.get("content-type")?.startsWith("text/html")) return { html: await response.text(), headers };
  await response.body?.cancel();
  return undefined;
}
