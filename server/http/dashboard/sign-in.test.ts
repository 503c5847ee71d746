import { afterAll, describe, expect, test } from "vitest";
import { linkAddress } from "../../domain/sign-in.ts";
import { done, not, openDashboard, says } from "../../testing/dashboard.ts";
import { enter, newLink, send, signedIn, visit } from "../../testing/dashboard-visitor.ts";
import { startServer } from "../../testing/server.ts";

const MINUTE = 60_000;
const { server, close } = await openDashboard();
afterAll(close);

const submit = (token: string, headers = {}, at = server) => send(at, "/sign-in", { token }, headers);
const setBy = (headers: Headers) => headers.getSetCookie()[0] ?? "";

describe("a link", () => {
  test("shows a page with a button, which signs in once and shows the dashboard", async () => {
    const token = await newLink(server);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    // Programs that preview links open the link too.
    for (let i = 0; i < 3; i++) await says(visit(server, `/sign-in?token=${token}`), 200, `value="${token}"`);
    expect(linkAddress("", token)).toBe(`/dashboard/sign-in?token=${token}`);
    const { status, to, headers, cookie } = await submit(token);
    expect([status, to]).toEqual([303, ""]);
    expect(setBy(headers)).toMatch(/^dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    await says(visit(server, "", { headers: { cookie } }), 200, "Ada Stores");
    const again = await says(submit(token), 403, "This link was used before");
    expect(again.cookie).toBe("");
    expect(JSON.stringify(server.logged())).not.toMatch(new RegExp(`${token}|${cookie.split("=")[1]!}`));
  });

  test.each(["", "x", "a".repeat(43), "<script>alert(1)</script>"])(
    "is refused if it is %j, and writes nothing",
    async (token) => {
      const commits: unknown[] = [];
      const off = server.telemetry.on("commit", (commit) => commits.push(commit));
      await says(submit(token), 403, not("<script>"));
      expect(commits).toEqual([]);
      off();
    },
  );

  test("that does not work is limited for each address, without locking out those who have a link", async () => {
    const own = await startServer({ seed: 4 });
    for (let count = 0; count < 30; count++) await says(submit("wrong", {}, own), 403);
    const refused = await says(submit("wrong", {}, own), 429, "Too many sign-ins from this address failed");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await done(submit(await newLink(own), {}, own));
    await own.close();
  });

  test.each(["https://evil.example", "null", "http://127.0.0.1:1"])("is refused from the origin %s", async (origin) => {
    const { cookie } = await says(submit(await newLink(server), { origin }), 403);
    expect(cookie).toBe("");
  });
});

describe("a session", () => {
  test("is not taken from a link, a body or another cookie", async () => {
    const token = (await signedIn(server)).cookie.split("=")[1]!;
    for (const [name, value] of [
      ["cookie", `other=${token}`],
      ["x-api-key", token],
      ["cookie", "dashboard="],
    ] as const)
      await says(visit(server, `?dashboard=${token}`, { headers: { [name]: value } }), 303);
  });

  test("gets a new token at every sign-in, so that nobody can plant one; the old session ends", async () => {
    for (const cookie of [`dashboard=${"a".repeat(43)}`, (await signedIn(server)).cookie]) {
      const entered = await submit(await newLink(server), { cookie });
      expect(entered.cookie).toMatch(/^dashboard=./);
      expect(entered.cookie).not.toBe(cookie);
      await says(visit(server, "", { headers: { cookie } }), 303);
    }
  });

  test("ends after two hours without use, whatever its page does by itself, and after twelve hours", async () => {
    const [busy, idle, open] = [await signedIn(server), await signedIn(server), await signedIn(server)];
    const byItself = () => open.get(`/m/${server.merchant.id}/disbursements`, { "x-live": "yes" });
    for (let hours = 1; hours < 12; hours++) {
      server.clock.advance(60 * MINUTE);
      await says(busy.get(""), 200);
      await says(byItself(), hours < 2 ? 200 : 303);
    }
    await says(idle.get(""), 303);
    server.clock.advance(60 * MINUTE);
    await says(busy.get(""), 303);
  });

  test("ends when its person signs out, here or everywhere", async () => {
    const [first, second, third] = [await signedIn(server), await signedIn(server), await signedIn(server)];
    const other = await signedIn(server, { name: "Esi" });
    await says(first.get(`/sign-out?csrf=${first.csrf}`), 404);
    const out = await first.post("/sign-out");
    expect([out.status, out.to]).toEqual([303, "/sign-in"]);
    expect(setBy(out.headers)).toMatch(/^dashboard=; Path=\/; Expires=Thu, 01 Jan 1970/);
    const statuses = async () =>
      Promise.all([first, second, third, other].map(async ({ get }) => (await get("")).status));
    expect(await statuses()).toEqual([303, 200, 200, 200]);
    await second.post("/sign-out", { everywhere: "yes" });
    expect(await statuses()).toEqual([303, 303, 303, 200]);
  });
});

describe("a server at an address", () => {
  test.each([
    ["true", "https://pay.example/base", "__Host-dashboard", "; Secure"],
    ["false", "https://pay.example", "__Host-dashboard", "; Secure"],
    ["false", "http://127.0.0.1:3000", "dashboard", ""],
    ["false", "http://[::1]:3000", "dashboard", ""],
    ["false", "http://localhost:3000", "dashboard", ""],
  ])("with SANDBOX=%s at %s sets the cookie %s%s", async (SANDBOX, PUBLIC_URL, name, secure) => {
    const other = await startServer({ env: { SANDBOX, PUBLIC_URL }, seed: 2 });
    const { status, headers } = await submit(await newLink(other), { origin: new URL(PUBLIC_URL).origin }, other);
    const root = new URL(PUBLIC_URL).pathname.replace(/\/$/, "");
    expect([status, headers.get("location")]).toEqual([303, `${root}/dashboard`]);
    expect(setBy(headers)).toMatch(new RegExp(`^${name}=[\\w-]{43}; Path=/; HttpOnly${secure}; SameSite=Strict$`));
    await other.close();
  });

  test.each(["http://pay.example", "http://10.0.0.7:3000"])(
    "that is live at %s has no dashboard, and says why",
    async (address) => {
      const other = await startServer({ env: { SANDBOX: "false", PUBLIC_URL: address }, seed: 5 });
      const token = await newLink(other);
      for (const refused of [
        visit(other, ""),
        visit(other, `/sign-in?token=${token}`),
        submit(token, { origin: address }, other),
      ]) {
        const { cookie } = await says(refused, 403, "A live server serves no dashboard over plain http", not(token));
        expect(cookie).toBe("");
      }
      await other.close();
    },
  );
});

const langOf = async (path: string, headers: Record<string, string>) =>
  /<html lang="(\w+)">/.exec((await visit(server, path, { headers })).html)?.[1];

describe("the language", () => {
  test.each([
    ["fr", "fr"],
    ["fr-CI,en;q=0.5", "fr"],
    ["en,fr;q=0.9", "en"],
    ["de", "en"],
    ["*", "en"],
  ])("for the preference %s is %s", async (accepted, expected) => {
    expect(await langOf("/sign-in", { "accept-language": accepted })).toBe(expected);
  });

  test("that a link chooses stays, at an address without the choice", async () => {
    const first = await visit(server, "/sign-in?token=a%26b&lang=fr");
    expect([first.status, first.to]).toEqual([303, "/sign-in?token=a%26b"]);
    expect(setBy(first.headers)).toMatch(/^language=fr; Max-Age=31536000; Path=\/; .*HttpOnly; SameSite=Lax$/);
    expect(await langOf("/sign-in?token=a%26b", { cookie: first.cookie, "accept-language": "en" })).toBe("fr");
    expect((await visit(server, "?lang=en")).headers.get("location")).toBe("./dashboard");
    for (const unknown of ["de", "__proto__", "fr&lang=en"]) await says(visit(server, `/sign-in?lang=${unknown}`), 200);
  });

  test("of an error is the page's", async () => {
    const french = { "accept-language": "fr" };
    await says(submit("x", french), 403, "Ce lien a déjà servi");
    const visitor = await enter(server, await newLink(server));
    await says(visitor.get("/nothing", french), 404, "Ce que vous cherchez n’est pas ici");
    await says(
      visitor.post("/team/links", { name: "Esi", role: "owner" }, french),
      422,
      "Rôle : « owner » ne convient pas",
    );
  });
});
