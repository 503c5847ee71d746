import { afterAll, beforeAll, expect, test } from "vitest";
import { newLink, send, signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let operator: Visitor;
let team: string;
beforeAll(async () => {
  server = await startServer();
  operator = await signedIn(server);
  team = `/m/${server.merchant.id}/team`;
});
afterAll(() => server.close());

const ofMerchant = (name: string) => signedIn(server, { merchantId: server.merchant.id, name });
const isSignedIn = async ({ get }: Visitor) => (await get("/team")).headers.get("location") !== "/dashboard/sign-in";
const tokenIn = (html: string) => /<code id="new-link">\S+\?token=([\w-]{43})<\/code>/.exec(html)![1]!;
const lastEntries = async (limit: number) => (await server.storage.listAudit({ limit })).items;
const sessionIn = (html: string, name: string) =>
  new RegExp(`<bdi>${name}</bdi>[^]+?name="session" value="([\\w-]+)"`).exec(html)![1]!;

test("a link for a colleague is shown once and signs in one person of the same merchant", async () => {
  const visitor = await ofMerchant("Kofi");
  expect((await visitor.post(`${team}/links`, { name: "Esi", role: "owner" })).status).toBe(422);
  const made = await visitor.post(`${team}/links`, { name: "  Esi ", role: "administrator", lifetime: "3 days" });
  expect(made.html).toMatch(/within 3 days\. Role: administrator\./);
  const token = tokenIn(made.html);
  const listed = (await visitor.get(team)).html;
  expect(listed).toContain("1 unused link");
  expect(listed).not.toContain(token);

  const { headers } = await send(server, "/sign-in", { token });
  const cookie = headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const home = await visit(server, "", { headers: { cookie } });
  expect(home.headers.get("location")).toBe(`/dashboard/m/${server.merchant.id}/disbursements`);
  expect(await lastEntries(2)).toMatchObject([
    { actor: "merchant Esi", action: "dashboard.sign-in" },
    { actor: "merchant Kofi", action: "dashboard.link", merchantId: server.merchant.id, details: { name: "Esi" } },
  ]);
  expect((await visitor.get(team)).html).toMatch(/<bdi>Esi<\/bdi>[^]+1 session</);
  expect(JSON.stringify(server.logged())).not.toContain(token);
});

const signInStatus = async (token: string) => (await send(server, "/sign-in", { token })).status;

test("a form that is sent again makes a link in place of the first, and never revives one", async () => {
  const kofi = await ofMerchant("Kofi");
  const make = async () => tokenIn((await kofi.post(`${team}/links`, { name: "Efua", role: "viewer" })).html);
  const [first, again] = [await make(), await make()];
  expect([await signInStatus(first), await signInStatus(again)]).toEqual([403, 303]);
  await kofi.post(`${team}/end-all`, { name: "Efua" });
  expect(await make()).not.toBe(again);
  expect(await signInStatus(again)).toBe(403);
});

const rolesIn = (html: string) =>
  Object.fromEntries([...html.matchAll(/<li><strong>(\w+)<\/strong> ([^<]+)/g)].map(([, ...pair]) => pair));

test("each role is described by the rights that it has on the forms there", async () => {
  const all = "looks at everything, and may";
  const viewer = "looks at everything, changes nothing";
  expect(rolesIn((await operator.get("/team")).html)).toEqual({
    viewer,
    support: `${all} replay webhooks, use the sandbox`,
    finance: `${all} change balances, decide about payments, use the sandbox`,
    administrator: `${all} manage merchants, change balances, decide about payments, replay webhooks, use the sandbox, reset the sandbox, change settings, keys and secrets, manage people`,
  });
  expect(rolesIn((await operator.get(team)).html)).toMatchObject({
    viewer,
    support: `${all} replay webhooks, use the sandbox`,
    finance: `${all} decide about payments, use the sandbox`,
  });
});

const BAD_NAMES = ["", " ", "x".repeat(101), "a\u001bb", "a\u200bb", "a\u202eb", "a\u2028b", "a\ue000b"];
test.each(BAD_NAMES)("refuses the name %j of a person, a key and a merchant", async (name) => {
  const visitor = await signedIn(server, { name: `Operator ${BAD_NAMES.indexOf(name)}` });
  for (const form of ["/team/links", `${team}/links`, `/m/${server.merchant.id}/settings/keys`, "/merchants"]) {
    expect([form, (await visitor.post(form, { name, role: "administrator" })).status]).toEqual([form, 422]);
  }
});

test("an operator makes links for operators, and for a merchant on its page", async () => {
  const [all, one] = [
    await operator.post("/team/links", { name: "Ama", role: "administrator" }),
    await operator.post(`${team}/links`, { name: "Ama", role: "administrator" }),
  ];
  const homes = [all, one].map(async ({ html }) => {
    const { headers } = await send(server, "/sign-in", { token: tokenIn(html) });
    return visit(server, "", { headers: { cookie: headers.getSetCookie()[0]! } });
  });
  expect((await Promise.all(homes)).map(({ status }) => status)).toEqual([200, 303]);
});

test("ends one session, or everything of a person, at once", async () => {
  const [kofi, first] = [await ofMerchant("Kofi"), await ofMerchant("Abena")];
  const session = sessionIn((await kofi.get(team)).html, "Abena");
  const second = await ofMerchant("Abena");
  const unused = await newLink(server, { merchantId: server.merchant.id, name: "Abena" });
  const ended = await kofi.post(`${team}/end`, { session });
  expect([ended.status, ended.headers.get("location")]).toEqual([303, `/dashboard${team}`]);
  expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, true]);
  expect((await kofi.post(`${team}/end`, { session })).status).toBe(404);

  expect((await kofi.post(`${team}/end-all`, { name: "Abena" })).status).toBe(303);
  expect(await isSignedIn(second)).toBe(false);
  expect((await send(server, "/sign-in", { token: unused })).status).toBe(403);
  expect(await isSignedIn(kofi)).toBe(true);
  const common = { actor: "merchant Kofi", action: "dashboard.sign-out", merchantId: server.merchant.id };
  expect(await lastEntries(1)).toMatchObject([{ ...common, details: { name: "Abena", session: "all" } }]);
});

