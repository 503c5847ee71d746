// Every page, found by the server's own routes, so that a new page needs no entry here.
import { afterAll, describe, expect, test } from "vitest";
import { scopesOf } from "../../actions/action.ts";
import { ACTION_NAMES, actionOf } from "../../actions/index.ts";
import { filledDashboard, not, says, storageNames, type FilledDashboard } from "../../testing/dashboard.ts";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { startServer } from "../../testing/server.ts";
import { PAGES } from "./routes.ts";

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
const receiver = await startReceiver(500, HOSTILE);
const sandbox = await filledDashboard();
const live = await filledDashboard({ isLive: true });
const hostile = await filledDashboard({
  merchant: HOSTILE,
  reference: HOSTILE.slice(0, 64),
  webhookURL: receiver.url,
});
afterAll(() => Promise.all([sandbox.close(), live.close(), hostile.close(), receiver.close()]));

const isOfDashboard = ({ route }: { route: string }) => route.startsWith("/dashboard");
const isOfMerchant = ({ route }: { route: string }) => route.startsWith("/dashboard/m/");
/** Style sheets, scripts and the sign-in page are for everybody. */
const isPublic = ({ route }: { route: string }) => /\/sign-in|\.(css|js)$/.test(route);

/** The parameters that a page reads. */
function declaredOf(route: string): readonly string[] {
  if (route === "/dashboard/sign-in") return ["token"];
  const isHere = ({ at }: { at: string }) => scopesOf(at).some((each) => `/dashboard${each}` === route);
  const asking = ACTION_NAMES.map(actionOf).find((action) => action.asks && isHere(action));
  const inputs = Object.values(asking?.input ?? {}).flatMap((field) => (field.isLate ? [] : Object.keys(field.inputs)));
  return PAGES.find(isHere)?.query ?? inputs;
}

const NAMES = storageNames();
const VARIANTS: [string, (name: string) => string][] = [
  ["once", (name) => `${name}=1`],
  ["twice", (name) => `${name}=1&${name}=2`],
  ["as a list", (name) => `${name}[]=1&${name}%5B%5D=2`],
  ["as an object", (name) => `${name}[gt]=1&${name}%5Blt%5D=2`],
];

/** A response without the parts that differ between two equal requests. */
async function open({ server, operator }: FilledDashboard, path: string, headers: Record<string, string> = {}) {
  const { cookie } = operator;
  const response = await fetch(server.url + path, {
    redirect: "manual",
    headers: { accept: "text/html,*/*", cookie, ...headers },
  });
  const text = (await response.text()).replaceAll(response.headers.get("x-request-id") ?? "no id", "");
  return { status: response.status, location: response.headers.get("location"), text };
}

test("the routes are found, and the names that storage and domain use", () => {
  const found = sandbox.pages.map(({ route }) => route);
  for (const route of ["/checkouts/:reference", "/readyz", "/dashboard/m/:merchant/webhooks/:id"])
    expect(found).toContain(route);
  expect(declaredOf("/dashboard/m/:merchant/disbursements")).toContain("cursor");
  expect(NAMES).toEqual(expect.arrayContaining(["phoneNumber", "phone_number", "createdAfter", "merchantId"]));
});

test.each(VARIANTS)("a page ignores parameters that it does not declare, sent %s", async (_, parameter) => {
  for (const { route, path } of sandbox.pages) {
    const plain = await open(sandbox, path);
    expect(plain.status, `${route}`).toBeLessThan(400);
    const more = NAMES.filter((name) => !declaredOf(route).includes(name)).map(parameter);
    const filled = await open(sandbox, `${path}${path.includes("?") ? "&" : "?"}${more.join("&")}`);
    expect([route, filled]).toEqual([route, plain]);
  }
});

test.each(VARIANTS.slice(1))("no page fails for parameters that it declares, sent %s", async (_, parameter) => {
  for (const { route } of sandbox.pages)
    for (const names of [...declaredOf(route).map((name) => [name]), declaredOf(route)]) {
      const query = names.map(parameter).join("&");
      const { status } = await open(sandbox, `${sandbox.filled(route)}?${query}`);
      expect(status, `${route} ${query}`).toBeLessThan(500);
    }
});

