import { afterAll, expect, test } from "vitest";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { enter, newLink, send, signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";

const { server, id, area, ada, close } = await openDashboard();
const team = `${area}/team`;
afterAll(close);

const ofMerchant = (name: string) => signedIn(server, { merchantId: id, name });
const isSignedIn = async ({ get }: Visitor) => (await get("/team")).to !== "/sign-in";
const make = (maker: Visitor, name: string, more = {}, at = team) =>
  maker.post(`${at}/links`, { name, role: "administrator", ...more });
/** The token of a new link. */
async function tokenOf(made: ReturnType<typeof make>): Promise<string> {
  return /sign-in\?token=([\w-]{43})/.exec((await says(made, 200)).html)![1]!;
}
const letIn = async (maker: Visitor, name: string) => enter(server, await tokenOf(make(maker, name)));
const statusWith = async (token: string) => (await send(server, "/sign-in", { token })).status;
const sessionOf = async (wanted: string) =>
  (await server.storage.listTeam()).sessions.find(({ name }) => name === wanted)!.id;

test("a link for a colleague is shown once and signs in one person of the same merchant", async () => {
  const kofi = await ofMerchant("Kofi");
  const made = make(kofi, "  Esi ", { lifetime: "3 days" });
  await says(made, 200, "within 3 days. Role: administrator.");
  const token = await tokenOf(made);
  await says(kofi.get(team), 200, /Esi .*An unused link/, not(token));
  const esi = await enter(server, token);
  expect((await esi.get("")).to).toBe(`${area}/disbursements`);
  expect(await trail(server, 2)).toMatchObject([
    { actor: "merchant Esi", action: "dashboard.sign-in", details: { invitedBy: "merchant Kofi" } },
    { actor: "merchant Kofi", action: "dashboard.link", merchantId: id, details: { name: "Esi" } },
  ]);
  await says(kofi.get(team), 200, /Esi .*Since .*Let in by Kofi/);
  expect(JSON.stringify(server.logged())).not.toContain(token);
});

test("an operator makes links for operators, and for a merchant on its page", async () => {
  const homes: unknown[] = [];
  for (const at of ["/team", team])
    homes.push((await (await enter(server, await tokenOf(make(ada, "Ama", {}, at)))).get("")).to);
  expect(homes).toEqual([undefined, `${area}/disbursements`]);
});

test("all access of a person ends with that of everybody whom the person let in", async () => {
  const [kwame, other] = [await ofMerchant("Kwame"), await ofMerchant("Other")];
  const child = await letIn(kwame, "Child");
  const grandchild = await letIn(child, "Grandchild");
  const unused = await tokenOf(make(grandchild, "Unused"));
  const guest = await letIn(other, "Guest");
  await done(other.post(`${team}/end-all`, { name: "Kwame" }));
  expect(await Promise.all([kwame, child, grandchild, guest].map(isSignedIn))).toEqual([false, false, false, true]);
  expect(await statusWith(unused)).toBe(403);
});

test("nobody makes a link in the name of a colleague who has access; the command line can", async () => {
  const [kojo, yaw] = [await ofMerchant("Kojo"), await ofMerchant("Yaw")];
  const chief = await signedIn(server, { name: "Chief" });
  for (const maker of [kojo, chief])
    for (const name of ["Yaw", " yaw ", "ＹＡＷ"]) await says(make(maker, name), 422, "has access already");
  await says(make(yaw, "Yaw"), 200);
  await newLink(server, { merchantId: id, name: "Yaw" });
  await done(kojo.post(`${team}/end-all`, { name: "Yaw" }));
  await says(make(kojo, "Yaw"), 200);
});

test("an entry of the audit trail has the session of the person", async () => {
  const akosua = await ofMerchant("Akosua");
  const session = await sessionOf("Akosua");
  await says(akosua.post(`${area}/settings/keys`, { name: "CI" }), 200);
  const entry = { actor: "merchant Akosua", action: "key.create", details: { bySession: session } };
  expect(await trail(server)).toMatchObject([entry]);
  await says(akosua.get(`${area}/audit`), 200, session);
});

test("an operator sees and manages everyone, a merchant its own people only", async () => {
  const other = await server.addMerchant("Other Stores");
  const stranger = await signedIn(server, { merchantId: other.merchant.id, name: "Stranger" });
  const kofi = await ofMerchant("Kofi");
  await says(ada.get("/team"), 200, /Ada you .*operator/, /Stranger .*Merchant Other Stores/);
  await says(kofi.get(team), 200, "Kofi", not(/Stranger|Ada you/));
  for (const name of ["Stranger", "Ada"]) {
    await says(kofi.post(`${team}/end`, { session: await sessionOf(name) }), 404);
    await says(kofi.post(`${team}/end-all`, { name }), 404);
  }
  expect([await isSignedIn(stranger), await isSignedIn(ada)]).toEqual([true, true]);
});
