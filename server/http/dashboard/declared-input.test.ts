// Sends every name that storage and domain use, undeclared, to every page and with every form: the response and the
// stored data must be the same as without it. Sends every form to a failing storage, too.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newLink, routesOf, signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { failingStorage, type FailingStorage, type Failure } from "../../testing/failing-storage.ts";
import { openSqlite } from "../../storage/sqlite/index.ts";
import { startServer, type TestServer, type TestServerOptions } from "../../testing/server.ts";
import { storageNames } from "../../testing/storage-names.ts";

const NAMES = storageNames();
const MERCHANT = "/dashboard/m/:merchant";
/** The parameters of links and of the forms that search. */
const SEARCH = ["status", "type", "host", "reference", "from", "to"];
const PAYMENTS = ["search", "status", "from", "to", "cursor"];
const OVERVIEW = ["range", "of", "until"];
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  "/dashboard/sign-in": ["token"],
  "/dashboard": ["search"],
  "/dashboard/overview": OVERVIEW,
  [`${MERCHANT}/overview`]: OVERVIEW,
  [`${MERCHANT}/disbursements`]: PAYMENTS,
  [`${MERCHANT}/disbursements.csv`]: PAYMENTS,
  [`${MERCHANT}/checkouts`]: PAYMENTS,
  [`${MERCHANT}/checkouts.csv`]: PAYMENTS,
  [`${MERCHANT}/webhooks`]: [...SEARCH, "cursor"],
  [`${MERCHANT}/replays/new`]: SEARCH,
  [`${MERCHANT}/requests`]: ["result", "operation", "reference", "request", "cursor"],
  [`${MERCHANT}/sandbox`]: ["stop"],
  [`${MERCHANT}/audit`]: ["key", "cursor"],
  "/dashboard/audit": ["key", "cursor"],
  [`${MERCHANT}/balances`]: ["cursor"],
  ...Object.fromEntries(
    ["approve", "reject"].flatMap((how) =>
      [MERCHANT, "/dashboard"].map((scope) => [`${scope}/approvals/${how}`, ["payment"]]),
    ),
  ),
  "/dashboard/merchants/:merchant/adjust": ["kind", "amount", "currency", "reason"],
};

/** Pages that show an error without a parameter. */
const CONFIRM = "payment=";
const NEEDED: Readonly<Record<string, string>> = {
  [`${MERCHANT}/replays/new`]: "status=failed",
  ...Object.fromEntries(
    ["approve", "reject"].flatMap((how) =>
      [MERCHANT, "/dashboard"].map((scope) => [`${scope}/approvals/${how}`, CONFIRM]),
    ),
  ),
  "/dashboard/merchants/:merchant/adjust": "kind=top-up&amount=500&currency=XOF&reason=transfer",
};

/** Words that no French sentence contains. */
const ENGLISH =
  /(?<![.\w-])(the|of|to|and|with|which|this|that|not|yet|is|are|was|has|from|until|since|payouts?|amount|failed|pending|success|created?|nothing|status:|settings)(?![.-]?\w)/i;

/** A server with a payment of each kind, a webhook and a replay. Each has the same ids. */
async function aService() {
  let failing!: FailingStorage;
  const openStorage: TestServerOptions["openStorage"] = (how) => {
    failing = failingStorage(openSqlite(":memory:", how));
    return failing.storage;
  };
  const server = await startServer({ openStorage });
  const operator = await signedIn(server, { name: "Grace" });
  await signedIn(server, { name: "Alan" });
  const member = await signedIn(server, { merchantId: server.merchant.id });
  const payout = await server.createPayout({
    reference: "paid",
    phoneNumber: "2250700000001",
    webhookURL: "https://merchant.example/",
  });
  const checkout = await server.createCheckout({ reference: "order" });
  const other = await server.createCheckout({ reference: "another" });
  // Payouts that wait for approval.
  await server.storage.setMerchantLimits(server.merchant.id, { approvalFrom: { XOF: 1e9 } }, "command ada@host");
  const [waiting = "", waitingToo = "", third = "", fourth = ""] = await Promise.all(
    ["one", "two", "three", "four"].map(async (reference) => {
      const { body } = await server.createPayout({ reference, amount: 1e9 });
      return `${server.merchant.id}/${body.data.reference}`;
    }),
  );
  const change = { id: "a-change-of-a-balance", amount: 700, currency: "XOF", reason: "transfer" };
  const later = { ...change, id: "another-of-a-balance" };
  for (const each of [change, later])
    await server.storage.proposeAdjustment(server.merchant.id, each, "command ada@host");
  await server.service.deliveries.idle();
  const { items } = await server.storage.listDeliveries({ merchantId: server.merchant.id, limit: 1 });
  const at = `/m/${server.merchant.id}`;
  const { headers } = await member.post(`${at}/replays/new`, { status: "pending", pace: "1" });
  const values: Readonly<Record<string, string>> = {
    merchant: server.merchant.id,
    disbursement: payout.body.data.reference,
    checkout: checkout.body.data.reference,
    otherCheckout: other.body.data.reference,
    webhook: items[0]!.id,
    replay: headers.get("location")!.split("/").at(-1)!,
    waiting,
    waitingToo,
    third,
    fourth,
    proposal: `${server.merchant.id}/${change.id}`,
    rejected: `${server.merchant.id}/${later.id}`,
    page: "operating",
    file: "docs.css",
  };
  return { server, failing, operator, member, at, values };
}
type Service = Awaited<ReturnType<typeof aService>>;