test.each(["cursor=x", "status=nothing", "from=yesterday", "to=2026-13-01", "of=fees", "of=__proto__"])(
  "a page that reads %s refuses it",
  async (query) => {
    const [name = ""] = query.split("=");
    const pages = sandbox.pages.filter((page) => isOfMerchant(page) && declaredOf(page.route).includes(name));
    expect(pages.length).toBeGreaterThan(0);
    for (const { route } of pages.filter((each) => !each.route.endsWith(".csv")))
      expect([route, (await open(sandbox, `${sandbox.filled(route)}?${query}`)).status]).toEqual([route, 422]);
  },
);

/** Words that no French sentence contains. */
const ENGLISH =
  /(?<![.\w-])(the|of|to|and|with|which|this|that|not|yet|is|are|was|has|from|until|since|payouts?|amount|failed|pending|success|created?|nothing|status:|settings)(?![.-]?\w)/i;

/** Where the forms of a page lead, but for signing out. */
const formsOf = async (visitor: Visitor, path: string) => {
  const { html } = await visitor.get(path.slice("/dashboard".length));
  const actions = [...html.matchAll(/<form [^>]*method="post" action="([^"]+)"/g)].map(([, action]) => action!);
  return actions.filter((action) => !action.endsWith("/sign-out"));
};

describe.each([
  ["a sandbox", sandbox, "Sandbox"],
  ["a live service", live, "Live"],
])("the pages of %s", (_, dashboard, mode) => {
  const pages = dashboard.pages.filter(isOfDashboard);
  const { server } = dashboard;

  test("say where one is, in English or, for a browser that prefers it, entirely in French", async () => {
    for (const { route, path } of [...pages, { route: "unknown", path: "/dashboard/unknown" }]) {
      const { text: html } = await open(dashboard, path, { "accept-language": "fr-CI,fr;q=0.9,en;q=0.5" });
      if (!html.startsWith("<!doctype html>")) continue;
      expect.soft(html, route).toContain('<html lang="fr">');
      const attributes = [...html.matchAll(/(?:aria-label|placeholder|title)="([^"]*)"/g)].map(([, text]) => text);
      const text = html
        .replaceAll(/<(style|pre|code|bdi)\b[^]*?<\/\1>/g, "")
        .replaceAll(/<[^>]*>/g, " ")
        .concat(...attributes.map((each) => ` ${each}`));
      expect.soft(ENGLISH.exec(text), route).toBeNull();
      expect.soft(/\{\w+\}|undefined|NaN/.exec(text), route).toBeNull();
      const english = (await open(dashboard, path)).text;
      expect.soft(english, route).toContain('<html lang="en">');
      expect.soft(english, route).toMatch(new RegExp(`class="badge (test|live)">${mode}<`));
    }
  });

  test("lead to the sign-in page without a session", async () => {
    for (const { route, path } of pages.filter((each) => !isPublic(each))) {
      const { status, to } = await visit(server, path.slice("/dashboard".length));
      expect([route, status, to]).toEqual([route, 303, "/sign-in"]);
    }
  });

  test("are there for a merchant's people if they are about that merchant only", async () => {
    const other = (await server.addMerchant("Other")).merchant;
    const stranger = await signedIn(server, { merchantId: other.id, name: "Kofi" });
    for (const { route, path } of pages.filter((each) => !isPublic(each))) {
      const at = path.slice("/dashboard".length);
      const [own, strange] = [await dashboard.member.get(at), await stranger.get(at)];
      if (isOfMerchant({ route })) {
        expect([route, own.status, strange.status]).toEqual([route, 200, 404]);
        expect(strange.text).not.toContain("Ada Stores");
        // Nor is anything of the merchant there among what is the stranger's own.
        const elsewhere = await stranger.get(at.replaceAll(dashboard.id, other.id));
        if (/:(id|reference)/.test(route)) expect([route, elsewhere.status]).toEqual([route, 404]);
        expect(elsewhere.text).not.toMatch(/Ada Stores|salary-41/);
      } else if (own.status === 303) expect([route, own.to]).toEqual([route, expect.stringContaining(dashboard.area)]);
      else expect([route, own.status]).toEqual([route, 404]);
    }
  });

  test("show no form that the visitor's role does not permit", async () => {
    const viewer = await signedIn(server, { role: "viewer" });
    const permitted = new Set<string>();
    for (const { route, path } of pages.filter((each) => !isPublic(each))) {
      expect([route, await formsOf(viewer, path)]).toEqual([route, []]);
      for (const action of await formsOf(dashboard.operator, path)) permitted.add(action);
    }
    expect(permitted.size).toBeGreaterThan(15);
  });
});

