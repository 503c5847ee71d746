import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { aCheckout, startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let operator: Visitor;
beforeAll(async () => {
  server = await startServer();
  operator = await signedIn(server);
});
afterAll(() => server.close());

/** Pages of a merchant. */
const PAGES = [
  "disbursements",
  "disbursements.csv",
  "checkouts",
  "webhooks",
  "approvals",
  "replays",
  "replays/new?status=failed",
  "requests",
  "sandbox",
  "settings",
  "team",
  "audit",
];
const MANAGEMENT = ["", "/suspend", "/reopen", "/close"];

const lastOf = async (merchantId: string) => (await server.storage.listAudit({ merchantId, limit: 1 })).items[0]!;

describe("management of merchants", () => {
  test("an operator renames, suspends, reopens and closes a merchant, after a page that says what will happen", async () => {
    const { merchant, key } = await server.addMerchant("Old & Söhne");
    const member = await signedIn(server, { merchantId: merchant.id, name: "Esi" });
    const at = `/merchants/${merchant.id}`;
    expect((await operator.get("")).html).toContain(`/dashboard${at}">Manage`);
    expect((await operator.post(`${at}/rename`, { name: "New" })).status).toBe(303);
    expect((await operator.get(at)).html).toContain("<bdi>New</bdi>");
    expect(await lastOf(merchant.id)).toMatchObject({ actor: "dashboard Ada", action: "merchant.rename" });
    expect((await operator.post(`${at}/rename`, { name: " " })).status).toBe(422);

    expect((await operator.post(`${at}/limits`, { perDay: "XOF:1" })).status).toBe(303);
    expect((await operator.get(at)).html).toMatch(/name="perDay" [^>]*value="XOF:1"/);
    expect((await server.createPayout({}, { key })).body.message).toMatch("of your merchant account");
    expect(await lastOf(merchant.id)).toMatchObject({ action: "merchant.limit", details: { perDay: "XOF:1" } });
    expect((await operator.post(`${at}/limits`, {})).status).toBe(303);

    const terms = { disbursementFee: "250+7", checkoutFee: "", rateLimit: "900" };
    expect((await operator.post(`${at}/terms`, terms)).status).toBe(303);
    expect((await operator.get(at)).html).toMatch(/name="disbursementFee" [^>]*value="250\+7"/);
    expect(await lastOf(merchant.id)).toMatchObject({ details: { disbursementFee: "250+7", rateLimit: "900" } });
    const { reference } = (await server.createPayout({ amount: 10_000 }, { key })).body.data;
    expect(await server.storage.findDisbursement(merchant.id, reference)).toMatchObject({ fee: 257 });
    expect((await operator.post(`${at}/terms`, { rateLimit: "0" })).html).toContain("rateLimit must be a whole number");

    expect((await operator.get(`${at}/suspend`)).html).toMatch(/Suspend <bdi>New.*403 with merchant_suspended/s);
    expect((await server.createPayout({}, { key })).status).toBe(200);
    expect((await operator.post(`${at}/suspend`)).status).toBe(303);
    expect((await server.createPayout({}, { key })).body.code).toBe("merchant_suspended");
    expect((await operator.get("")).html).toContain('<span class="badge suspended">suspended</span>');
    expect((await member.get(`/m/${merchant.id}/disbursements`)).html).toContain("This merchant is suspended.");
    const payment = { phoneNumber: "2257038102473", amount: "10000" };
    const before = await lastOf(merchant.id);
    expect((await member.post(`/m/${merchant.id}/sandbox/disbursements`, payment)).status).toBe(403);
    expect((await member.post(`/m/${merchant.id}/sandbox/checkouts`, payment)).status).toBe(403);
    expect(await lastOf(merchant.id)).toEqual(before);

    expect((await operator.post(`${at}/reopen`)).status).toBe(303);
    expect((await server.createPayout({}, { key })).status).toBe(200);
    expect((await operator.get(`${at}/close`)).html).toContain("All its API keys are revoked, for good.");
    expect((await operator.post(`${at}/close`)).status).toBe(303);
    expect((await server.createPayout({}, { key })).status).toBe(401);
    expect((await member.get(`/m/${merchant.id}/disbursements`)).headers.get("location")).toBe("/dashboard/sign-in");
    expect((await operator.get(`/m/${merchant.id}/disbursements`)).status).toBe(200);
    expect((await operator.post(`${at}/reopen`)).status).toBe(409);
    expect((await operator.get(at)).html).not.toMatch(/Suspend…|Reopen…|Close for good…/);
    expect(await lastOf(merchant.id)).toMatchObject({
      action: "merchant.close",
      details: { keys: "1", sessions: "1" },
    });
  });

  test.each([
    ["limits", "", { perDay: "XOF:5" }, { perPayment: "XOF:7" }],
    ["terms", "", { rateLimit: "5" }, { checkoutFee: "350" }],
    ["settings/keys/limits", "/settings", { perDay: "XOF:5" }, { countries: "CI" }],
  ])("%s that a colleague has changed meanwhile are refused, and shown anew", async (path, page, theirs, mine) => {
    const { merchant, storage } = { ...(await server.addMerchant("Shared")), storage: server.storage };
    const at = `/${page === "" ? "merchants" : "m"}/${merchant.id}`;
    const form = new RegExp(`action="/dashboard${at}/${path}".*?</form>`, "s");
    const hidden = (html: string) =>
      Object.fromEntries(
        [...form.exec(html)![0].matchAll(/type="hidden" name="(key|replaces)" value="([^"]+)"/g)].map(
          ([, name, value]) => [name!, value!],
        ),
      );
    const old = hidden((await operator.get(at + page)).html);
    expect((await operator.post(`${at}/${path}`, { ...old, ...theirs })).status).toBe(303);
    const before = await storage.listAudit({ merchantId: merchant.id, limit: 9 });
    const late = await operator.post(`${at}/${path}`, { ...old, ...mine });
    expect([late.status, late.html]).toEqual([409, expect.stringContaining("its page was out of date")]);
    expect(late.html).toContain(`value="${Object.values(theirs)[0]}"`);
    expect(late.html).toContain(`data-address="/dashboard${at}${page}"`);
    expect(await storage.listAudit({ merchantId: merchant.id, limit: 9 })).toEqual(before);
    expect((await operator.post(`${at}/${path}`, { ...hidden(late.html), ...mine })).status).toBe(303);
  });

  test("a merchant's people get 404, and nothing changes", async () => {
    const { merchant } = await server.addMerchant("Own");
    const member = await signedIn(server, { merchantId: merchant.id });
    const before = [await server.storage.listMerchants(), await lastOf(merchant.id)];
    for (const page of MANAGEMENT) expect((await member.get(`/merchants/${merchant.id}${page}`)).status).toBe(404);
    for (const form of [...MANAGEMENT, "/rename"]) {
      expect((await member.post(`/merchants/${merchant.id}${form}`, { name: "Mine" })).status).toBe(404);
    }
    expect([await server.storage.listMerchants(), await lastOf(merchant.id)]).toEqual(before);
    expect((await operator.get("/merchants/nobody/close")).status).toBe(404);
    expect((await operator.post("/merchants/nobody/close")).status).toBe(404);
  });
});

