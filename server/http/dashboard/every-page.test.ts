// Every page, found by the server's own routes, so that a new page needs no entry here.
import { afterAll, describe, expect, test } from "vitest";
import { scopesOf } from "../../actions/action.ts";
import { ACTION_NAMES, actionOf } from "../../actions/index.ts";
import { filledDashboard, not, openDashboard, PARAMETERS, parametersOf, says } from "../../testing/dashboard.ts";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startReceiver } from "../../testing/receiver.ts";
import { start } from "../../testing/table.ts";
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

const isOfMerchant = (route: string) => route.startsWith("/m/");
/** The sign-in page is for everybody. */
const isPublic = ({ route }: { route: string }) => route.startsWith("/sign-in");

/** The parameters that a page reads. */
function declaredOf(route: string): readonly string[] {
  if (route === "/sign-in") return ["token"];
  const isHere = ({ at }: { at: string }) => scopesOf(at).includes(route);
  const asking = ACTION_NAMES.map(actionOf).find((action) => action.asks && isHere(action));
  const inputs = Object.values(asking?.input ?? {}).flatMap((field) =>
    field.onConfirm ? [] : Object.keys(field.inputs),
  );
  const page = PAGES.find(isHere);
  return page ? parametersOf(page) : inputs;
}
/** A query with each parameter once, twice, as a list and as an object. */
const inEveryWay = (names: readonly string[]) =>
  names.map((name) => `${name}=1&${name}=2&${name}[]=1&${name}%5B%5D=2&${name}[gt]=1`).join("&");

test("pages ignore parameters that they do not declare, in every way, and never fail for those that they do", async () => {
  const { operator, pages, filled } = sandbox;
  const shown = async (path: string) => {
    const { status, to, html, headers } = await operator.get(path);
    return { status, to, html: html.replaceAll(headers.get("x-request-id")!, "") };
  };
  expect(pages.map(({ route }) => route)).toContain("/m/:merchant/webhooks/:id");
  expect(declaredOf("/m/:merchant/disbursements")).toContain("cursor");
  for (const { route, path } of pages) {
    const declared = declaredOf(route);
    const plain = await shown(path);
    expect(plain.status, `${route}`).toBeLessThan(400);
    const more = inEveryWay(PARAMETERS.filter((name) => !declared.includes(name)));
    expect([route, await shown(`${path}${path.includes("?") ? "&" : "?"}${more}`)]).toEqual([route, plain]);
    for (const name of declared)
      for (const query of inEveryWay([name]).split("&"))
        expect((await shown(`${filled(route)}?${query}`)).status, `${route} ${query}`).toBeLessThan(500);
    expect((await shown(`${filled(route)}?${inEveryWay(declared)}`)).status, `${route}`).toBeLessThan(500);
  }
});

test.each(["cursor=x", "status=nothing", "from=yesterday", "to=2026-13-01", "of=fees", "of=__proto__"])(
  "a page that reads %s refuses it",
  async (query) => {
    const [name = ""] = query.split("=");
    const routes = sandbox.pages.map(({ route }) => route).filter((route) => declaredOf(route).includes(name));
    expect(routes.length).toBeGreaterThan(0);
    for (const route of routes.filter((each) => isOfMerchant(each) && !each.endsWith(".csv")))
      await says(sandbox.operator.get(`${sandbox.filled(route)}?${query}`), 422);
  },
);

/** Words that no French sentence contains. */
const ENGLISH =
  /(?<![.\w-])(the|of|to|and|with|which|this|that|not|yet|is|are|was|has|from|until|since|payouts?|amount|failed|pending|success|created?|nothing|status:|settings)(?![.-]?\w)/i;

/** Where the forms of a page lead, but for signing out. */
const formsOf = async (visitor: Visitor, path: string) => {
  const { html } = await visitor.get(path);
  const actions = [...html.matchAll(/<form [^>]*method="post" action="([^"]+)"/g)].map(([, action]) => action!);
  return actions.filter((action) => !action.endsWith("/sign-out"));
};

