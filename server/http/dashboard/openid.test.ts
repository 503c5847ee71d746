// Signing in at an OpenID provider.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Provider } from "oidc-provider";
import { afterAll, expect, test } from "vitest";
import { openBrowser, violationsOf } from "../../../scripts/testing/browser.ts";
import { says, trail } from "../../testing/dashboard.ts";
import { visit } from "../../testing/dashboard-visitor.ts";
import { serve as listen } from "../../testing/http.ts";
import { startServer } from "../../testing/server.ts";
import { start } from "../../testing/table.ts";

/** A form is used, so that browsers know that the provider's page leads back. */
const PAGE =
  '<!doctype html><html lang="en"><title>Log in</title><form method="post"><button>Log in</button></form></html>';

const CLIENT = { id: "payments", secret: "the-secret-of-the-client" };

/** What the provider says of people, by the claim `sub`. */
const verified = (name: string, more = {}) => ({ email: `${name}@example.com`, email_verified: true, ...more });
const ALL = "payments, all";
const PEOPLE: Record<string, object> = {
  ada: verified("ada", { groups: ["staff", ALL] }),
  kofi: verified("kofi", { groups: ["staff", "shop"] }),
  esi: verified("esi", { groups: ["staff"] }),
  yaw: verified("yaw"),
  eve: { email: "ada@example.com", email_verified: false, groups: [ALL] },
  lost: verified("lost", { groups: ["closed shop"] }),
  // As Microsoft Entra ID describes a person.
  entra: { email: "ama@example.com", preferred_username: "ama@example.com", oid: "0f3c", roles: [ALL] },
  odd: verified("odd\u202E", { groups: [ALL] }),
};

/** Starts a provider that asks for no password. */
async function startProvider() {
  /** The claim `sub` of the person who signs in next. */
  const next = { sub: "" };
  const { url, close } = await listen((req, res) => {
    if (!req.url!.startsWith("/interaction/")) return void respond(req, res);
    if (req.method === "GET") return void res.setHeader("content-type", "text/html").end(PAGE);
    const result = next.sub === "" ? { error: "access_denied" } : { login: { accountId: next.sub, remember: false } };
    return void provider.interactionFinished(req, res, result);
  });
  // For browsers, this is another site than the servers of tests.
  const issuer = url.replace("127.0.0.1", "localhost");
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [url] }],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      groups: ["groups"],
      profile: ["nickname", "oid", "preferred_username", "roles"],
    },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    cookies: { keys: ["a key of the provider's cookies"] },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...PEOPLE[sub] }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
      grant.addOIDCScope("openid email groups profile");
      await grant.save();
      return grant;
    },
  });
  // The servers of the tests have different ports.
  provider.Client.prototype.redirectUriAllowed = () => true;
  const respond = provider.callback();
  return { issuer, next, close };
}

const folder = mkdtempSync(join(tmpdir(), "openid-"));
const secretIn = (name: string, secret: string) => {
  writeFileSync(join(folder, name), secret);
  return join(folder, name);
};
const provider = await startProvider();
const RETURN = "/sign-in/openid/return";

/** Settings of a server whose people sign in at the provider. */
const withProvider = (changes: Record<string, string> = {}) => ({
  env: {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET_FILE: secretIn("secret", `${CLIENT.secret}\n`),
    OIDC_ROLES: "payments%2C all=administrator,closed shop=viewer@nobody",
    ...changes,
  },
});
const server = await startServer(withProvider());
afterAll(async () => {
  await Promise.all([server.close(), provider.close()]);
  rmSync(folder, { recursive: true });
});

const cookiesOf = (headers: Headers) => headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0]!);

/** Begins a sign-in. Returns the address at the provider, and the cookie that the browser keeps. */
async function begin(at = server) {
  const { headers, cookie } = await says(visit(at, "/sign-in/openid"), 303);
  return { address: headers.get("location")!, cookie, set: headers.getSetCookie()[0]! };
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
  visit(at, `${RETURN}${query}`, { headers: { cookie } });

async function signIn(sub: string, at = server) {
  const { address, cookie } = await begin(at);
  const back = await comeBack(await atProvider(address, sub), cookie, at);
  return { ...back, session: cookiesOf(back.headers).find((text) => /^dashboard=./.test(text)) };
}

test("the provider's groups give a role for all merchants", async () => {
  const { status, headers, session, html } = await signIn("ada");
  expect(status).toBe(200);
  expect(html).toContain('<meta http-equiv="refresh" content="0; url=/dashboard">');
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^sign-in=; Path=\/; Expires=Thu, 01 Jan 1970/),
    expect.stringMatching(/^dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ]);
  const role = "Your role is administrator.";
  await says(visit(server, "/team", { headers: { cookie: session! } }), 200, "ada@example.com", role);
  const details = { provider: `${provider.issuer}/`, role: "administrator" };
  const entry = { actor: "dashboard ada@example.com", action: "dashboard.sign-in", details };
  expect(await trail(server)).toMatchObject([entry]);
});

test("the provider's groups give a role for one merchant, until it is closed", async () => {
  const own = await start(withProvider({ OIDC_ROLES: `shop=support@${server.merchant.id},staff=viewer` }));
  const { id } = own.merchant;
  const { session } = await signIn("kofi", own);
  expect((await visit(own, "", { headers: { cookie: session! } })).to).toContain(`/m/${id}`);
  expect(await trail(own)).toMatchObject([{ actor: "merchant kofi@example.com", merchantId: id }]);
  await own.storage.setMerchantState(id, "closed", "dashboard Ada");
  const refused = await signIn("kofi", own);
  expect([refused.status, refused.session]).toEqual([403, undefined]);
  expect(refused.text).toContain("closed this merchant");
});