const begin = async (token: string) => {
  const { headers } = await send(server, "/sign-in", { token });
  const cookie = headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const { html } = await visit(server, `${team}`, { headers: { cookie } });
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec(html)!;
  return {
    cookie,
    get: (path: string) => visit(server, path, { headers: { cookie } }),
    post: (path: string, fields: Record<string, string>) => send(server, path, { csrf: csrf!, ...fields }, { cookie }),
  };
};

test("nobody makes a link in the name of a colleague who has access; the command line can", async () => {
  const [kofi, yaw, chief] = [
    await ofMerchant("Kojo"),
    await ofMerchant("Yaw"),
    await signedIn(server, { name: "Chief" }),
  ];
  for (const name of ["Yaw", " yaw ", "ＹＡＷ"]) {
    for (const maker of [kofi, chief]) {
      const { status, html } = await maker.post(`${team}/links`, { name, role: "administrator" });
      expect(status).toBe(422);
      expect(html).toContain("has access already");
    }
  }
  expect((await yaw.post(`${team}/links`, { name: "Yaw", role: "administrator" })).status).toBe(200);
  await newLink(server, { merchantId: server.merchant.id, name: "Yaw" });
  await kofi.post(`${team}/end-all`, { name: "Yaw" });
  expect((await kofi.post(`${team}/links`, { name: "Yaw", role: "administrator" })).status).toBe(200);
});

test("ending all access of a person ends that of everybody whom the person let in, and says so", async () => {
  const [kwame, other] = [await ofMerchant("Kwame"), await ofMerchant("Other")];
  const child = await begin(
    tokenIn((await kwame.post(`${team}/links`, { name: "Child", role: "administrator" })).html),
  );
  const grandchild = await begin(
    tokenIn((await child.post(`${team}/links`, { name: "Grandchild", role: "administrator" })).html),
  );
  const unused = tokenIn((await grandchild.post(`${team}/links`, { name: "Unused", role: "administrator" })).html);
  const guest = await begin(
    tokenIn((await other.post(`${team}/links`, { name: "Guest", role: "administrator" })).html),
  );
  expect((await other.get(team)).html).toContain("Let in by <bdi>Child</bdi>");
  expect(await lastEntries(1)).toMatchObject([
    { actor: "merchant Guest", action: "dashboard.sign-in", details: { invitedBy: "merchant Other" } },
  ]);

  expect((await other.post(`${team}/end-all`, { name: "Kwame" })).status).toBe(303);
  const alive = [kwame, child, grandchild, guest].map(async ({ get }) => (await get(team)).status === 200);
  expect(await Promise.all(alive)).toEqual([false, false, false, true]);
  expect((await send(server, "/sign-in", { token: unused })).status).toBe(403);
});