describe.each([
  ["a sandbox", sandbox, "Sandbox"],
  ["a live service", live, "Live"],
])("the pages of %s", (_, { server, id, area, pages, operator, kofi }, mode) => {
  const own = pages.filter((page) => !isPublic(page));

  test("say where one is, in English or, for a browser that prefers it, entirely in French", async () => {
    for (const { route, path } of [...pages, { route: "unknown", path: "/unknown" }]) {
      const { html } = await operator.get(path, { "accept-language": "fr-CI,fr;q=0.9,en;q=0.5" });
      if (!html.startsWith("<!doctype html>")) continue;
      expect.soft(html, route).toContain('<html lang="fr">');
      const attributes = [...html.matchAll(/(?:aria-label|placeholder|title)="([^"]*)"/g)].map(([, text]) => text);
      const text = html
        .replaceAll(/<(style|pre|code|bdi)\b[^]*?<\/\1>/g, "")
        .replaceAll(/<[^>]*>/g, " ")
        .concat(...attributes.map((each) => ` ${each}`));
      expect.soft(ENGLISH.exec(text), route).toBeNull();
      expect.soft(/\{\w+\}|undefined|NaN/.exec(text), route).toBeNull();
      const english = (await operator.get(path, { "accept-language": "de" })).html;
      expect.soft(english, route).toContain('<html lang="en">');
      expect.soft(english, route).toMatch(new RegExp(`class="badge (test|live)">${mode}<`));
    }
  });

  test("lead to the sign-in page without a session", async () => {
    for (const { route, path } of own) {
      const { status, to } = await visit(server, path);
      expect([route, status, to]).toEqual([route, 303, "/sign-in"]);
    }
  });

  test("are there for a merchant's people if they are about that merchant only", async () => {
    const other = (await server.addMerchant("Other")).merchant;
    const stranger = await signedIn(server, { merchantId: other.id, name: "Kofi" });
    for (const { route, path } of own) {
      const [mine, strange] = [await kofi.get(path), await stranger.get(path)];
      if (isOfMerchant(route)) {
        expect([route, mine.status, strange.status]).toEqual([route, 200, 404]);
        expect(strange.text).not.toContain("Ada Stores");
        // Nor is anything of the merchant there among what is the stranger's own.
        const elsewhere = await stranger.get(path.replaceAll(id, other.id));
        if (/:(id|reference)/.test(route)) expect([route, elsewhere.status]).toEqual([route, 404]);
        expect(elsewhere.text).not.toMatch(/Ada Stores|salary-41/);
      } else if (mine.status === 303) expect([route, mine.to]).toEqual([route, expect.stringContaining(area)]);
      else expect([route, mine.status]).toEqual([route, 404]);
    }
  });

  test("show no form that the visitor's role does not permit", async () => {
    const viewer = await signedIn(server, { role: "viewer" });
    const permitted = new Set<string>();
    for (const { route, path } of own) {
      expect([route, await formsOf(viewer, path)]).toEqual([route, []]);
      for (const action of await formsOf(operator, path)) permitted.add(action);
    }
    expect(permitted.size).toBeGreaterThan(15);
  });
});

const unknown = `${live.area}/disbursements/${live.attention[1]}`;
const lookups = /Looked the payment up at the rail: no result is known[^]* The last of \d+ similar requests/;
const conflicts = ["XOF 100.00 as “success”. The rail now says “failed”", "XOF 25,000.00 as “cancelled”."];
test.each<[visitor: Visitor, path: string, ...said: Parameters<typeof says>[2][]]>([
  [sandbox.kofi, "/m/:merchant/disbursements/:id", /Created.* success.* Event disbursement\.completed.* Attempt 1: no/],
  [sandbox.kofi, "/m/:merchant/webhooks/:id", "Address https://merchant.example/", "Attempt 1: no response"],
  [sandbox.kofi, "/m/:merchant/checkouts/:id", "The payer’s page", /href="http[^"]+\/checkouts\/CHK/, "Due: cancelled"],
  [sandbox.kofi, "/m/:merchant/balances", "-XOF", "Payout created"],
  [sandbox.operator, "/balances", "Ada Stores", "-XOF", "transfer, by ada@host"],
  [sandbox.operator, "/m/:merchant/settings", "never used", "may do everything", "Suspend the merchant", not("Reopen")],
  [live.operator, "/attention", "unknown", "Ada Stores", ...conflicts],
  [live.kofi, "/m/:merchant/attention", "unknown", ...conflicts],
  [
    live.operator,
    unknown,
    /Sent the payout to the rail: no result is known.* time-out/,
    "once a second operator agrees",
  ],
  [live.kofi, unknown, "What was sent, and what came back", lookups, not("End the payment by hand")],
  [live.operator, "/rails", "test in use 1 0 2 "],
])("$1 shows what it is about", async (visitor, path, ...said) => {
  const { filled } = [live.operator, live.kofi].includes(visitor) ? live : sandbox;
  await says(visitor.get(filled(path)), 200, ...said);
});

