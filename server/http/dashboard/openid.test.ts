// Signing in at an OpenID provider.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser } from "../../../scripts/testing/browser.ts";
import { violationsOf } from "../../testing/accessibility.ts";
import { visit } from "../../testing/dashboard-visitor.ts";
import { CLIENT, startOpenIdProvider } from "../../testing/openid-provider.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const folder = mkdtempSync(join(tmpdir(), "openid-"));
const people = {
  ada: { email: "ada@example.com", email_verified: true, groups: ["staff", "payments, all"] },
  kofi: { email: "kofi@example.com", email_verified: true, groups: ["staff", "shop"] },
  esi: { email: "esi@example.com", email_verified: true, groups: ["staff"] },
  yaw: { email: "yaw@example.com", email_verified: true },
  eve: { email: "ada@example.com", email_verified: false, groups: ["payments, all"] },
  lost: { email: "lost@example.com", email_verified: true, groups: ["closed shop"] },
  // As Microsoft Entra ID describes a person.
  entra: { email: "ama@example.com", preferred_username: "ama@example.com", oid: "0f3c", roles: ["payments, all"] },
  odd: { email: "odd\u202E@example.com", email_verified: true, groups: ["payments, all"] },
};
let provider: Awaited<ReturnType<typeof startOpenIdProvider>>;
let server: TestServer;

function environment(changes: Record<string, string> = {}) {
  const file = join(folder, "secret");
  writeFileSync(file, `${CLIENT.secret}\n`);
  return {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET_FILE: file,
    OIDC_ROLES: "payments%2C all=administrator,closed shop=viewer@nobody",
    ...changes,
  };
}

async function start(seed: number, changes?: Record<string, string>): Promise<TestServer> {
  const started = await startServer({ env: environment(changes), seed });
  provider.serve(`${started.url}/dashboard/sign-in/openid/return`);
  return started;
}

beforeAll(async () => {
  provider = await startOpenIdProvider(people);
  server = await start(1);
});
afterAll(async () => {
  await Promise.all([server.close(), provider.close()]);
  rmSync(folder, { recursive: true });
});

const cookiesOf = (headers: Headers) => headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0]!);

/** Begins a sign-in. Returns the address at the provider, and the cookie that the browser keeps. */
async function begin(at = server) {
  const { status, headers } = await visit(at, "/sign-in/openid");
  expect(status).toBe(303);
  return { address: headers.get("location")!, cookie: cookiesOf(headers)[0]!, set: headers.getSetCookie()[0]! };
}

/** Follows the pages of the provider. Returns the query with which the provider leads back. */
async function atProvider(address: string, sub: string): Promise<string> {
  provider.next.sub = sub;
  const cookies = new Map<string, string>();
  for (let next = address; ;) {
    if (!next.startsWith(provider.issuer)) return new URL(next).search;
    const headers = { cookie: [...cookies.values()].join("; ") };
    const method = next.includes("/interaction/") ? "POST" : "GET";
    const response = await fetch(next, { method, redirect: "manual", headers });
    for (const cookie of cookiesOf(response.headers)) cookies.set(cookie.split("=", 1)[0]!, cookie);
    next = new URL(response.headers.get("location") ?? expect.fail(await response.text()), next).href;
  }
}

const comeBack = (query: string, cookie: string, at = server) =>
  visit(at, `/sign-in/openid/return${query}`, { headers: { cookie } });

async function signIn(sub: string, at = server) {
  const { address, cookie } = await begin(at);
  const back = await comeBack(await atProvider(address, sub), cookie, at);
  return { ...back, session: cookiesOf(back.headers).find((text) => /^dashboard=./.test(text)) };
}

const audited = async () =>
  (await server.storage.listAudit({ limit: 50 })).items.filter(({ action }) => action.startsWith("dashboard."));

test("the provider's groups give a role, for all merchants or for one", async () => {
  const { status, headers, session, html } = await signIn("ada");
  expect(status).toBe(200);
  expect(html).toContain('<meta http-equiv="refresh" content="0; url=/dashboard">');
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^sign-in=; Path=\/; Expires=Thu, 01 Jan 1970/),
    expect.stringMatching(/^dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ]);
  const page = await visit(server, "/team", { headers: { cookie: session! } });
  expect(page.html).toContain("<bdi>ada@example.com</bdi>");
  expect(page.html).toContain("Your role is administrator.");
  expect((await audited())[0]).toMatchObject({
    actor: "dashboard ada@example.com",
    action: "dashboard.sign-in",
    details: { provider: `${provider.issuer}/`, role: "administrator" },
  });

  const other = await start(2, { OIDC_ROLES: `shop=support@${server.merchant.id},staff=viewer` });
  expect(other.merchant.id).not.toBe(server.merchant.id);
  expect((await signIn("kofi", other)).html).toContain("Your merchant does not exist here");
  await other.close();
  const own = await start(1, { OIDC_ROLES: `shop=support@${server.merchant.id},staff=viewer` });
  const kofi = await signIn("kofi", own);
  const { headers: toOwn } = await visit(own, "", { headers: { cookie: kofi.session! } });
  expect(toOwn.get("location")).toContain(`/dashboard/m/${own.merchant.id}`);
  expect((await own.storage.listAudit({ limit: 1 })).items[0]).toMatchObject({
    actor: "merchant kofi@example.com",
    merchantId: own.merchant.id,
  });
  await own.storage.setMerchantState(own.merchant.id, "closed", "dashboard Ada");
  const refused = await signIn("kofi", own);
  expect([refused.status, refused.session]).toEqual([403, undefined]);
  expect(refused.html).toContain("closed this merchant");
  await own.close();
});

