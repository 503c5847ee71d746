// Who counts as a second person, for each decision that needs two (D74, D93, D104).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { send, signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let rail: TestRail;
let server: TestServer;
let number = 0;
const people = new Map<string, Visitor>();
const at = () => `/m/${server.merchant.id}`;

/** Signs a person in with a link that somebody has made at the dashboard. */
async function letIn(by: string, name: string, team = "/team"): Promise<void> {
  const { html } = await people.get(by)!.post(`${team}/links`, { name, role: "administrator" });
  const [, token] = /sign-in\?token=([\w-]+)/.exec(html)!;
  const { headers } = await send(server, "/sign-in", { token: token! });
  const cookie = headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const get = (path: string) => visit(server, path, { headers: { cookie } });
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec((await get(team)).html)!;
  const post = (path: string, fields = {}) => send(server, path, { csrf: csrf!, ...fields }, { cookie });
  people.set(name, { cookie, csrf: csrf!, get, post });
}

beforeAll(async () => {
  rail = createTestRail();
  const env = { SANDBOX: "false", BALANCE_APPROVAL_FROM: "XOF:1" };
  server = await startServer({ env, rails: railsOf(rail) });
  for (const name of ["Ada", "Grace"]) people.set(name, await signedIn(server, { name }));
  await letIn("Ada", "Invented");
  await letIn("Ada", "Sibling");
  await letIn("Invented", "Grandchild");
  await letIn("Grace", "Guest");
  for (const name of ["Esi", "Kofi"]) await letIn("Ada", name, `${at()}/team`);
});
afterAll(() => server.close());

/** A person's key, and a payout with it that needs an approval. Returns the payout's reference. */
async function waiting(maker: string): Promise<string> {
  const name = `Key ${(number += 1)}`;
  const { html } = await people.get(maker)!.post(`${at()}/settings/keys`, { name });
  const [, key] = /<code id="new-key">(live_\w{32})<\/code>/.exec(html)!;
  const { id } = (await server.storage.listKeysOf(server.merchant.id)).find((each) => each.name === name)!;
  await people.get("Ada")!.post(`${at()}/settings/keys/limits`, { key: id, approvalFrom: "XOF:1" });
  return (await server.createPayout({}, { key: key! })).body.data.reference;
}

/** Each decision: one person begins it, another tries to complete it. Resolves with true if it has taken effect. */
const decisions: Record<string, (one: string, other: string) => Promise<boolean>> = {
  async "a payout"(one, other) {
    const reference = await waiting(one);
    const payment = `${server.merchant.id}/${reference}`;
    const { html } = await people.get(other)!.post(`${at()}/approvals/approve`, { payment });
    const isLeft = (await server.storage.listWaiting({ limit: 500 })).some((each) => each.reference === reference);
    expect(html).toContain(isLeft ? "a sign-in link connects you with the person who did" : "1 payout approved.");
    return !isLeft;
  },
  async "a change of a balance"(one, other) {
    const id = `change-${(number += 1)}`;
    const path = `/merchants/${server.merchant.id}/adjust`;
    const form = { id, kind: "top-up", amount: "5", currency: "XOF", reason: "Bank transfer" };
    expect((await people.get(one)!.post(path, form)).status).toBe(303);
    await people.get(other)!.post("/balances/approve", { proposal: `${server.merchant.id}/${id}` });
    return !(await server.storage.listProposals()).some((proposal) => proposal.id === id);
  },
  async "a payment that ends by hand"(one, other) {
    // What was approved before is handed over now.
    await server.pass(0);
    rail.answers.push(new Error("time-out"));
    rail.found.push(new Error("time-out"));
    const { reference } = (await server.createPayout()).body.data;
    await server.pass(0);
    const decision = { status: "failed", reason: "not in the rail's books" };
    const path = `${at()}/payments/${reference}/decide`;
    for (const name of [one, other]) expect((await people.get(name)!.post(path, decision)).status).toBe(303);
    return (await server.storage.findHandover(reference))!.status === "failed";
  },
};

describe.each(Object.keys(decisions))("%s", (decision) => {
  test.each([
    ["who let the first in", "Invented", "Ada", false],
    ["whom the first let in", "Ada", "Invented", false],
    ["whom the first let in indirectly", "Ada", "Grandchild", false],
    ["let in by who let the first in", "Invented", "Sibling", false],
    ["let in by nobody at the dashboard", "Ada", "Grace", true],
    ["let in by somebody else", "Invented", "Guest", true],
  ])("needs a person not %s", async (_, one, other, takesEffect) => {
    expect(await decisions[decision]!(one, other)).toBe(takesEffect);
  });
});

test("the overview leads operators, and nobody else, to the changes of balances that wait", async () => {
  await decisions["a change of a balance"]!("Ada", "Invented");
  const line = 'Changes of balances wait for a second person. <a href="/dashboard/balances">';
  const shownTo = async (name: string, page: string) => (await people.get(name)!.get(page)).html.includes(line);
  expect([await shownTo("Ada", "/overview"), await shownTo("Ada", `${at()}/overview`)]).toEqual([true, true]);
  expect(await shownTo("Esi", `${at()}/overview`)).toBe(false);
});

test("two people of a merchant whom an operator let in are two", async () => {
  expect(await decisions["a payout"]!("Esi", "Kofi")).toBe(true);
  expect(await decisions["a payout"]!("Esi", "Ada")).toBe(false);
});