/**
 * The path of a route. A parameter stands for the kind of thing that precedes it: `:id` in `/webhooks/:id` is a
 * webhook's id.
 */
function pathOf(route: string, values: Service["values"]): string {
  return route.replaceAll(/(\w+?)s?\/:(\w+)/g, (_, kind: string, name: string) => {
    const value = values[name] ?? values[kind] ?? name;
    return `${kind === "m" ? kind : `${kind}s`}/${value}`;
  });
}

/** The paths of pages and forms: all paths outside the contract. */
function pathsOf(server: TestServer, wanted: "GET" | "POST"): string[] {
  const paths = routesOf(server.service.app).flatMap(({ method, path }) => (method === wanted ? [path] : []));
  // The stream of a live page does not end, and the metrics count their own requests. Neither reads parameters.
  return [...new Set(paths)].filter((path) => !/^\/(v1|sandbox)\/|\/live$|^\/metrics$/.test(path));
}

/** A response without the parts that differ between two equal requests. */
async function responseTo(server: TestServer, path: string, { cookie }: Visitor, form?: URLSearchParams) {
  const init = form && { method: "POST", body: form };
  const headers = { cookie, origin: server.url, accept: "text/html,*/*" };
  const response = await fetch(`${server.url}${path}`, { redirect: "manual", ...init, headers });
  const [id, text] = [response.headers.get("x-request-id"), await response.text()];
  const shown = text.replaceAll(server.url, "").replaceAll(id ?? server.url, "");
  return { status: response.status, location: response.headers.get("location")?.replace(server.url, ""), text: shown };
}

/** The stored data, as the merchant and the operator see them. Each export adds an entry to the audit trail. */
async function stored({ server: { storage, merchant }, at, operator, values }: Service) {
  const page = { merchantId: merchant.id, limit: 100 };
  const audit = (await storage.listAudit({ limit: 100 })).items.filter(({ action }) => action !== "payments.export");
  return {
    audit: audit.map(({ action, actor, details, merchantId }) => ({ action, actor, details, merchantId })),
    merchants: await storage.listMerchants(),
    balances: [await storage.listBalances(), await storage.listProposals()],
    keys: await storage.listKeysOf(merchant.id),
    payments: [await storage.listDisbursements(page), await storage.listCheckouts(page)],
    webhooks: [await storage.listEvents(page), await storage.listDeliveries(page)],
    replays: [await storage.listReplays(merchant.id, 50), await storage.findReplay(merchant.id, values.replay!)],
    team: await storage.listTeam({ idleMs: 3_600_000, limit: 100 }),
    settings: (await operator.get(`${at}/settings`)).html.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, ""),
  };
}

const VARIANTS: [string, (name: string) => string][] = [
  ["once", (name) => `${name}=1`],
  ["twice", (name) => `${name}=1&${name}=2`],
  ["as a list", (name) => `${name}[]=1&${name}%5B%5D=2`],
  ["as an object", (name) => `${name}[gt]=1&${name}%5Blt%5D=2`],
];

