// Every form of the dashboard, for every role, of a merchant and of the platform.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasRight, ROLES, type Right, type Role } from "../../domain/roles.ts";
import type { AuditEntry } from "../../domain/audit.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { scopesOf, type Action } from "../../actions/action.ts";
import { ACTIONS } from "../../actions/index.ts";

let server: TestServer;
let own = "";
let other = "";
beforeAll(async () => {
  server = await startServer();
  own = server.merchant.id;
  other = (await server.addMerchant("Kofi Goods")).merchant.id;
});
afterAll(() => server.close());

const newest = async () => (await server.storage.listAudit({ limit: 20 })).items.map((entry) => JSON.stringify(entry));

/** Sends a form with empty fields. Returns the status, the page, and what the audit trail says about it. */
async function send(visitor: Visitor, path: string, merchant: string) {
  const [last] = await newest();
  const { status, html } = await visitor.post(
    path.replace("/dashboard", "").replace(":merchant", merchant).replaceAll(/:\w+/g, "unknown"),
  );
  const after = await newest();
  return { status, html, recorded: after.slice(0, after.indexOf(last!)).map((text) => JSON.parse(text) as AuditEntry) };
}

const everyForm = (Object.values(ACTIONS) as unknown as Action[])
  .filter(({ where }) => where !== "live")
  .flatMap(({ at, needs }) => scopesOf(at).map((path) => [needs, `/dashboard${path}`] as const))
  // A closed merchant is refused what others may do.
  .toSorted(([, a], [, b]) => Number(a.endsWith("/close")) - Number(b.endsWith("/close")));
const isOfMerchant = (path: string) => path.includes("/m/:merchant/");

type Form = readonly [Right, string];

/** Sends each form. Returns what became of each: a refusal leaves no trace but its entry in the audit trail. */
async function outcomesOf(visitor: Visitor, forms: readonly Form[]) {
  const outcomes: unknown[] = [];
  for (const [, path] of forms) {
    const { status, html, recorded } = await send(visitor, path, own);
    const refusal = /Your role, \w+, does not permit this\. To [^,]+,/.exec(html)?.[0];
    outcomes.push(
      status === 403 ? [path, refusal, recorded.map(({ action, merchantId }) => [action, merchantId])] : path,
    );
  }
  return outcomes;
}

const expectedOf = (role: Role, forms: readonly Form[]) =>
  forms.map(([right, path]) =>
    hasRight(role, right)
      ? path
      : [
          path,
          `Your role, ${role}, does not permit this. To ${right},`,
          [["dashboard.refuse", isOfMerchant(path) ? own : ""]],
        ],
  );

describe.each(ROLES)("%s", (role) => {
  test("of a merchant: each form is refused or permitted, and none of another merchant is there", async () => {
    const visitor = await signedIn(server, { merchantId: own, name: `Merchant ${role}`, role });
    const forms = everyForm.filter(([, path]) => isOfMerchant(path));
    for (const [, path] of forms) expect(await send(visitor, path, other)).toMatchObject({ status: 404, recorded: [] });
    expect(await outcomesOf(visitor, forms)).toEqual(expectedOf(role, forms));
  });

  test("of the platform: each form is refused or permitted", async () => {
    const visitor = await signedIn(server, { name: `Operator ${role}`, role });
    expect(await outcomesOf(visitor, everyForm)).toEqual(expectedOf(role, everyForm));
  });
});

test("a form that is in no list is refused to everybody", async () => {
  const visitor = await signedIn(server);
  expect(await send(visitor, "/dashboard/m/:merchant/settings", own)).toMatchObject({ status: 404, recorded: [] });
});

test("a page shows no form that the role does not permit", async () => {
  const [viewer, administrator] = [await signedIn(server, { role: "viewer" }), await signedIn(server)];
  for (const page of ["", `/m/${own}/settings`, `/m/${own}/team`, `/m/${own}/sandbox`, `/merchants/${own}`]) {
    const formsOf = async (visitor: Visitor) =>
      [...(await visitor.get(page)).html.matchAll(/<form [^\n]*method="post" action="([^"]+)"/g)].map(
        ([, action]) => action,
      );
    expect(await formsOf(viewer)).toEqual([expect.stringMatching(/sign-out$/)]);
    expect((await formsOf(administrator)).length).toBeGreaterThan(1);
  }
});