const found = async (search: string) => {
  const { html } = await operator.get(`?${new URLSearchParams({ search })}`);
  return [...html.matchAll(/data-key="([^"]+)"/g)].map(([, key]) => key).toSorted();
};

test("an operator finds merchants by name, and payments of all merchants by reference or phone number", async () => {
  const one = await server.addMerchant("Zoe Fruits");
  const two = await server.addMerchant("Yao Fruits");
  const phoneNumber = "2250799887766";
  const created = [
    await server.createPayout({ reference: "salary & 7", phoneNumber }, { key: one.key }),
    await server.request("POST", "/v1/checkouts", { key: two.key, body: aCheckout({ reference: "salary & 7" }) }),
  ].map(({ body }) => body.data.reference as string);
  expect(await found("fruits")).toEqual([one.merchant.id, two.merchant.id].toSorted());
  expect(await found(one.merchant.id)).toEqual([one.merchant.id]);
  expect(await found("salary & 7")).toEqual(created.toSorted());
  expect(await found(`+${phoneNumber}`)).toEqual([created[0]]);
  expect(await found("salary")).toEqual([]);
  const { html } = await operator.get(`?${new URLSearchParams({ search: "salary & 7" })}`);
  expect(html.replaceAll(/<[^>]+>/g, "")).toMatch(/Disbursement · Zoe Fruits[^]*Checkout · Yao Fruits/);
  const { html: fruits } = await operator.get("?search=fruits");
  expect(fruits.indexOf("Yao Fruits")).toBeLessThan(fruits.indexOf("Zoe Fruits"));
});