test.each([
  ["esi", "esi@example.com has no role here"],
  ["yaw", "yaw@example.com has no role here"],
  ["eve", "does not state a verified e-mail address"],
  ["lost", "Your merchant does not exist here"],
  ["odd", "no control or invisible characters"],
  ["", "The provider did not sign you in"],
])("%j gets no session: %s", async (sub, message) => {
  const before = await audited();
  const earlier = server.logged().length;
  const { status, html, session } = await signIn(sub);
  expect([status >= 400 && status < 500, session]).toEqual([true, undefined]);
  expect(html).toContain(message);
  expect(JSON.stringify(server.logged().slice(earlier))).not.toContain("@example.com");
  expect(await audited()).toEqual(before);
});

const reasonOf = (of: TestServer) => of.logged().findLast(({ msg }) => String(msg).includes("OpenID"))?.reason;

test("claims of Microsoft Entra ID: the log names the settings with which a person is signed in", async () => {
  expect((await signIn("entra")).status).toBe(403);
  const sent = "email, oid, preferred_username, roles, sub";
  expect(reasonOf(server)).toBe(
    `sub entra: the provider does not send email_verified: true, but ${sent}; have it sent, or set OIDC_NAME_CLAIM to one of these that people cannot change`,
  );
  const named = await start(8, { OIDC_NAME_CLAIM: "preferred_username" });
  expect((await signIn("entra", named)).status).toBe(403);
  expect(reasonOf(named)).toBe(
    `sub entra: the provider sends no groups, but ${sent}; have it sent, or set OIDC_ROLES_CLAIM to one of these`,
  );
  await named.close();
  const whole = await start(9, { OIDC_NAME_CLAIM: "preferred_username", OIDC_ROLES_CLAIM: "roles" });
  expect((await signIn("entra", whole)).status).toBe(200);
  await whole.close();
});

test("asks the provider for a code, with PKCE, state and nonce, which no page shows", async () => {
  const { address, cookie, set } = await begin();
  const { searchParams } = new URL(address);
  expect(Object.fromEntries(searchParams)).toEqual({
    client_id: CLIENT.id,
    response_type: "code",
    redirect_uri: `${server.url}/dashboard/sign-in/openid/return`,
    scope: "openid email profile groups",
    code_challenge_method: "S256",
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(set).toMatch(/^sign-in=[\w-]{43}; Max-Age=900; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
  expect(address).not.toContain(cookie.split("=")[1]!);
  expect((await begin()).address).not.toContain(searchParams.get("state")!);
});

test("only the browser that began a sign-in ends it, once", async () => {
  const [mine, other] = [await begin(), await begin()];
  const query = await atProvider(mine.address, "ada");
  const changed = (name: string, value: string) => {
    const parameters = new URLSearchParams(query);
    parameters.set(name, value);
    return `?${parameters}`;
  };
  const attempts: [string, string][] = [
    [query, ""],
    [query, "sign-in="],
    [query, other.cookie],
    [changed("state", new URL(other.address).searchParams.get("state")!), mine.cookie],
    [changed("state", ""), mine.cookie],
    [changed("iss", "https://evil.example"), mine.cookie],
    [`${query}&code=twice`, mine.cookie],
    ["", mine.cookie],
  ];
  for (const [sent, cookie] of attempts) {
    const { status, headers } = await comeBack(sent, cookie);
    expect([status, cookiesOf(headers)]).toEqual([403, ["sign-in="]]);
  }
  // A code of another sign-in belongs to another challenge.
  const theirs = new URLSearchParams(await atProvider(other.address, "kofi")).get("code")!;
  expect((await comeBack(changed("code", theirs), mine.cookie)).status).toBe(403);
  expect((await comeBack(query, mine.cookie)).status).toBe(200);
  expect((await comeBack(query, mine.cookie)).status).toBe(403);
});

test("no secret, code or token appears in the log or on a page", async () => {
  const { address, cookie } = await begin();
  const query = await atProvider(address, "ada");
  const good = await comeBack(query, cookie);
  const bad = await comeBack(query, cookie);
  const logged = JSON.stringify(server.logged());
  expect(logged).toContain("a sign-in at the OpenID provider failed");
  for (const text of [logged, good.html, bad.html]) {
    expect(text).not.toContain(CLIENT.secret);
    expect(text).not.toContain(cookie.split("=")[1]!);
    for (const name of ["code", "state"]) expect(text).not.toContain(new URLSearchParams(query).get(name)!);
    expect(text).not.toMatch(/eyJ[\w-]+\./);
  }
});

test("a wrong secret of the client, or a provider that is down, signs nobody in and stops nothing", async () => {
  const file = join(folder, "wrong");
  writeFileSync(file, "not-the-secret");
  const wrong = await start(3, { OIDC_CLIENT_SECRET_FILE: file });
  expect(await signIn("ada", wrong)).toMatchObject({ status: 403, session: undefined });
  expect(JSON.stringify(wrong.logged())).toContain("invalid_client");
  await wrong.close();

  const down = await startServer({ env: environment({ OIDC_ISSUER: "http://127.0.0.1:1" }), seed: 4 });
  const { status, html } = await visit(down, "/sign-in/openid");
  expect([status, html.includes("The provider cannot be reached")]).toEqual([403, true]);
  expect((await visit(down, "/sign-in")).html).toContain("Sign in with 127.0.0.1:1");
  await down.close();
});

test("in a browser the way leads from the sign-in page to the dashboard", async () => {
  provider.next.sub = "ada";
  const browser = await openBrowser();
  const page = await browser.newPage();
  page.on("console", (message) => expect.fail(message.text()));
  await page.goto(`${server.url}/dashboard`);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("link", { name: /^Sign in with localhost/ }).click();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(`${server.url}/dashboard`);
  expect(await page.getByText("ada@example.com").first().isVisible()).toBe(true);
  await browser.close();
});