test("every page shows what others wrote as text, no secret, and cannot be framed, cached, or load from elsewhere", async () => {
  const { server, id, kofi } = hostile;
  const secrets = [server.key, (await server.storage.readSecrets(id)).current];
  await server.request("GET", `/v1/disbursements/${encodeURIComponent(HOSTILE)}`);
  const visitors = [await signedIn(server, { name: HOSTILE }), kofi];
  const shown = new Set<string>();
  for (const { route, path } of [...hostile.pages, { route: "none", path: "/none" }])
    for (const { get } of visitors) {
      const first = await get(path);
      const { html, headers } = first.to === undefined ? first : await get(first.to);
      if (!headers.get("content-type")?.startsWith("text/html")) continue;
      expect([route, /<script>|<img/.test(html)]).toEqual([route, false]);
      expect([route, secrets.filter((secret) => html.includes(secret))]).toEqual([route, []]);
      expect(Buffer.byteLength(html)).toBeLessThan(60_000);
      const policy = headers.get("content-security-policy")!;
      for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
        expect(policy).toContain(part);
      expect(policy).not.toMatch(/unsafe|\*|http/);
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
  expect([...shown]).toEqual(expect.arrayContaining(["", "/m/:merchant/settings", "the receiver's response"]));
  expect(shown.size).toBeGreaterThan(9);
  expect((await server.storage.findMerchant(id))!.name).toBe(HOSTILE);
});

test("what does not exist, or is not set up, is not found", async () => {
  const unknownPaths = ["/nothing", "/m/nobody/settings", "/m/%zz/settings", "/m/nobody/settings/close"];
  for (const path of [...unknownPaths, "/sign-out?csrf=x"]) await says(sandbox.operator.get(path), 404, "Not found");
  for (const path of ["/attention", "/rails", `${sandbox.area}/attention`]) await says(sandbox.operator.get(path), 404);
  const quiet = await start({ env: { REQUEST_LOG: "off", DASHBOARD: "false" }, seed: 3 });
  for (const path of ["", "/sign-in"]) expect((await visit(quiet, path)).status).toBe(404);
  const other = await start({ env: { REQUEST_LOG: "off" } });
  const { reference } = (await other.createPayout()).body.data;
  const [ada, area] = [await signedIn(other), `/m/${other.merchant.id}`];
  await says(ada.get(`${area}/requests`), 404);
  await says(ada.get(`${area}/disbursements/${reference}`), 200, not("/requests"));
  await says(live.operator.get(`${live.area}/sandbox`), 404);
  for (const form of ["reset", "advance"]) await says(live.operator.post(`${live.area}/sandbox/${form}`), 404);
  await says(live.operator.get(`${live.area}/settings`), 200, not("/sandbox"));
});

test("a page is sent to its script only after it has changed, and not because of another merchant", async () => {
  const { server, area, ada, kofi, close } = await openDashboard();
  const other = await server.addMerchant("Other");
  /** Each call of the returned function reads a page as its script does, and returns the status. */
  const follow = (path: string) => {
    let version = "";
    return async () => {
      // The headers that browsers add to a request whose response must not come from their cache.
      const headers = { "x-live": "yes", "if-none-match": version, "cache-control": "max-age=0" };
      const read = await ada.get(path, headers);
      expect(read.html === "").toBe(read.status !== 200);
      version = read.headers.get("etag") ?? version;
      return read.status;
    };
  };
  const [mine, settings] = [follow(`${area}/disbursements`), follow(`${area}/settings`)];
  const others = follow(`/m/${other.merchant.id}/disbursements`);
  expect([await mine(), await mine(), await others(), await settings()]).toEqual([200, 304, 200, 200]);
  for (const change of [server.createPayout, () => server.pass(server.config.settleDelayMs)]) {
    await change();
    expect([await mine(), await mine(), await others()]).toEqual([200, 304, 304]);
  }
  await server.createPayout({}, { key: other.key });
  await kofi.post(`${area}/settings/keys`, { name: "Payroll" });
  expect([await others(), await mine(), await settings()]).toEqual([200, 304, 200]);
  await ada.post("/sign-out");
  expect(await mine()).toBe(303);
  await close();
});

test("the script is no part of the sign-in page; a response to a form names the page to read", async () => {
  const { server, operator, area } = sandbox;
  const { html, headers } = await says(operator.get(""), 200, not("data-address"));
  expect(headers.get("etag")).toBeNull();
  for (const [, file] of html.matchAll(/(?:src|href)="(\/dashboard\/\.\.\/docs\/assets\/\w+\.(?:js|css))"/g))
    expect((await fetch(server.url + file)).headers.get("content-type")).toMatch(/^text\/(javascript|css)/);
  await says(visit(server, "/sign-in"), 200, not("<script"));
  const page = operator.post(`${area}/settings/keys`, { name: "Payroll" });
  await says(page, 200, `data-address="/dashboard${area}/settings"`);
});