describe("pages", () => {
  let service: Service;
  let routes: string[];
  beforeAll(async () => {
    service = await aService();
    routes = pathsOf(service.server, "GET");
  });
  afterAll(() => service.server.close());
  const open = (path: string, query = "") => responseTo(service.server, `${path}?${query}`, service.operator);

  test("are found by the server's own routes", () => {
    expect(routes).toEqual(expect.arrayContaining([...Object.keys(PARAMETERS), "/checkouts/:reference", "/readyz"]));
    expect(NAMES).toEqual(expect.arrayContaining(["phoneNumber", "phone_number", "createdAfter", "merchantId"]));
  });

  test.each(VARIANTS)("ignore undeclared parameters, sent %s", async (_, parameter) => {
    const before = await stored(service);
    const opened: string[] = [];
    for (const route of routes) {
      const path = pathOf(route, service.values);
      const needed = (NEEDED[route] ?? "").replace(CONFIRM, `${CONFIRM}${service.values.waiting}`);
      const plain = await open(path, needed);
      if (plain.status < 400) opened.push(route);
      const names = NAMES.filter((name) => !(PARAMETERS[route] ?? []).includes(name));
      const response = await open(path, [needed, ...names.map(parameter)].join("&"));
      expect([route, response]).toEqual([route, plain]);
    }
    expect(opened).toEqual(routes);
    expect(await stored(service)).toEqual(before);
  });

  test("are in French for a browser that prefers it, and say nothing in English", async () => {
    const { server, operator, values } = service;
    const headers = { cookie: operator.cookie, "accept-language": "fr-CI,fr;q=0.9,en;q=0.5" };
    for (const route of routes.filter((each) => each.startsWith("/dashboard"))) {
      const needed = (NEEDED[route] ?? "").replace(CONFIRM, `${CONFIRM}${values.waiting}`);
      const response = await fetch(`${server.url}${pathOf(route, values)}?${needed}`, { redirect: "manual", headers });
      const html = await response.text();
      if (!html.startsWith("<!doctype html>")) continue;
      expect.soft(response.headers.get("vary"), route).toBe("Cookie, Accept-Language");
      expect.soft(html, route).toContain('<html lang="fr">');
      const attributes = [...html.matchAll(/(?:aria-label|placeholder|title)="([^"]*)"/g)].map(([, text]) => text);
      const text = html
        .replaceAll(/<(style|pre|code|bdi)\b[^]*?<\/\1>/g, "")
        .replaceAll(/<[^>]*>/g, " ")
        .concat(...attributes.map((each) => ` ${each}`));
      expect.soft(ENGLISH.exec(text), route).toBeNull();
      expect.soft(/\{\w+\}|undefined|NaN/.exec(text), route).toBeNull();
    }
  });

  test.each(VARIANTS.slice(1))("never fail for declared parameters, sent %s", async (_, parameter) => {
    for (const [route, names] of Object.entries(PARAMETERS)) {
      for (const name of [...names, names.join()]) {
        const query = name.split(",").map(parameter).join("&");
        const { status } = await open(pathOf(route, service.values), query);
        expect(status, `${route} ${query}`).toBeLessThan(500);
      }
    }
  });
});

