// Every form: who may send it, what it ignores, and what it says if the storage fails. An action more has its fields here.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scopesOf, type Action } from "../../actions/action.ts";
import { ACTIONS } from "../../actions/index.ts";
import { hasRight, ROLES } from "../../domain/sign-in.ts";
import { openSqlite } from "../../storage/sqlite/index.ts";
import { filledDashboard, says, storageNames, trail, type FilledDashboard } from "../../testing/dashboard.ts";
import { newLink, send, signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { failingStorage, type FailingStorage, type Failure } from "../../testing/failing-storage.ts";
import { startServer } from "../../testing/server.ts";

const sandbox = await filledDashboard();
const live = await filledDashboard({ isLive: true });
const other = (await sandbox.server.addMerchant("Kofi Goods")).merchant.id;
afterAll(() => Promise.all([sandbox.close(), live.close()]));

type Fields = Record<string, string>;
const MERCHANT = "/dashboard/m/:merchant";
const MANAGED = "/dashboard/m/:merchant/settings";
const RULES = { perPayment: "XOF:5000000", perDay: "", countries: "CI", currencies: "" };
const LIMITS = { ...RULES, recipients: "", approvalFrom: "", replaces: "" };
const PAY = { action: "pay", phoneNumber: "2250700000129" };
const SEARCH = Object.fromEntries(["type", "host", "from", "to"].map((name) => [name, ""]));
const oneKey = async ({ server, id }: FilledDashboard) => (await server.storage.listKeysOf(id))[0]!.id;
async function sessionOf({ server }: FilledDashboard, wanted: string): Promise<string> {
  const { sessions } = await server.storage.listTeam();
  return sessions.find(({ name }) => name === wanted)!.id;
}

/** The fields of every form, in an order in which each can be sent. */
const FORMS: Record<string, Fields | ((filled: FilledDashboard) => Fields | Promise<Fields>)> = {
  "/dashboard/merchants": { id: "a-form", name: "Grace Stores" },
  [`${MANAGED}/rename`]: { name: "Renamed" },
  "/dashboard/approvals/approve": ({ waiting }) => ({ payment: waiting[0]! }),
  [`${MERCHANT}/approvals/approve`]: ({ waiting }) => ({ payment: waiting[1]! }),
  "/dashboard/approvals/reject": ({ waiting }) => ({ payment: waiting[2]!, reason: "no" }),
  [`${MERCHANT}/approvals/reject`]: ({ waiting }) => ({ payment: waiting[3]!, reason: "no" }),
  [`${MERCHANT}/balances/adjust`]: {
    id: "a-change",
    kind: "top-up",
    amount: "500",
    currency: "XOF",
    reason: "transfer",
  },
  "/dashboard/balances/approve": ({ changes }) => ({ proposal: changes[0]! }),
  "/dashboard/balances/reject": ({ changes }) => ({ proposal: changes[1]! }),
  [`${MANAGED}/limits`]: LIMITS,
  [`${MANAGED}/terms`]: { disbursementFee: "80+100", checkoutFee: "", rateLimit: "50", replaces: "" },
  [`${MANAGED}/suspend`]: {},
  [`${MANAGED}/reopen`]: {},
  "/dashboard/team/links": { id: "a-form", name: "Barbara", role: "viewer" },
  [`${MERCHANT}/team/links`]: { id: "another-form", name: "Barbara", role: "viewer" },
  [`${MERCHANT}/webhooks/:id/replay`]: {},
  [`${MERCHANT}/replays/:id/stop`]: {},
  [`${MERCHANT}/replays/new`]: { ...SEARCH, status: "failed", pace: "1" },
  [`${MERCHANT}/settings/keys`]: { name: "second", id: "", read: "", disburse: "", checkout: "" },
  [`${MERCHANT}/settings/keys/revoke`]: async (filled) => ({ key: await oneKey(filled) }),
  [`${MERCHANT}/settings/keys/limits`]: async (filled) => ({ key: await oneKey(filled), ...LIMITS }),
  [`${MERCHANT}/settings/secret/reveal`]: {},
  [`${MERCHANT}/settings/secret/rotate`]: { replaces: "" },
  [`${MERCHANT}/settings/default-webhook`]: { url: "https://other.example/hooks" },
  [`${MERCHANT}/sandbox/disbursements`]: { phoneNumber: "2250700000473", amount: "500" },
  [`${MERCHANT}/sandbox/checkouts`]: { amount: "500" },
  "/checkouts/:reference": PAY,
  [`${MERCHANT}/sandbox/advance`]: ({ server }) => ({
    by: "",
    to: new Date(server.clock.now() + 60_000).toISOString(),
  }),
  [`${MERCHANT}/sandbox/reset`]: {},
  [`${MERCHANT}/team/end`]: async (filled) => ({ session: await sessionOf(filled, "Ada") }),
  [`${MERCHANT}/team/end-all`]: { name: "Barbara" },
  [`${MANAGED}/close`]: {},
  "/dashboard/team/end": async (filled) => ({ session: await sessionOf(filled, "Alan") }),
  "/dashboard/team/end-all": { name: "Barbara" },
  "/dashboard/sign-out": { everywhere: "" },
  "/dashboard/sign-in": async ({ server }) => ({ token: await newLink(server, { name: "Edsger" }) }),
};
const ROUTES = Object.keys(FORMS);
/** The actions of people, with a path for each scope. */
const ALL_ACTIONS = (Object.values(ACTIONS) as unknown as Action[]).flatMap((action) =>
  scopesOf(action.at).map((at) => ({ at, action })),
);
const ACTION_ROUTES = new Set(ALL_ACTIONS.map(({ at }) => `/dashboard${at}`));
const fieldsOf = async (filled: FilledDashboard, route: string): Promise<Fields> => {
  const fields = FORMS[route]!;
  return typeof fields === "function" ? fields(filled) : fields;
};

/** Sends a form. Returns the response without the parts that differ between two equal requests. */
async function submit({ server, operator, filled }: FilledDashboard, route: string, form: URLSearchParams, query = "") {
  if (route.startsWith("/dashboard")) form.append("csrf", operator.csrf);
  const headers = { cookie: operator.cookie, origin: server.url, accept: "text/html,*/*" };
  const how = { method: "POST", redirect: "manual", body: form, headers } as const;
  const response = await fetch(`${server.url}${filled(route)}?${query}`, how);
  const text = (await response.text()).replaceAll(server.url, "");
  const location = response.headers.get("location")?.replace(server.url, "");
  return {
    status: response.status,
    location,
    text: text.replaceAll(response.headers.get("x-request-id") ?? "no id", ""),
  };
}

/** The stored data, as the merchant and the operator see them. */
async function stored({ server: { storage }, id, area, operator }: FilledDashboard) {
  const page = { merchantId: id, limit: 100 };
  const audit = (await storage.listAudit({ limit: 100 })).items;
  return {
    audit: audit.map(({ action, actor, details, merchantId }) => ({ action, actor, details, merchantId })),
    merchants: await storage.listMerchants(),
    balances: [await storage.listBalances(), await storage.listProposals()],
    keys: await storage.listKeysOf(id),
    payments: [await storage.listDisbursements(page), await storage.listCheckouts(page)],
    webhooks: [await storage.listEvents(page), await storage.listDeliveries(page)],
    replays: await storage.listReplays(id, 50),
    team: await storage.listTeam(),
    settings: (await operator.get(`${area}/settings`)).html.replaceAll(/http:\/\/127\.0\.0\.1:\d+|req_\w+/g, ""),
  };
}

/** The responses to all forms on a new server, and the stored data after each. @param extra is sent in every way */
async function effectsOf(extra: readonly string[] = []) {
  const filled = await filledDashboard();
  const effects: [
    route: string,
    response: Awaited<ReturnType<typeof submit>>,
    after: Awaited<ReturnType<typeof stored>>,
  ][] = [];
  const query = extra.map((name) => `${name}=1&${name}[]=1&${name}%5B%5D=2&${name}[gt]=1`).join("&");
  for (const route of ROUTES) {
    const fields = await fieldsOf(filled, route);
    // The payment page takes few fields.
    const room = route.startsWith("/dashboard/") ? extra : extra.slice(0, 6);
    const more = room.filter((name) => !Object.hasOwn(fields, name)).map((name) => [name, "1"]);
    const form = new URLSearchParams({ ...fields, ...Object.fromEntries(more) });
    effects.push([route, await submit(filled, route, form, query), await stored(filled)]);
  }
  await filled.close();
  return effects;
}

describe("what a form does not declare", () => {
  const names = storageNames();
  const chunks = Array.from({ length: Math.ceil(names.length / 100) }, (_, index) =>
    names.slice(index * 100, (index + 1) * 100),
  );

  let plain: Awaited<ReturnType<typeof effectsOf>>;
  beforeAll(async () => {
    plain = await effectsOf();
  });

  test("is all but the fields here, with which every route takes effect, and every action is in the audit trail", () => {
    expect(ROUTES.toSorted()).toEqual(sandbox.forms.toSorted());
    let before: unknown;
    for (const [route, { status }, after] of plain) {
      expect([200, 303], `${route}`).toContain(status);
      expect(after, `${route}`).not.toEqual(before);
      if (ACTION_ROUTES.has(route)) expect(after.audit[0], `${route}`).toMatchObject({ actor: "dashboard Grace" });
      before = after;
    }
  });

  test.each(chunks.map((some) => [some[0], some]))(
    "is ignored among the fields and in the query, from %s",
    async (_, extra) => {
      expect(await effectsOf(extra)).toEqual(plain);
    },
  );
});

test("fields sent twice never make a form fail", async () => {
  const filled = await filledDashboard();
  for (const route of ROUTES.filter((each) => each !== "/dashboard/sign-out")) {
    const fields = Object.entries(await fieldsOf(filled, route));
    for (const [name, value] of fields) {
      const { status } = await submit(filled, route, new URLSearchParams([...fields, [name, value]]));
      expect(status, `${route} ${name}`).toBeLessThan(500);
    }
  }
  await filled.close();
});

const NAMES = ["", " ", "x".repeat(101), "a\u001bb", "a\u200bb", "a\u202eb", "a\u2028b", "a\ue000b"];
const AMOUNTS = ["0", "-1", "1.5", "", "x", "9007199254740992"];
const AMOUNT_RULES = ["500", "XOF:", "XOF:1.5", "XOF:1,XOF:2", "xof:1", "XOF:99999999999999999"];
const PACE = "Webhooks per second, 1 to 500: this cannot be";

test.each<[route: string, field: string, wrong: string[], says?: string]>([
  ["/dashboard/merchants", "name", NAMES],
  [`${MANAGED}/rename`, "name", NAMES],
  ["/dashboard/team/links", "name", NAMES],
  [`${MERCHANT}/team/links`, "name", NAMES],
  [`${MERCHANT}/settings/keys`, "name", NAMES],
  [`${MERCHANT}/team/links`, "role", ["owner", ""], "Role: this cannot be"],
  [`${MANAGED}/limits`, "perDay", AMOUNT_RULES],
  [`${MERCHANT}/settings/keys/limits`, "perDay", AMOUNT_RULES],
  [`${MANAGED}/terms`, "rateLimit", ["0", "x"], "rateLimit must be a whole number"],
  [`${MERCHANT}/balances/adjust`, "amount", AMOUNTS],
  [`${MERCHANT}/balances/adjust`, "currency", ["xof", ""]],
  [`${MERCHANT}/balances/adjust`, "kind", ["both", ""]],
  [`${MERCHANT}/balances/adjust`, "reason", [" ", ""]],
  ["/dashboard/approvals/reject", "reason", [" ", ""]],
  [
    `${MERCHANT}/settings/default-webhook`,
    "url",
    ["ftp://a.example", "nonsense", `https://a.example/${"x".repeat(2_048)}`],
  ],
  [`${MERCHANT}/sandbox/disbursements`, "amount", AMOUNTS],
  [`${MERCHANT}/sandbox/disbursements`, "phoneNumber", ["07", "", "2250700000408"]],
  [`${MERCHANT}/sandbox/checkouts`, "amount", AMOUNTS],
  [`${MERCHANT}/sandbox/advance`, "to", ["", "tomorrow", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59Z"]],
  [`${MERCHANT}/team/links`, "lifetime", ["constructor", "__proto__", "7 days"]],
  [`${MERCHANT}/replays/new`, "pace", ["0", "501", "1.5", ""], PACE],
  [`${MERCHANT}/replays/new`, "status", [""], "Choose what to replay"],
  [`${MERCHANT}/replays/new`, "type", ["x"], "Event: this cannot be “x”."],
])("%s refuses a wrong %s, and changes nothing", async (route, field, wrong, text = "") => {
  const visitor = await signedIn(sandbox.server, { name: crypto.randomUUID() });
  const before = await stored(sandbox);
  const fields = await fieldsOf(sandbox, route);
  for (const value of wrong) {
    const page = visitor.post(sandbox.filled(route).slice("/dashboard".length), { ...fields, [field]: value });
    await says(page, 422, text, "Nothing was recorded.");
  }
  expect(await stored(sandbox)).toEqual(before);
});

describe("nothing false is said after a write", () => {
  test.each<[count: number, Failure]>([
    [0, "is unavailable"],
    [1, "is unavailable"],
    [1, "returns nothing"],
  ])("if the storage, after %i writes, %s", async (count, failure) => {
    let failing!: FailingStorage;
    const filled = await filledDashboard({
      openStorage: (how) => (failing = failingStorage(openSqlite(":memory:", how))).storage,
    });
    let failed = 0;
    for (const route of ROUTES) {
      const form = new URLSearchParams(await fieldsOf(filled, route));
      const restore = failing.failAfter(count, failure);
      const { status, text } = await submit(filled, route, form);
      const written = restore();
      if (written > 0) expect.soft(text, route).not.toMatch(/Nothing was (recorded|changed)|did not charge/);
      if (status < 500) continue;
      failed += 1;
      if (!route.startsWith("/dashboard")) continue;
      expect.soft(text, route).toContain(written > 0 ? "Recorded before this error: " : "Nothing was recorded.");
    }
    expect(failed).toBeGreaterThan(8);
    await filled.close();
  });

  test("nor if the same form may have recorded it before", async () => {
    const filled = await filledDashboard();
    for (const [route, fields, status, saysNothing] of [
      ["/balances/reject", { proposal: filled.changes[0]! }, 409, false],
      ["/team/end", { session: await sessionOf(filled, "Alan") }, 404, false],
      ["/merchants", { name: "" }, 422, true],
    ] as const) {
      await filled.operator.post(route, fields);
      const again = await says(filled.operator.post(route, fields), status);
      expect([route, again.text.includes("Nothing was recorded")]).toEqual([route, saysNothing]);
    }
    await filled.close();
  });
});

// A closed merchant is refused what others may do.
const IN_ORDER = ALL_ACTIONS.toSorted((a, b) => Number(a.at.endsWith("/close")) - Number(b.at.endsWith("/close")));
const isServedBy = (isLive: boolean, { where }: Action) => where !== (isLive ? "sandbox" : "live");
const pathOf = (at: string, merchant: string) => at.replace(":merchant", merchant).replaceAll(/:\w+/g, "unknown");

/** What became of an empty form: "permitted", or the refusal, which leaves no trace but its entry in the audit trail. */
async function outcomeOf({ server }: FilledDashboard, visitor: Visitor, path: string) {
  const [last] = await trail(server);
  const { status, text } = await visitor.post(path);
  const after = await trail(server, 20);
  const recorded = after.slice(
    0,
    after.findIndex((entry) => JSON.stringify(entry) === JSON.stringify(last)),
  );
  if (status === 404 && recorded.length === 0) return "not there";
  if (status !== 403) return "permitted";
  return [/Your role, \w+, does not permit this\. To [^,]+,/.exec(text)?.[0], recorded.map(({ action }) => action)];
}

describe("who may send a form", () => {
  // An operator closes the merchant in the end.
  describe.each(["merchant", "operator"])("as a person of a %s", (kind) => {
    test.each(ROLES)("who is %s", async (role) => {
      for (const [filled, isLive] of [
        [sandbox, false],
        [live, true],
      ] as const) {
        const person = { name: `${kind} ${role}`, role, ...(kind === "merchant" && { merchantId: filled.id }) };
        const visitor = await signedIn(filled.server, person);
        for (const { at, action } of IN_ORDER.filter((each) => isServedBy(isLive, each.action))) {
          const isElsewhere = kind === "merchant" && (!at.startsWith("/m/") || action.byOperators === true);
          const right = action.needs;
          const refusal = [`Your role, ${role}, does not permit this. To ${right},`, ["dashboard.refuse"]];
          const outcome = await outcomeOf(filled, visitor, pathOf(at, filled.id));
          if (!hasRight(role, right)) expect([at, outcome]).toEqual([at, refusal]);
          else if (isElsewhere) expect([at, outcome]).toEqual([at, "not there"]);
          else expect([at, outcome]).not.toEqual([at, expect.any(Array)]);
          if (kind === "merchant" && !isLive && at.startsWith("/m/"))
            expect([at, await outcomeOf(filled, visitor, pathOf(at, other))]).toEqual([at, "not there"]);
        }
      }
    });
  });

  test("a merchant's person changes nothing of another merchant, with whatever ids", async () => {
    const filled = await filledDashboard();
    const { server, id, area, close } = filled;
    const merchant = (await server.addMerchant("Other")).merchant.id;
    const stranger = await signedIn(server, { merchantId: merchant, name: "Stranger" });
    const ofOwner = async () => {
      const { keys, payments, webhooks, replays, settings, team } = await stored(filled);
      const sessions = team.sessions.filter((each) => each.merchantId === id);
      const own = [await trail(server, 100, id), await server.storage.listBalances(id), sessions];
      return [...own, keys, payments, webhooks, replays, settings];
    };
    const before = await ofOwner();
    for (const route of ROUTES.filter((each) => each.startsWith(`${MERCHANT}/`))) {
      const fields = await fieldsOf(filled, route);
      const path = filled.filled(route).slice("/dashboard".length);
      expect([route, (await stranger.post(path, fields)).status]).toEqual([route, 404]);
      await stranger.post(path.replace(area, `/m/${merchant}`), fields);
      expect([route, await ofOwner()]).toEqual([route, before]);
    }
    await close();
  });

  test("nobody without an entry among the actions", async () => {
    expect(await outcomeOf(sandbox, await signedIn(sandbox.server), `${sandbox.area}/settings`)).toBe("not there");
  });

  test("nobody without a session, from another site, or without the session's token", async () => {
    for (const { server, id, forms, filled } of [sandbox, live]) {
      const [ada, colleague] = [await signedIn(server), await signedIn(server, { name: "Colleague" })];
      const before = await trail(server);
      for (const route of forms.filter((each) => /^\/dashboard\/(?!sign-in)/.test(each))) {
        const path = filled(route).slice("/dashboard".length);
        expect([route, (await send(server, path, {})).to]).toEqual([route, "/sign-in"]);
        for (const attempt of [
          ada.post(path, {}, { origin: "https://evil.example" }),
          ada.post(path, {}, { origin: "null" }),
          visit(server, path, { method: "POST", headers: { cookie: ada.cookie } }),
          ada.post(path, { csrf: "" }),
          ada.post(path, { csrf: colleague.csrf }),
        ])
          expect([route, (await attempt).status]).toEqual([route, 403]);
      }
      expect([id, await trail(server)]).toEqual([id, before]);
    }
  });
});

test("the forms of one session are limited, without a limit for others", async () => {
  const server = await startServer();
  const [busy, calm] = [await signedIn(server), await signedIn(server)];
  for (let count = 0; count < 120; count++) await says(busy.post("/nothing"), 404);
  const refused = await says(busy.post("/merchants", { name: "One too many" }), 429, "more than 120 forms");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  await says(busy.get(""), 200);
  await says(calm.post("/nothing"), 404);
  await server.close();
});