describe("roles", () => {
  test("an operator sees all merchants and creates new ones", async () => {
    const { headers, status } = await operator.post("/merchants", { name: " Kofi & Söhne " });
    expect(status).toBe(303);
    const [, id] = /^\/dashboard\/m\/([\w-]+)\/settings$/.exec(headers.get("location")!)!;
    expect(await server.storage.findMerchant(id!)).toMatchObject({ name: "Kofi & Söhne" });
    expect((await operator.get("")).html).toContain("Kofi &amp; Söhne");
    for (const page of PAGES) expect((await operator.get(`/m/${id}/${page}`)).status).toBe(200);
    const [entry] = (await server.storage.listAudit({ merchantId: id!, limit: 9 })).items.toReversed();
    expect(entry).toMatchObject({ actor: "dashboard Ada", action: "merchant.create" });
  });

  test("a form that is sent again creates the same merchant, and another name another one", async () => {
    const [, id] = /name="id" value="([^"]+)"/.exec((await operator.get("")).html)!;
    const names = ["Twice", "Twice", "Once"];
    const created: unknown[] = [];
    for (const name of names)
      created.push((await operator.post("/merchants", { id: id!, name })).headers.get("location"));
    expect([created[1] === created[0], created[2] === created[0]]).toEqual([true, false]);
    const stored = (await server.storage.listMerchants()).filter(({ name }) => names.includes(name));
    expect(stored.map(({ name }) => name).toSorted()).toEqual(["Once", "Twice"]);
  });

  test.each(["", " ", "x".repeat(101)])("refuses the name %j", async (name) => {
    expect((await operator.post("/merchants", { name })).status).toBe(422);
  });

  test("a merchant sees itself only", async () => {
    const own = await server.addMerchant("Own");
    const visitor = await signedIn(server, { merchantId: own.merchant.id });
    expect((await visitor.get("")).headers.get("location")).toBe(`/dashboard/m/${own.merchant.id}/disbursements`);
    for (const page of PAGES) expect((await visitor.get(`/m/${own.merchant.id}/${page}`)).status).toBe(200);
    expect((await visitor.post("/merchants", { name: "Eve" })).status).toBe(404);
  });

  test("a merchant's area does not show the records or keys of others", async () => {
    const [own, other] = [await server.addMerchant("Own"), await server.addMerchant("Other")];
    const { reference } = (await server.createPayout({}, { key: other.key })).body.data;
    const visitor = await signedIn(server, { merchantId: own.merchant.id });
    const before = await server.storage.listAudit({ merchantId: other.merchant.id, limit: 99 });
    const mine = `/m/${own.merchant.id}`;
    expect((await visitor.get(`${mine}/disbursements/${reference}`)).status).toBe(404);
    expect((await visitor.get(`${mine}/disbursements?search=${reference}`)).html).toContain("Nothing found");
    const key = (await server.storage.listKeys()).find(({ merchantId }) => merchantId === other.merchant.id)!;
    expect((await visitor.post(`${mine}/settings/keys/revoke`, { key: key.id })).status).toBe(404);
    expect(await server.storage.listAudit({ merchantId: other.merchant.id, limit: 99 })).toEqual(before);
    expect((await server.storage.listKeys()).find(({ id }) => id === key.id)!.revokedAt).toBeUndefined();
  });
});

const area = () => `/m/${server.merchant.id}`;

describe("every page", () => {
  test("cannot be framed, cached, indexed, or load anything from elsewhere", async () => {
    const paths = ["", "/nothing", ...PAGES.map((page) => `${area()}/${page}`), `${area()}/disbursements/NONE`];
    const pages = [await visit(server, "/sign-in"), ...(await Promise.all(paths.map((path) => operator.get(path))))];
    for (const { headers, html } of pages) {
      const policy = headers.get("content-security-policy")!;
      for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]) {
        expect(policy).toContain(part);
      }
      expect(policy.replace("script-src 'self'; connect-src 'self'", "")).not.toMatch(/unsafe|script-src|\*|http/);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("strict-origin");
      expect(Buffer.byteLength(html)).toBeLessThan(60_000);
    }
  });

  test("unknown pages, cursors and malformed paths get a page with the reason", async () => {
    for (const path of [`${area()}/disbursements?cursor=x`, `${area()}/audit?cursor=x`]) {
      expect((await operator.get(path)).status).toBe(422);
    }
    for (const path of ["/nothing", "/m/nobody/settings", "/m/%zz/settings"]) {
      const { status, html } = await operator.get(path);
      expect([path, status]).toEqual([path, 404]);
      expect(html).toContain("<h1>Not found</h1>");
    }
  });
});