type Fields = Record<string, string>;
/** The fields of every form, in an order in which each can be sent. */
const LIMITS = {
  perPayment: "XOF:5000000",
  perDay: "",
  countries: "CI",
  currencies: "",
  recipients: "",
  approvalFrom: "",
  replaces: "",
};
const FORMS: [route: string, fieldsOf: (service: Service) => Fields | Promise<Fields>][] = [
  ["/dashboard/merchants", () => ({ id: "a-form", name: "Grace Stores" })],
  ["/dashboard/merchants/:merchant/rename", () => ({ name: "Renamed" })],
  ["/dashboard/approvals/approve", ({ values }) => ({ payment: values.waiting! })],
  [`${MERCHANT}/approvals/approve`, ({ values }) => ({ payment: values.waitingToo! })],
  ["/dashboard/approvals/reject", ({ values }) => ({ payment: values.third!, reason: "no" })],
  [`${MERCHANT}/approvals/reject`, ({ values }) => ({ payment: values.fourth!, reason: "no" })],
  ["/dashboard/merchants/:merchant/adjust", () => ({ id: "another-change", kind: "top-up", ...CHANGE })],
  ["/dashboard/balances/approve", ({ values }) => ({ proposal: values.proposal! })],
  ["/dashboard/balances/reject", ({ values }) => ({ proposal: values.rejected! })],
  ["/dashboard/merchants/:merchant/limits", () => LIMITS],
  [
    "/dashboard/merchants/:merchant/terms",
    () => ({ disbursementFee: "80+100", checkoutFee: "", rateLimit: "50", replaces: "" }),
  ],
  ["/dashboard/merchants/:merchant/suspend", () => ({})],
  ["/dashboard/merchants/:merchant/reopen", () => ({})],
  ["/dashboard/team/links", () => ({ id: "a-form", name: "Barbara", role: "viewer" })],
  [`${MERCHANT}/team/links`, () => ({ id: "another-form", name: "Barbara", role: "viewer" })],
  [`${MERCHANT}/webhooks/:id/replay`, () => ({})],
  [`${MERCHANT}/replays/:id/stop`, () => ({})],
  [
    `${MERCHANT}/replays/new`,
    () => ({ ...Object.fromEntries(SEARCH.map((name) => [name, ""])), status: "failed", pace: "1" }),
  ],
  [`${MERCHANT}/settings/keys`, () => ({ name: "second", key: "", read: "", disburse: "", checkout: "" })],
  [`${MERCHANT}/settings/keys/revoke`, async ({ server }) => ({ key: await oneKey(server) })],
  [`${MERCHANT}/settings/keys/limits`, async ({ server }) => ({ key: await oneKey(server), ...LIMITS })],
  [`${MERCHANT}/settings/secret/reveal`, () => ({})],
  [`${MERCHANT}/settings/secret/rotate`, () => ({ replaces: "" })],
  [`${MERCHANT}/settings/default-webhook`, () => ({ url: "https://other.example/hooks" })],
  [`${MERCHANT}/sandbox/disbursements`, () => ({ phoneNumber: "2250700000473", amount: "500" })],
  [`${MERCHANT}/sandbox/checkouts`, () => ({ amount: "500" })],
  [`${MERCHANT}/sandbox/chaos`, () => ({ ...CALM, lostWebhooksPercent: "5" })],
  ["/checkouts/:reference", () => PAY],
  [`${MERCHANT}/sandbox/advance`, ({ server }) => ({ to: new Date(server.clock.now() + 60_000).toISOString() })],
  [`${MERCHANT}/sandbox/reset`, () => ({})],
  [`${MERCHANT}/team/end`, async (service) => ({ session: await sessionOf(service, "Ada") })],
  [`${MERCHANT}/team/end-all`, () => ({ name: "Barbara" })],
  ["/dashboard/merchants/:merchant/close", () => ({})],
  ["/dashboard/team/end", async (service) => ({ session: await sessionOf(service, "Alan") })],
  ["/dashboard/team/end-all", () => ({ name: "Barbara" })],
  ["/dashboard/sign-out", () => ({ everywhere: "" })],
  ["/dashboard/sign-in", async ({ server }) => ({ token: await newLink(server, { name: "Edsger" }) })],
];
const CHANGE = { amount: "500", currency: "XOF", reason: "transfer" };
const PAY = { action: "pay", phoneNumber: "2250700000129" };
const CALM = { latencyMs: "", failedRequestsPercent: "", lostResponsesPercent: "" };
const oneKey = async ({ storage, merchant }: TestServer) => (await storage.listKeysOf(merchant.id))[0]!.id;
async function sessionOf({ server }: Service, name: string): Promise<string> {
  const { sessions } = await server.storage.listTeam({ idleMs: 3_600_000, limit: 100 });
  return sessions.find((session) => session.name === name)!.id;
}

/** The number of undeclared fields that a form of the dashboard, and the form of the payment page, may have. */
const ROOM = { dashboard: 100, payment: 6 };
function chunksOf(names: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, index) =>
    names.slice(index * size, (index + 1) * size),
  );
}