test("every page shows what others wrote as text, and cannot be framed, cached, or load anything from elsewhere", async () => {
  const { server, id, member } = hostile;
  await server.request("GET", `/v1/disbursements/${encodeURIComponent(HOSTILE)}`);
  const visitors = [await signedIn(server, { name: HOSTILE }), member];
  const shown = new Set<string>();
  for (const { route, path } of [...hostile.pages.filter(isOfDashboard), { route: "none", path: "/dashboard/none" }])
    for (const { cookie } of visitors) {
      const response = await fetch(server.url + path, { headers: { cookie } });
      const { headers } = response;
      const html = await response.text();
      if (!headers.get("content-type")?.startsWith("text/html")) continue;
      expect([route, /<script>|<img/.test(html)]).toEqual([route, false]);
      expect(Buffer.byteLength(html)).toBeLessThan(60_000);
      const policy = headers.get("content-security-policy")!;
      for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
        expect(policy).toContain(part);
      expect(policy.replace("script-src 'self'; connect-src 'self'", "")).not.toMatch(/unsafe|script-src|\*|http/);
      expect(Object.fromEntries(headers)).toMatchObject({
        "x-frame-options": "DENY",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "strict-origin",
        vary: "Cookie, Accept-Language",
      });
      if (html.includes("&lt;script&gt;alert(1)")) shown.add(route);
      if (html.includes("onerror=alert(1)&gt;</code>")) shown.add("the receiver's response");
    }
  const expected = ["/dashboard", "/dashboard/m/:merchant/settings", "the receiver's response"];
  expect([...shown]).toEqual(expect.arrayContaining(expected));
  expect(shown.size).toBeGreaterThan(9);
  expect((await server.storage.findMerchant(id))!.name).toBe(HOSTILE);
});

test.each(["/nothing", "/m/nobody/settings", "/m/%zz/settings", "/m/nobody/settings/close", "/sign-out?csrf=x"])(
  "%s is not found",
  async (path) => {
    await says(sandbox.operator.get(path), 404, "Not found");
  },
);

test("what is not set up is not there: a sandbox, its rails, a log of requests, a dashboard", async () => {
  const quiet = await startServer({ env: { REQUEST_LOG: "off", DASHBOARD: "false" }, seed: 3 });
  for (const path of ["", "/sign-in"]) expect((await visit(quiet, path)).status).toBe(404);
  await quiet.close();
  const other = await startServer({ env: { REQUEST_LOG: "off" } });
  const { reference } = (await other.createPayout()).body.data;
  const ada = await signedIn(other);
  const area = `/m/${other.merchant.id}`;
  await says(ada.get(`${area}/requests`), 404);
  await says(ada.get(`${area}/disbursements/${reference}`), 200, not("/requests"));
  for (const path of ["/attention", "/rails", `${area}/attention`]) await says(ada.get(path), 404);
  await other.close();
  const { operator, area: at } = live;
  await says(operator.get(`${at}/sandbox`), 404);
  for (const form of ["reset", "advance"]) await says(operator.post(`${at}/sandbox/${form}`), 404);
  await says(operator.get(`${at}/settings`), 200, not("/sandbox"));
});
