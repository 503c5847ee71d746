import { afterAll, beforeAll, expect, test } from "vitest";
import { newLink, send, signedIn, visit, type Visitor } from "../../testing/dashboard.ts";
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
  const made = await visitor.post(`${team}/links`, { name: "  Esi " });
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

const BAD_NAMES = ["", " ", "x".repeat(101), "a\u001bb", "a\u200bb", "a\u202eb", "a\u2028b", "a\ue000b"];
test.each(BAD_NAMES)("refuses the name %j of a person, a key and a merchant", async (name) => {
  for (const form of ["/team/links", `${team}/links`, `/m/${server.merchant.id}/settings/keys`, "/merchants"]) {
    expect([form, (await operator.post(form, { name })).status]).toEqual([form, 422]);
  }
});

test("an operator makes links for operators, and for a merchant on its page", async () => {
  const [all, one] = [
    await operator.post("/team/links", { name: "Ama" }),
    await operator.post(`${team}/links`, { name: "Ama" }),
  ];
  const homes = [all, one].map(async ({ html }) => {
    const { headers } = await send(server, "/sign-in", { token: tokenIn(html) });
    return visit(server, "", { headers: { cookie: headers.getSetCookie()[0]! } });
  });
  expect((await Promise.all(homes)).map(({ status }) => status)).toEqual([200, 303]);
});

test("ends one session, or everything of a person, at once", async () => {
  const [kofi, first, second] = [await ofMerchant("Kofi"), await ofMerchant("Abena"), await ofMerchant("Abena")];
  const unused = await newLink(server, { merchantId: server.merchant.id, name: "Abena" });
  const session = sessionIn((await kofi.get(team)).html, "Abena");
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

test("shows an operator everyone with their role, and a merchant its own people only", async () => {
  const other = await server.addMerchant("Other");
  const stranger = await signedIn(server, { merchantId: other.merchant.id, name: "Stranger" });
  const kofi = await ofMerchant("Kofi");
  const all = (await operator.get("/team")).html;
  expect(all).toMatch(/<bdi>Ada<\/bdi> <span class="badge">you<\/span>.*\s+<td class="wide">operator</);
  expect(all).toMatch(/<bdi>Stranger<\/bdi>.*\s+<td class="wide">merchant<span class="under"><bdi>Other</);
  expect(all).toContain(`<a href="/dashboard/m/${other.merchant.id}/team">1 session</a>`);

  const own = (await kofi.get(team)).html;
  expect(own).toContain("<bdi>Kofi</bdi>");
  expect(own).not.toMatch(/Stranger|<bdi>Ada<\/bdi>|operator/);
  expect((await kofi.get("/team")).headers.get("location")).toBe(`/dashboard${team}`);

  // Neither through other pages nor with ids of others.
  const { sessions } = await server.storage.listTeam({ idleMs: 60_000, limit: 100 });
  const idOf = (wanted: string) => sessions.find(({ name }) => name === wanted)!.id;
  for (const page of ["/team", `/m/${other.merchant.id}/team`]) {
    for (const [form, fields] of [
      ["links", { name: "Eve" }],
      ["end", { session: idOf("Stranger") }],
      ["end-all", { name: "Stranger" }],
    ] as const) {
      expect((await kofi.post(`${page}/${form}`, fields)).status).toBe(404);
    }
  }
  for (const name of ["Stranger", "Ada"]) {
    expect((await kofi.post(`${team}/end`, { session: idOf(name) })).status).toBe(404);
    expect((await kofi.post(`${team}/end-all`, { name })).status).toBe(404);
  }
  expect([await isSignedIn(stranger), await isSignedIn(operator)]).toEqual([true, true]);
});

test("limits the links that a person makes, in all sessions together, and that a team makes", async () => {
  const { id } = (await server.addMerchant("Links")).merchant;
  const make = async (visitor: Visitor) => (await visitor.post(`/m/${id}/team/links`, { name: "Guest" })).status;
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