test("an entry of the audit trail has the session of the person", async () => {
  const akosua = await ofMerchant("Akosua");
  const { sessions } = await server.storage.listTeam({ idleMs: 60_000, limit: 100 });
  const { id } = sessions.find(({ name }) => name === "Akosua")!;
  await akosua.post(`/m/${server.merchant.id}/settings/keys`, { name: "CI" });
  const entry = { actor: "merchant Akosua", action: "key.create", details: { bySession: id } };
  expect(await lastEntries(1)).toMatchObject([entry]);
  expect((await akosua.get(`/m/${server.merchant.id}/audit`)).html).toContain(id);
});

test("shows an operator everyone with their role, and a merchant its own people only", async () => {
  const other = await server.addMerchant("Other");
  const stranger = await signedIn(server, { merchantId: other.merchant.id, name: "Stranger" });
  const kofi = await ofMerchant("Kofi");
  const all = (await operator.get("/team")).html;
  expect(all).toMatch(/<bdi>Ada<\/bdi> <span class="badge">you<\/span>.*<td class="wide">operator</);
  expect(all).toMatch(/<bdi>Stranger<\/bdi>.*<td class="wide">merchant<span class="under"><bdi>Other</);
  expect(all).toContain(`<a href="/dashboard/m/${other.merchant.id}/team">1 session</a>`);

  const own = (await kofi.get(team)).html;
  expect(own).toContain("<bdi>Kofi</bdi>");
  expect(own).not.toMatch(/Stranger|<bdi>Ada<\/bdi>|>operator/);
  expect((await kofi.get("/team")).headers.get("location")).toBe(`/dashboard${team}`);

  // A merchant cannot manage others with other people's ids.
  const { sessions } = await server.storage.listTeam({ idleMs: 60_000, limit: 100 });
  const idOf = (wanted: string) => sessions.find(({ name }) => name === wanted)!.id;
  for (const name of ["Stranger", "Ada"]) {
    expect((await kofi.post(`${team}/end`, { session: idOf(name) })).status).toBe(404);
    expect((await kofi.post(`${team}/end-all`, { name })).status).toBe(404);
  }
  expect([await isSignedIn(stranger), await isSignedIn(operator)]).toEqual([true, true]);
});

test.each(["constructor", "toString", "__proto__", "7 days"])(
  "a link with the lifetime %s lives for 10 minutes",
  async (lifetime) => {
    const { status, html } = await (
      await signedIn(server)
    ).post("/team/links", { name: `Eve of ${lifetime}`, role: "viewer", lifetime });
    expect([status, html]).toEqual([200, expect.stringContaining("within 10 minutes")]);
  },
);

test("limits the links that a person makes, in all sessions together, and that a team makes", async () => {
  const { id } = (await server.addMerchant("Links")).merchant;
  let guests = 0;
  const make = async (visitor: Visitor) =>
    (await visitor.post(`/m/${id}/team/links`, { name: `Guest ${(guests += 1)}`, role: "administrator" })).status;
  const person = (name: string) => signedIn(server, { merchantId: id, name });
  const [first, second] = [await person("Esi"), await person("Esi")];
  for (let made = 0; made < 10; made += 1) expect(await make(made % 2 === 0 ? first : second)).toBe(200);
  expect([await make(first), await make(second)]).toEqual([429, 429]);
  for (const name of ["Yaw", "Abena"]) {
    const other = await person(name);
    for (let made = 0; made < 10; made += 1) expect(await make(other)).toBe(200);
  }
  expect(await make(await person("Afua"))).toBe(429);
});
