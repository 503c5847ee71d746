// Signing in with a link, sessions, and the people whom somebody lets in.
import { afterAll, describe, expect, test } from "vitest";
import { linkAddress } from "../../domain/sign-in.ts";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { enter, newLink, send, signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { start } from "../../testing/table.ts";

const HOUR = 3_600_000;
const { server, id, area, ada, close } = await openDashboard();
const team = `${area}/team`;
afterAll(close);

const submit = (token: string, headers = {}, at = server) => send(at, "/sign-in", { token }, headers);
const setBy = (headers: Headers) => headers.getSetCookie()[0] ?? "";
const statusesOf = (...visitors: Visitor[]) => Promise.all(visitors.map(async ({ get }) => (await get("")).status));

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

  test.each<[string, token: string | undefined, headers?: Record<string, string>]>([
    ["no token", ""],
    ["a short token", "x"],
    ["a guessed token", "a".repeat(43)],
    ["a script as a token", "<script>alert(1)</script>"],
    ["a form of another site", undefined, { origin: "https://evil.example" }],
    ["a form without an origin", undefined, { origin: "null" }],
    ["a form of another port", undefined, { origin: "http://127.0.0.1:1" }],
  ])("signs nobody in with %s, and writes nothing", async (_, wrong, headers) => {
    const token = wrong ?? (await newLink(server));
    const commits: unknown[] = [];
    const off = server.telemetry.on("commit", (commit) => commits.push(commit));
    const { cookie } = await says(submit(token, headers), 403, not("<script>"));
    expect([cookie, commits]).toEqual(["", []]);
    off();
  });

  test("that does not work can be tried 30 times from an address, which locks out nobody with a link", async () => {
    const own = await start({ seed: 4 });
    for (let count = 0; count < 30; count++) await says(submit("wrong", {}, own), 403);
    const refused = await says(submit("wrong", {}, own), 429, "Too many sign-ins from this address failed");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await done(submit(await newLink(own), {}, own));
  });
});