test.each([
  ["esi", "esi@example.com has no role here"],
  ["yaw", "yaw@example.com has no role here"],
  ["eve", "does not state a verified e-mail address"],
  ["lost", "Your merchant does not exist here"],
  ["odd", "no control or invisible characters"],
  ["", "The provider did not sign you in"],
])("%j gets no session: %s", async (sub, message) => {
  const [before, earlier] = [await trail(server, 50), server.logged().length];
  const { status, text, session } = await signIn(sub);
  expect([status, session]).toEqual([sub === "odd" ? 422 : 403, undefined]);
  expect(text).toContain(message);
  expect(JSON.stringify(server.logged().slice(earlier))).not.toContain("@example.com");
  expect(await trail(server, 50)).toEqual(before);
});

const SENT = "the provider sends .*email, .*oid, preferred_username, roles, sub$";
const NAMED = { OIDC_NAME_CLAIM: "preferred_username" };
test.each<[Record<string, string>, number, string?]>([
  [{}, 403, `^sub entra: OIDC_NAME_CLAIM needs email with email_verified: true; ${SENT}`],
  [NAMED, 403, `^sub entra: OIDC_ROLES_CLAIM needs groups; ${SENT}`],
  [{ ...NAMED, OIDC_ROLES_CLAIM: "roles" }, 200],
])(
  "claims of Microsoft Entra ID with %j: %i, and the log names the setting that is missing",
  async (env, ...expected) => {
    const named = await start(withProvider(env));
    const { status } = await signIn("entra", named);
    const [, reason] = expected;
    const logged = named.logged().findLast(({ msg }) => String(msg).includes("OpenID"))?.reason;
    expect([status, logged]).toEqual([expected[0], reason && expect.stringMatching(reason)]);
  },
);

test("asks the provider for a code, with PKCE, state and nonce, which no page shows", async () => {
  const { address, cookie, set } = await begin();
  const { searchParams } = new URL(address);
  const random = expect.stringMatching(/^[\w-]{43}$/);
  expect(Object.fromEntries(searchParams)).toEqual({
    client_id: CLIENT.id,
    response_type: "code",
    redirect_uri: `${server.url}/dashboard${RETURN}`,
    scope: "openid email profile groups",
    code_challenge_method: "S256",
    code_challenge: random,
    state: random,
    nonce: random,
  });
  expect(set).toMatch(/^sign-in=[\w-]{43}; Max-Age=900; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
  expect(address).not.toContain(cookie.split("=")[1]!);
  expect((await begin()).address).not.toContain(searchParams.get("state")!);
});

test("only the browser that began a sign-in ends it, once, and no log or page has its secrets", async () => {
  const [mine, other] = [await begin(), await begin()];
  const query = await atProvider(mine.address, "ada");
  // A code of another sign-in belongs to another challenge.
  const theirs = new URLSearchParams(await atProvider(other.address, "kofi")).get("code")!;
  const changed = (name: string, value: string) => {
    const parameters = new URLSearchParams(query);
    parameters.set(name, value);
    return `?${parameters}`;
  };
  for (const [forged, sent, cookie = mine.cookie] of [
    ["no cookie", query, ""],
    ["an empty cookie", query, "sign-in="],
    ["the cookie of another sign-in", query, other.cookie],
    ["the state of another", changed("state", new URL(other.address).searchParams.get("state")!)],
    ["no state", changed("state", "")],
    ["another issuer", changed("iss", "https://evil.example")],
    ["two codes", `${query}&code=twice`],
    ["nothing", ""],
    ["the code of another", changed("code", theirs)],
  ] as const) {
    const { status, headers } = await comeBack(sent, cookie);
    expect([forged, status, cookiesOf(headers)]).toEqual([forged, 403, ["sign-in="]]);
  }
  const [good, bad] = [await comeBack(query, mine.cookie), await comeBack(query, mine.cookie)];
  expect([good.status, bad.status]).toEqual([200, 403]);
  const logged = JSON.stringify(server.logged());
  expect(logged).toContain("a sign-in at the OpenID provider failed");
  const codes = ["code", "state"].map((name) => new URLSearchParams(query).get(name)!);
  for (const text of [logged, good.html, bad.html]) {
    for (const secret of [CLIENT.secret, mine.cookie.split("=")[1]!, ...codes]) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/eyJ[\w-]+\./);
  }
});

test("a wrong secret of the client, or a provider that is down, signs nobody in and stops nothing", async () => {
  const wrong = await start(withProvider({ OIDC_CLIENT_SECRET_FILE: secretIn("wrong", "not-the-secret") }));
  expect(await signIn("ada", wrong)).toMatchObject({ status: 403, session: undefined });
  expect(JSON.stringify(wrong.logged())).toContain("invalid_client");
  const down = await start(withProvider({ OIDC_ISSUER: "http://127.0.0.1:1" }));
  await says(visit(down, "/sign-in/openid"), 403, "The provider cannot be reached");
  await says(visit(down, "/sign-in"), 200, "Sign in with 127.0.0.1:1");
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
