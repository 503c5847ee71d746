import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkAddress } from "../../domain/sign-in.ts";
import { newLink, send, signedIn, visit } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const MINUTE = 60_000;
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const cookieOf = (headers: Headers) => headers.getSetCookie()[0] ?? "";

describe("a link", () => {
  test("shows a page with a button, which signs in once and shows the dashboard", async () => {
    const token = await newLink(server);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    const path = linkAddress("", token).replace("/dashboard", "");
    // Programs that preview links open the link too.
    for (let i = 0; i < 3; i++) expect((await visit(server, path)).html).toContain(`value="${token}"`);
    const { status, headers } = await send(server, "/sign-in", { token });
    expect([status, headers.get("location")]).toEqual([303, "/dashboard"]);
    expect(cookieOf(headers)).toMatch(/^dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    const cookie = cookieOf(headers).split(";")[0]!;
    expect((await visit(server, "", { headers: { cookie } })).html).toContain("Ada Stores");

    const again = await send(server, "/sign-in", { token });
    expect([again.status, cookieOf(again.headers)]).toEqual([403, ""]);
    expect(again.html).toContain("This link was used before");
  });

  test("expires after ten minutes", async () => {
    const token = await newLink(server);
    server.clock.advance(10 * MINUTE);
    expect((await send(server, "/sign-in", { token })).status).toBe(403);
  });

  test.each(["", "x", "a".repeat(43), "<script>alert(1)</script>"])("is refused if it is %j", async (token) => {
    const { status, html } = await send(server, "/sign-in", { token });
    expect(status).toBe(403);
    expect(html).not.toContain("<script>");
  });

  test("that does not work is limited for each address, without locking out those who have a link", async () => {
    const own = await startServer({ seed: 4 });
    const statuses = new Set<number>();
    for (let count = 0; count < 30; count++) statuses.add((await send(own, "/sign-in", { token: "wrong" })).status);
    expect([...statuses]).toEqual([403]);
    const refused = await send(own, "/sign-in", { token: "wrong" });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(refused.html).toContain("Too many sign-ins from this address failed");
    expect((await send(own, "/sign-in", { token: await newLink(own) })).status).toBe(303);
    await own.close();
  });

  test("that does not work writes nothing", async () => {
    const commits: unknown[] = [];
    const off = server.telemetry.on("commit", (commit) => commits.push(commit));
    expect((await send(server, "/sign-in", { token: "b".repeat(43) })).status).toBe(403);
    expect(commits).toEqual([]);
    off();
  });

  test("and its session do not appear in the log", async () => {
    const token = await newLink(server);
    await visit(server, `/sign-in?token=${token}`);
    const { headers } = await send(server, "/sign-in", { token });
    const session = /=([\w-]{43});/.exec(cookieOf(headers))![1]!;
    expect(JSON.stringify(server.logged())).not.toMatch(new RegExp(`${token}|${session}`));
  });
});

describe("a session", () => {
  test("is not taken from a link, a body or another cookie", async () => {
    const { cookie } = await signedIn(server);
    const [, token] = cookie.split("=");
    const others: [string, string][] = [
      ["cookie", `other=${token}`],
      ["x-api-key", token!],
      ["cookie", "dashboard="],
    ];
    for (const headers of others.map((header) => [header])) {
      expect((await visit(server, `?dashboard=${token}`, { headers })).status).toBe(303);
    }
  });

  test("gets a new token at every sign-in, so that nobody can plant one; the old session ends", async () => {
    const before = await signedIn(server);
    const planted = "dashboard=" + "a".repeat(43);
    for (const cookie of [planted, before.cookie]) {
      const { headers } = await send(server, "/sign-in", { token: await newLink(server) }, { cookie });
      expect(cookieOf(headers)).toMatch(/^dashboard=/);
      expect(cookieOf(headers)).not.toContain(cookie);
      expect((await visit(server, "", { headers: { cookie } })).status).toBe(303);
    }
  });

  test("ends after two hours without use, and after twelve hours", async () => {
    const [busy, idle] = [await signedIn(server), await signedIn(server)];
    for (let hours = 1; hours < 12; hours++) {
      server.clock.advance(60 * MINUTE);
      expect((await busy.get("")).status).toBe(200);
    }
    expect((await idle.get("")).status).toBe(303);
    server.clock.advance(60 * MINUTE);
    expect((await busy.get("")).status).toBe(303);
  });

  test("ends when its person signs out, here or everywhere", async () => {
    const [first, second, third] = [await signedIn(server), await signedIn(server), await signedIn(server)];
    const other = await signedIn(server, { name: "Kofi" });
    const out = await first.post("/sign-out");
    expect([out.status, out.headers.get("location")]).toEqual([303, "/dashboard/sign-in"]);
    expect(cookieOf(out.headers)).toMatch(/^dashboard=; Path=\/; Expires=Thu, 01 Jan 1970/);
    expect([(await first.get("")).status, (await second.get("")).status]).toEqual([303, 200]);
    await second.post("/sign-out", { everywhere: "yes" });
    expect([(await second.get("")).status, (await third.get("")).status]).toEqual([303, 303]);
    expect((await other.get("")).status).toBe(200);
  });
});

describe("forms", () => {
  test("to sign in are refused from another origin", async () => {
    for (const origin of ["https://evil.example", "null", "http://127.0.0.1:1"]) {
      const login = await send(server, "/sign-in", { token: await newLink(server) }, { origin });
      expect([login.status, cookieOf(login.headers)]).toEqual([403, ""]);
    }
  });

  test("cannot be sent by GET", async () => {
    const visitor = await signedIn(server);
    const { status } = await visitor.get(`/sign-out?csrf=${visitor.csrf}`);
    expect(status).toBe(404);
    expect((await visitor.get("")).status).toBe(200);
  });
});

test("with an https address the cookie is bound to the host and never sent unencrypted", async () => {
  const secure = await startServer({ env: { PUBLIC_URL: "https://pay.example/base" }, seed: 2 });
  const token = await newLink(secure);
  const { status, headers } = await send(secure, "/sign-in", { token }, { origin: "https://pay.example" });
  expect([status, headers.get("location")]).toEqual([303, "/base/dashboard"]);
  expect(cookieOf(headers)).toMatch(/^__Host-dashboard=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  await secure.close();
});

test.each(["http://pay.example", "http://10.0.0.7:3000"])(
  "a live server at %s has no dashboard, and says why",
  async (address) => {
    const live = await startServer({ env: { SANDBOX: "false", PUBLIC_URL: address }, seed: 5 });
    const token = await newLink(live);
    const refused = [
      await visit(live, ""),
      await visit(live, `/sign-in?token=${token}`),
      await send(live, "/sign-in", { token }, { origin: address }),
    ];
    for (const { status, html, headers } of refused) {
      expect([status, cookieOf(headers)]).toEqual([403, ""]);
      expect(html).toContain("A live server serves no dashboard over plain http");
      expect(html).not.toContain(token);
    }
    await live.close();
  },
);

test.each(["http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost:3000", "https://pay.example"])(
  "a live server at %s has one",
  async (address) => {
    const live = await startServer({ env: { SANDBOX: "false", PUBLIC_URL: address }, seed: 6 });
    const { status, headers } = await send(live, "/sign-in", { token: await newLink(live) }, { origin: address });
    expect(status).toBe(303);
    expect(cookieOf(headers).includes("; Secure")).toBe(address.startsWith("https:"));
    await live.close();
  },
);

test.each([
  ["true", '<span class="badge test">Sandbox</span>'],
  ["false", '<span class="badge live">Live</span>'],
])("with SANDBOX=%s every page says so, before and after the sign-in: %s", async (SANDBOX, badge) => {
  const other = await startServer({ env: { SANDBOX }, seed: 7 });
  const operator = await signedIn(other);
  const area = `/m/${other.merchant.id}`;
  const pages = ["", "/team", "/unknown", `${area}/disbursements`, `${area}/webhooks`, `${area}/settings`];
  for (const page of pages) expect.soft((await operator.get(page)).html, page).toContain(badge);
  for (const page of ["/sign-in", `/sign-in?token=${await newLink(other)}`]) {
    expect.soft((await visit(other, page)).html, page).toContain(badge);
  }
  await other.close();
});

test("with DASHBOARD=false there is none", async () => {
  const off = await startServer({ env: { DASHBOARD: "false" }, seed: 3 });
  for (const path of ["", "/sign-in"]) expect((await visit(off, path)).status).toBe(404);
  await off.close();
});

const inLanguage = (path: string, headers: Record<string, string>) => visit(server, path, { headers });
const langOf = ({ html }: { html: string }) => /<html lang="(\w+)">/.exec(html)?.[1];
describe("the language", () => {
  test("is the browser's, and English for others", async () => {
    for (const [accepted, expected] of [
      ["fr", "fr"],
      ["fr-CI,en;q=0.5", "fr"],
      ["en,fr;q=0.9", "en"],
      ["de", "en"],
      ["*", "en"],
    ] as const)
      expect.soft(langOf(await inLanguage("/sign-in", { "accept-language": accepted })), accepted).toBe(expected);
  });

  test("that a link chooses stays, at an address without the choice", async () => {
    const first = await inLanguage("/sign-in?token=a%26b&lang=fr", {});
    expect([first.status, first.headers.get("location")]).toEqual([303, "./sign-in?token=a%26b"]);
    expect(cookieOf(first.headers)).toMatch(/^language=fr; Max-Age=31536000; Path=\/; .*HttpOnly; SameSite=Lax$/);
    const cookie = cookieOf(first.headers).split(";")[0]!;
    const page = await inLanguage("/sign-in?token=a%26b", { cookie, "accept-language": "en" });
    expect(langOf(page)).toBe("fr");
    expect(page.html).toContain('href="?token=a%26b&amp;lang=en"');
    expect((await inLanguage("?lang=en", {})).headers.get("location")).toBe("./dashboard");
    for (const unknown of ["de", "__proto__", "fr&lang=en"])
      expect((await inLanguage(`/sign-in?lang=${unknown}`, {})).status).toBe(200);
  });

  test("of an error is the page's", async () => {
    const { html } = await send(server, "/sign-in", { token: "x" }, { "accept-language": "fr" });
    expect(html).toContain("Ce lien a déjà servi");
    const visitor = await signedIn(server);
    const headers = { cookie: visitor.cookie, "accept-language": "fr" };
    expect((await inLanguage("/nothing", headers)).html).toContain("Cette page n’existe pas.");
    const refused = await visitor.post("/team/links", { name: "Esi", role: "owner" }, { "accept-language": "fr" });
    expect(refused.html).toContain("Choisissez un rôle");
  });
});