describe("a session", () => {
  test("is not taken from a link, a header or another cookie", async () => {
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

  test("ends when its person signs out, here or everywhere", async () => {
    const zoe = () => signedIn(server, { name: "Zoe" });
    const [first, second, third] = [await zoe(), await zoe(), await zoe()];
    const other = await signedIn(server, { name: "Esi" });
    await says(first.get(`/sign-out?csrf=${first.csrf}`), 404);
    const out = await first.post("/sign-out");
    expect([out.status, out.to]).toEqual([303, "/sign-in"]);
    expect(setBy(out.headers)).toMatch(/^dashboard=; Path=\/; Expires=Thu, 01 Jan 1970/);
    expect(await statusesOf(first, second, third, other)).toEqual([303, 200, 200, 200]);
    await second.post("/sign-out", { everywhere: "yes" });
    expect(await statusesOf(first, second, third, other)).toEqual([303, 303, 303, 200]);
  });

  test("ends after two hours without use; automatic refreshes do not count", async () => {
    const own = await start();
    const [busy, open] = [await signedIn(own), await signedIn(own)];
    for (const status of [200, 303]) {
      own.clock.advance(HOUR);
      await says(busy.get(""), 200);
      await says(open.get(`/m/${own.merchant.id}/disbursements`, { "x-live": "yes" }), status);
    }
  });
});

test.each([
  ["true", "https://pay.example/base", "__Host-dashboard", "; Secure"],
  ["false", "https://pay.example", "__Host-dashboard", "; Secure"],
  ["false", "http://127.0.0.1:3000", "dashboard", ""],
  ["false", "http://[::1]:3000", "dashboard", ""],
  ["false", "http://localhost:3000", "dashboard", ""],
  ["false", "http://pay.example", undefined, ""],
  ["false", "http://10.0.0.7:3000", undefined, ""],
])("a server with SANDBOX=%s at %s sets the cookie %s%s", async (SANDBOX, PUBLIC_URL, name, secure) => {
  const other = await start({ env: { SANDBOX, PUBLIC_URL }, seed: 2 });
  const token = await newLink(other);
  const { origin, pathname } = new URL(PUBLIC_URL);
  const entered = submit(token, { origin }, other);
  if (name === undefined) {
    const refusal = "A live server serves no dashboard over plain http";
    for (const page of [visit(other, ""), visit(other, `/sign-in?token=${token}`), entered])
      expect((await says(page, 403, refusal, not(token))).cookie).toBe("");
    return;
  }
  const { headers } = await says(entered, 303);
  expect(headers.get("location")).toBe(`${pathname.replace(/\/$/, "")}/dashboard`);
  expect(setBy(headers)).toMatch(new RegExp(`^${name}=[\\w-]{43}; Path=/; HttpOnly${secure}; SameSite=Strict$`));
});

test("an error of a form is in the language of its page", async () => {
  const french = { "accept-language": "fr" };
  await says(submit("x", french), 403, "Ce lien a déjà servi");
  await says(ada.get("/nothing", french), 404, "Ce que vous cherchez n’est pas ici");
  const role = { name: "Esi", role: "owner" };
  await says(ada.post("/team/links", role, french), 422, "Rôle : « owner » ne convient pas");
});

const ofMerchant = (name: string) => signedIn(server, { merchantId: id, name });
const make = (maker: Visitor, name: string, at = team) => maker.post(`${at}/links`, { name, role: "administrator" });
/** The token of a new link. */
async function tokenOf(made: ReturnType<typeof make>): Promise<string> {
  return /sign-in\?token=([\w-]{43})/.exec((await says(made, 200)).html)![1]!;
}
const letIn = async (maker: Visitor, name: string, at = team) => enter(server, await tokenOf(make(maker, name, at)));

describe("somebody whom a colleague lets in", () => {
  test("gets a link, shown once, that signs in one person: of the same merchant, or an operator", async () => {
    const kofi = await ofMerchant("Kofi");
    const token = await tokenOf(make(kofi, "  Esi "));
    await says(kofi.get(team), 200, /Esi .*An unused link/, not(token));
    const esi = await enter(server, token);
    expect((await esi.get("")).to).toBe(`${area}/disbursements`);
    expect(await trail(server, 2)).toMatchObject([
      { actor: "merchant Esi", action: "dashboard.sign-in", details: { invitedBy: "merchant Kofi" } },
      { actor: "merchant Kofi", action: "dashboard.link", merchantId: id, details: { name: "Esi" } },
    ]);
    await says(kofi.get(team), 200, /Esi .*Since .*Let in by Kofi/, not("Ada you"));
    expect(JSON.stringify(server.logged())).not.toContain(token);
    for (const [at, home] of [
      ["/team", undefined],
      [team, `${area}/disbursements`],
    ] as const)
      expect((await (await letIn(ada, "Ama", at)).get("")).to).toBe(home);
    await says(ada.get("/team"), 200, /Ada you/, /Ama .*Let in by Ada, operator/);
  });

  test("loses all access when the person who let them in does, directly or indirectly", async () => {
    const [kwame, other] = [await ofMerchant("Kwame"), await ofMerchant("Other")];
    const child = await letIn(kwame, "Child");
    const grandchild = await letIn(child, "Grandchild");
    const unused = await tokenOf(make(grandchild, "Unused"));
    const guest = await letIn(other, "Guest");
    await done(other.post(`${team}/end-all`, { name: "Kwame" }));
    expect(await statusesOf(kwame, child, grandchild)).toEqual([303, 303, 303]);
    await says(guest.get(team), 200);
    await says(submit(unused), 403);
  });

  test("gets no link in the name of a colleague who has access; the command line can make it", async () => {
    const [kojo, yaw] = [await ofMerchant("Kojo"), await ofMerchant("Yaw")];
    for (const maker of [kojo, await signedIn(server, { name: "Chief" })])
      for (const name of ["Yaw", " yaw ", "ＹＡＷ"]) await says(make(maker, name), 422, "has access already");
    await says(make(yaw, "Yaw"), 200);
    await newLink(server, { merchantId: id, name: "Yaw" });
    await done(kojo.post(`${team}/end-all`, { name: "Yaw" }));
    await says(make(kojo, "Yaw"), 200);
  });
});