/** The responses to all forms on a new server, and the stored data after each. */
async function effectsOf({ query = "", names = [] }: { query?: string; names?: readonly string[] }) {
  const service = await aService();
  const { server, operator, values } = service;
  const effects: [route: string, response: Awaited<ReturnType<typeof responseTo>>, after: object][] = [];
  for (const [route, fieldsOf] of FORMS) {
    const fields = await fieldsOf(service);
    const isOfDashboard = route.startsWith("/dashboard/");
    const extra = isOfDashboard ? names.filter((name) => !Object.hasOwn(fields, name)) : [];
    const form = new URLSearchParams({
      ...fields,
      ...(isOfDashboard && { csrf: operator.csrf }),
      ...Object.fromEntries(extra.map((name) => [name, "1"])),
    });
    const path = pathOf(route, values);
    effects.push([route, await responseTo(server, `${path}?${query}`, operator, form), await stored(service)]);
  }
  await server.close();
  return effects;
}

describe("forms", () => {
  let plain: Awaited<ReturnType<typeof effectsOf>>;
  beforeAll(async () => {
    plain = await effectsOf({});
  });

  test("are those of the server's own routes, and take effect", async () => {
    const { server } = await aService();
    expect(FORMS.map(([route]) => route).toSorted()).toEqual(pathsOf(server, "POST").toSorted());
    await server.close();
    let before: unknown;
    for (const [route, { status }, after] of plain) {
      expect([200, 303], `${route}`).toContain(status);
      if (!/\/(reveal|check)$/.test(route)) expect(after, `${route}`).not.toEqual(before);
      before = after;
    }
  });

  test.each(VARIANTS)("ignore undeclared parameters, sent %s", async (_, parameter) => {
    expect(await effectsOf({ query: NAMES.map(parameter).join("&") })).toEqual(plain);
  });

  test.each(chunksOf(NAMES, ROOM.dashboard).map((names) => [names[0], names]))(
    "ignore the fields from %s",
    async (_, names) => {
      expect(await effectsOf({ names })).toEqual(plain);
    },
  );

  test.each<[count: number, Failure]>([
    [0, "is unavailable"],
    [1, "is unavailable"],
    [1, "returns nothing"],
  ])("say the truth if the storage, after %i writes, %s", async (count, failure) => {
    const service = await aService();
    const { server, failing, operator, values } = service;
    let failed = 0;
    for (const [route, fieldsOf] of FORMS) {
      const form = new URLSearchParams({ ...(await fieldsOf(service)), csrf: operator.csrf });
      const restore = failing.failAfter(count, failure);
      const { status, text } = await responseTo(server, pathOf(route, values), operator, form);
      const written = restore();
      if (written > 0) expect.soft(text, route).not.toMatch(/Nothing was (recorded|changed)|did not charge/);
      if (status < 500) continue;
      failed += 1;
      if (!route.startsWith("/dashboard")) continue;
      const what = written > 0 ? "Recorded before this error: " : "Nothing was recorded.";
      expect.soft(text, route).toContain(`<strong>${what}`);
    }
    expect(failed).toBeGreaterThan(8);
    await server.close();
  });

  test("of a payment ignore all fields", async () => {
    const { server, member } = await aService();
    async function paidWith(names: readonly string[]) {
      const { reference } = (await server.createCheckout()).body.data;
      const form = new URLSearchParams({ ...Object.fromEntries(names.map((name) => [name, "1"])), ...PAY });
      const { status, text } = await responseTo(server, `/checkouts/${reference}`, member, form);
      const { id: _, ...record } = (await server.storage.findCheckout(server.merchant.id, reference))!;
      const paid = { status, text, record };
      return JSON.parse(JSON.stringify(paid).replaceAll(reference, "REFERENCE"));
    }
    const expected = await paidWith([]);
    expect(expected).toMatchObject({ status: 200, record: { customer: { phoneNumber: PAY.phoneNumber } } });
    for (const names of chunksOf(NAMES, ROOM.payment))
      expect([names, await paidWith(names)]).toEqual([names, expected]);
    await server.close();
  });

  test("never fail for fields sent twice", async () => {
    const service = await aService();
    const { server, operator, values } = service;
    for (const [route, fieldsOf] of FORMS.filter(([path]) => path !== "/dashboard/sign-out")) {
      const fields = Object.entries(await fieldsOf(service));
      for (const [name, value] of fields) {
        const form = new URLSearchParams([...fields, [name, value], ["csrf", operator.csrf]]);
        const { status } = await responseTo(server, pathOf(route, values), operator, form);
        expect(status, `${route} ${name}`).toBeLessThan(500);
      }
    }
    await server.close();
  });
});
