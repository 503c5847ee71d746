// Every form: what it does, once, and who may send it. A new action needs a row here.
import { afterAll, describe, expect, test } from "vitest";
import { scopesOf, type Action } from "../../actions/action.ts";
import { ACTION_NAMES, actionOf, type ActionName } from "../../actions/index.ts";
import { hasRight, ROLES } from "../../domain/sign-in.ts";
import { openSqlite } from "../../storage/sqlite/index.ts";
import { filledDashboard, not, PARAMETERS, says, trail, type FilledDashboard } from "../../testing/dashboard.ts";
import { newLink, send, signedIn, visit } from "../../testing/dashboard-visitor.ts";
import { failingStorage, type FailingStorage, type Failure } from "../../testing/failing-storage.ts";
import { aPayout } from "../../testing/server.ts";
import { start } from "../../testing/table.ts";

const sandbox = await filledDashboard();
const live = await filledDashboard({ isLive: true });
const other = (await sandbox.server.addMerchant("Kofi Goods")).merchant.id;
afterAll(() => Promise.all([sandbox.close(), live.close()]));

type Fields = Record<string, string>;
type Form = [
  sent: Fields | ((filled: FilledDashboard) => Fields | Promise<Fields>),
  /** The details of its audit entry, if it is an action. */
  details?: Fields,
  /** A text on the page that the form leads to. */
  says?: string,
  /** The status of a repeated form, which does nothing. */
  again?: number,
];
const LIMITS = { perPayment: "XOF:5000000", countries: "CI" };
const TERMS = { disbursementFee: "80+100", rateLimit: "50" };
const REASON = { reason: "seen in the wallet" };
const CHANGE = { kind: "top-up", amount: "500", currency: "XOF", ...REASON };
/** A form's hidden inputs, such as the state that it replaces, and what is typed. */
const hidden =
  (page: string, end: string, typed: Fields) =>
  async ({ operator, id }: FilledDashboard) => ({
    ...(await operator.get(page.replace(":merchant", id))).hidden(end),
    ...typed,
  });
const aKey = async ({ server, id }: FilledDashboard) => ({ key: (await server.storage.listKeysOf(id))[0]!.id });
const sessionOf =
  (wanted: string) =>
  async ({ server: { storage }, id }: FilledDashboard) => {
    const team = [...(await storage.listTeam()), ...(await storage.listTeam(id))];
    return { session: team.find(({ name }) => name === wanted)!.id };
  };
const LATER = "2026-11-20T11:30:00.000Z";
/** Payments of the past, as JSON. */
const ofMay = (changes: object = {}) => {
  const times = { status: "success", createdAt: "2026-05-01T08:00:00.000Z" };
  return JSON.stringify({ disbursements: [{ ...aPayout({ reference: "loaded" }), ...times, ...changes }] });
};
const M = "/m/:merchant";
const SETTINGS = `${M}/settings`;
const SANDBOX = `${M}/sandbox`;

/** Every form, in an order in which each can be sent. */
const FORMS: Record<string, Form> = {
  "/merchants": [{ id: "a-form", name: " Kofi & Söhne " }, { name: "Kofi & Söhne" }, "Kofi & Söhne", 303],
  [`${SETTINGS}/rename`]: [{ name: "Renamed" }, { from: "Ada Stores", to: "Renamed" }, "Renamed"],
  "/approvals/approve": [({ waiting }) => ({ payment: waiting[0]! }), {}, "Payouts approved: 1.", 200],
  [`${M}/approvals/approve`]: [({ waiting }) => ({ payment: waiting[1]! }), {}, "Payouts approved: 1.", 200],
  "/approvals/reject": [({ waiting }) => ({ payment: waiting[2]!, ...REASON }), REASON, "Payouts rejected: 1.", 200],
  [`${M}/approvals/reject`]: [({ waiting }) => ({ payment: waiting[3]!, ...REASON }), REASON, "rejected: 1.", 200],
  [`${M}/balances/adjust`]: [{ id: "a-change", ...CHANGE }, { amount: "500", ...REASON }, "a-change XOF 5.00", 303],
  "/balances/approve": [({ changes }) => ({ proposal: changes[0]! }), { reference: "one-change" }, undefined, 303],
  "/balances/reject": [({ changes }) => ({ proposal: changes[1]! }), { reference: "another" }, undefined, 409],
  [`${SETTINGS}/limits`]: [hidden(SETTINGS, "/settings/limits", LIMITS), LIMITS, 'value="XOF:5000000"', 409],
  [`${SETTINGS}/terms`]: [hidden(SETTINGS, "/terms", TERMS), TERMS, 'value="80+100"', 409],
  [`${SETTINGS}/suspend`]: [{}, {}, "This merchant is suspended.", 303],
  [`${SETTINGS}/reopen`]: [{}, {}, "Suspend the merchant Renamed", 303],
  "/team/links": [{ name: "Barbara", role: "viewer" }, { name: "Barbara", role: "viewer" }, "Role: viewer."],
  [`${M}/team/links`]: [{ name: "Barbara", role: "support" }, { role: "support" }, "within 1 day. Role: support."],
  [`${M}/webhooks/:id/replay`]: [{}, { status: "pending" }, "disbursement.completed waiting"],
  [`${M}/replays/new`]: [{ status: "failed", pace: "1", decidedAt: LATER }, { status: "failed" }],
  [`${SETTINGS}/keys`]: [
    { name: "Plug-in", id: "a-form", read: "yes", checkout: "yes" },
    { name: "Plug-in", scopes: "read,checkout" },
    "may read, checkout",
    409,
  ],
  [`${SETTINGS}/keys/limits`]: [hidden(SETTINGS, "/keys/limits", LIMITS), LIMITS, 'value="XOF:5000000"', 409],
  [`${SETTINGS}/keys/revoke`]: [aKey, {}, "revoked", 303],
  [`${SETTINGS}/secret/reveal`]: [{}, {}, "whsec_"],
  [`${SETTINGS}/secret/rotate`]: [hidden(SETTINGS, "/rotate", {}), {}, "Also signs until", 409],
  [`${SETTINGS}/default-webhook`]: [{ url: "https://b.example/?t=t" }, { receiver: "b.example" }, "b.example/?t=t"],
  [`${SANDBOX}/disbursements`]: [{ phoneNumber: "2250700000473", amount: "500" }, {}, "Due: success"],
  [`${SANDBOX}/checkouts`]: [{ amount: "500" }, {}, "Due: cancelled"],
  [`${M}/payments/:reference/finish`]: [{ outcome: "wallet_blocked" }, { outcome: "wallet_blocked" }, "failed", 409],
  [`${SANDBOX}/payments`]: [{ json: ofMay({ note: "x".repeat(50_000) }) }, { disbursements: "1" }, "loaded", 409],
  [`${SANDBOX}/advance`]: [{ by: "", to: LATER }, { to: LATER }, "+2 hours"],
  [`${SANDBOX}/chaos`]: [{ repeatedWebhooksPercent: "9" }, { repeatedWebhooksPercent: "9" }, "Chaos is on."],
  [`${SANDBOX}/reset`]: [{}, {}, "It is 2026-11-20 09:30:00"],
  [`${M}/team/end`]: [sessionOf("Kofi"), { name: "Kofi" }, undefined, 404],
  [`${M}/team/end-all`]: [{ name: "Barbara" }, { name: "Barbara", session: "all" }, "There is nothing here.", 404],
  [`${SETTINGS}/close`]: [{}, { sessions: "0" }, "This merchant is closed.", 303],
  "/team/end": [sessionOf("Ada"), { name: "Ada" }, undefined, 404],
  "/team/end-all": [{ name: "Barbara" }, { name: "Barbara", session: "all" }, undefined, 404],
  "/sign-out": [{ everywhere: "" }],
  "/sign-in": [async ({ server }) => ({ token: await newLink(server, { name: "Edsger" }) })],
};
/** The forms that only a live service has. */
const LIVE_FORMS: Record<string, Form> = {
  [`${M}/payments/:reference/ask`]: [{}, {}],
  [`${M}/payments/:reference/decide`]: [{ status: "failed", ...REASON }, REASON, "Another operator must confirm it."],
  [`${M}/payments/:reference/close`]: [REASON, REASON, undefined, 409],
  "/rails/:rail/pause": [REASON, REASON, "by Grace, operator: seen in the wallet", 409],
  "/rails/:rail/resume": [{}, {}, "in use", 409],
};
/** The audit trail's names of actions, where they differ. */
const RECORDED: Partial<Record<ActionName, string>> = {
  "balance.adjust": "balance.top-up",
  "balance.approve": "balance.top-up",
  "payment.decide": "payment.propose",
  "sandbox.disbursement": "sandbox.create",
  "sandbox.checkout": "sandbox.create",
  "session.end": "dashboard.sign-out",
  "session.end-all": "dashboard.sign-out",
};
/** The actions of people, with a path for each scope. */
const ALL_ACTIONS = ACTION_NAMES.flatMap((name) =>
  scopesOf(actionOf(name).at).map((at) => ({ at, name, action: actionOf(name) })),
);

const fieldsOf = async (filled: FilledDashboard, route: string): Promise<Fields> => {
  const [sent] = FORMS[route] ?? LIVE_FORMS[route]!;
  return typeof sent === "function" ? sent(filled) : sent;
};

/** The stored data, as the merchant and the operator see them. */
async function stored({ server: { storage, url, service }, id, operator }: FilledDashboard) {
  await service.deliveries.idle();
  const page = { merchantId: id, limit: 100 };
  const audit = (await storage.listAudit({ limit: 100 })).items;
  return {
    audit: audit.map(({ action, actor, details, merchantId }) => ({ action, actor, details, merchantId })),
    merchants: await storage.listMerchants(),
    balances: [await storage.listBalances(), await storage.listProposals()],
    keys: await storage.listKeysOf(id),
    payments: [await storage.listDisbursements(page), await storage.listCheckouts(page)],
    webhooks: [await storage.listEvents(page), await storage.listDeliveries(page)],
    team: [...(await storage.listTeam()), ...(await storage.listTeam(id))],
    settings: (await operator.get(`/m/${id}/settings`)).html.replaceAll(url, "").replaceAll(/req_\w+/g, ""),
  };
}

describe.each([
  ["a sandbox", false, FORMS],
  ["a live service", true, LIVE_FORMS],
])("a form of %s", (_, isLive, forms) => {
  const routes = Object.keys(forms);

  test("takes effect, once, is in the audit trail, and its page says so", async () => {
    const filled = await filledDashboard({ isLive });
    const known = isLive ? { ...FORMS, ...LIVE_FORMS } : FORMS;
    expect(filled.forms.filter((route) => !Object.hasOwn(known, route))).toEqual([]);
    let before = await stored(filled);
    for (const [route, [, details = {}, text, again]] of Object.entries(forms)) {
      const fields = await fieldsOf(filled, route);
      const submit = () => filled.operator.post(filled.filled(route), fields);
      const first = await submit();
      expect([200, 303], `${route} ${first.text}`).toContain(first.status);
      const after = await stored(filled);
      expect(after, `${route}`).not.toEqual(before);
      const found = ALL_ACTIONS.find(({ at }) => at === route);
      const entry = found && { actor: "dashboard Grace", action: RECORDED[found.name] ?? found.name };
      const bySession = expect.any(String);
      if (entry) expect(after.audit[0], `${route}`).toMatchObject({ ...entry, details: { ...details, bySession } });
      if (text !== undefined) await says(first.to === undefined ? first : filled.operator.get(first.to), 200, text);
      if (again !== undefined) {
        // If its page shows what it replaces, the second is stale, as if somebody else had sent the first.
        const isStale = found?.action.replaces !== undefined;
        const shows = route.endsWith("/rotate") ? not("whsec_") : text!;
        const stale = isStale ? ["its page was out of date", shows] : [];
        await says(submit(), again, not("Nothing was recorded"), ...stale);
        expect(await stored(filled), `${route}`).toEqual(after);
      }
      before = await stored(filled);
    }
    await filled.close();
  });

  test("ignores undeclared fields and undeclared query parameters", async () => {
    const [plain, filled] = [await filledDashboard({ isLive }), await filledDashboard({ isLive })];
    const query = PARAMETERS.map((name) => `${name}=1&${name}[]=1&${name}%5B%5D=2&${name}[gt]=1`).join("&");
    for (const route of routes) {
      const [fields, same] = [await fieldsOf(plain, route), await fieldsOf(filled, route)];
      const declared = Object.values(ALL_ACTIONS.find(({ at }) => at === route)?.action.input ?? {});
      const names = new Set([...declared.flatMap(({ inputs }) => Object.keys(inputs)), ...Object.keys(fields)]);
      const more = PARAMETERS.filter((name) => !names.has(name)).map((name) => [name, "1"]);
      const expected = await plain.operator.post(plain.filled(route), fields);
      const sent = { ...same, ...(Object.fromEntries(more) as Fields) };
      const found = await filled.operator.post(`${filled.filled(route)}?${query}`, sent);
      expect([route, found.status, found.to]).toEqual([route, expected.status, expected.to]);
      expect([route, await stored(filled)]).toEqual([route, await stored(plain)]);
    }
    await Promise.all([plain.close(), filled.close()]);
  });

  test("never fails because its fields are sent twice", async () => {
    const filled = await filledDashboard({ isLive });
    for (const route of routes) {
      const fields = Object.entries(await fieldsOf(filled, route));
      const { status } = await filled.operator.post(filled.filled(route), new URLSearchParams([...fields, ...fields]));
      expect(status, `${route}`).toBeLessThan(500);
    }
    await filled.close();
  });
});

const NAMES = ["", " ", "x".repeat(101), "a\u001bb", "a\u200bb", "a\u202eb", "a\u2028b", "a\ue000b"];
const AMOUNTS = ["0", "-1", "1.5", "", "x", "9007199254740992"];
const RULES = ["500", "XOF:", "XOF:1.5", "XOF:1,XOF:2", "xof:1", "XOF:99999999999999999"];

test.each<[route: string, field: string, wrong: string[], says?: string]>([
  ["/merchants", "name", NAMES],
  [`${SETTINGS}/rename`, "name", NAMES],
  [`${M}/team/links`, "name", NAMES],
  [`${SETTINGS}/keys`, "name", NAMES],
  [`${M}/team/links`, "role", ["owner", ""], "Role: this cannot be"],
  [`${SETTINGS}/limits`, "perDay", RULES],
  [`${SETTINGS}/keys/limits`, "perDay", RULES],
  [`${SETTINGS}/terms`, "rateLimit", ["0", "x"], "Requests per second: this cannot be"],
  [`${M}/balances/adjust`, "amount", AMOUNTS],
  [`${M}/balances/adjust`, "currency", ["xof", ""]],
  [`${M}/balances/adjust`, "kind", ["both", ""]],
  [`${M}/balances/adjust`, "reason", [" ", ""]],
  ["/approvals/reject", "reason", [" ", ""]],
  [`${SETTINGS}/default-webhook`, "url", ["ftp://a.example", "x", `https://a.example/${"x".repeat(2_048)}`]],
  [`${SANDBOX}/disbursements`, "amount", AMOUNTS],
  [`${SANDBOX}/disbursements`, "phoneNumber", ["07", "", "2250700000408"]],
  [`${SANDBOX}/checkouts`, "amount", AMOUNTS],
  [`${M}/payments/:reference/finish`, "outcome", ["cancelled", ""], "Outcome: this cannot be"],
  [`${SANDBOX}/payments`, "json", [ofMay({ amount: 0 })], "disbursements.0.amount must be"],
  [`${SANDBOX}/advance`, "to", ["", "tomorrow", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59Z"]],
  [`${M}/replays/new`, "pace", ["0", "501", "1.5", ""], "Webhooks per second, 1 to 500: this"],
  [`${M}/replays/new`, "status", [""], "Choose what to replay"],
  [`${M}/replays/new`, "type", ["x"], "Event: this cannot be “x”."],
  [`${M}/payments/:reference/decide`, "status", ["pending", ""]],
  [`${M}/payments/:reference/decide`, "reason", [" ", ""]],
  [`${M}/payments/:reference/close`, "reason", [" ", ""]],
  ["/rails/:rail/pause", "reason", [" ", ""]],
])("%s refuses a wrong %s, and changes nothing", async (route, field, wrong, text = "") => {
  const filled = Object.hasOwn(LIVE_FORMS, route) ? live : sandbox;
  const visitor = await signedIn(filled.server, { name: crypto.randomUUID() });
  const before = await stored(filled);
  const fields = await fieldsOf(filled, route);
  for (const value of wrong) {
    const page = visitor.post(filled.filled(route), { ...fields, [field]: value });
    await says(page, 422, text, "Nothing was recorded.");
  }
  expect(await stored(filled)).toEqual(before);
});

test.each<[count: number, Failure]>([
  [0, "is unavailable"],
  [1, "is unavailable"],
  [1, "returns nothing"],
])("after %i writes the storage %s, and no page says anything false", async (count, failure) => {
  let failing!: FailingStorage;
  const filled = await filledDashboard({
    openStorage: (how) => (failing = failingStorage(openSqlite(":memory:", how))).storage,
  });
  let failed = 0;
  for (const route of Object.keys(FORMS)) {
    const fields = await fieldsOf(filled, route);
    const restore = failing.failAfter(count, failure);
    const { status, text } = await filled.operator.post(filled.filled(route), fields);
    const written = restore();
    if (written > 0) expect.soft(text, route).not.toMatch(/Nothing was (recorded|changed)/);
    if (status < 500) continue;
    failed += 1;
    expect.soft(text, route).toContain(written > 0 ? "Recorded before this error: " : "Nothing was recorded.");
  }
  expect(failed).toBeGreaterThan(7);
  await filled.close();
});

// Closing is last: a closed merchant may do less.
const CLOSE_LAST = ALL_ACTIONS.toSorted((a, b) => Number(a.at.endsWith("/close")) - Number(b.at.endsWith("/close")));
const isServedBy = (isLive: boolean, { where }: Action) => where !== (isLive ? "sandbox" : "live");
const pathOf = (at: string, merchant: string) => at.replace(":merchant", merchant).replaceAll(/:\w+/g, "unknown");

describe("who may send a form", () => {
  // An operator closes the merchant in the end.
  describe.each(["merchant", "operator"])("for a person of kind %s", (kind) => {
    test.each(ROLES)("who is %s", async (role) => {
      for (const [{ server, id }, isLive] of [
        [sandbox, false],
        [live, true],
      ] as const) {
        const person = { name: `${kind} ${role}`, role, ...(kind === "merchant" && { merchantId: id }) };
        const visitor = await signedIn(server, person);
        const refused: string[] = [];
        for (const { at, action } of CLOSE_LAST.filter((each) => isServedBy(isLive, each.action))) {
          const [path, elsewhere] = [pathOf(at, id), pathOf(at, other)];
          const { status, text } = await visitor.post(path);
          if (!hasRight(role, action.needs)) {
            expect([at, status]).toEqual([at, 403]);
            expect(text).toContain(`Your role, ${role}, does not permit this. To ${action.needs},`);
            refused.push(path);
          } else if (kind === "merchant" && (!at.startsWith("/m/") || action.byOperators))
            expect([at, status]).toEqual([at, 404]);
          else expect([at, status]).not.toEqual([at, 403]);
          if (kind === "merchant" && at.startsWith("/m/"))
            expect([at, (await visitor.post(elsewhere)).status]).toEqual([at, 404]);
        }
        const entries = (await trail(server, 200))
          .filter(({ actor }) => actor.endsWith(` ${person.name}`))
          .toReversed();
        const refusals = entries.filter(({ action }) => action === "dashboard.refuse");
        expect(refusals.map(({ details }) => details.form)).toEqual(refused);
        if (role === "viewer") expect(entries).toHaveLength(1 + refused.length);
      }
    });
  });

  test("a merchant's person changes nothing of another merchant, with whatever ids", async () => {
    const filled = await filledDashboard();
    const { server, id, area, close } = filled;
    const merchant = (await server.addMerchant("Other")).merchant.id;
    const stranger = await signedIn(server, { merchantId: merchant, name: "Stranger" });
    const ofOwner = async () => {
      const { keys, payments, webhooks, settings, team } = await stored(filled);
      const people = team.filter((each) => each.merchantId !== merchant);
      const own = [await trail(server, 100, id), await server.storage.listBalances(id), people];
      return [...own, keys, payments, webhooks, settings];
    };
    const before = await ofOwner();
    for (const route of Object.keys(FORMS).filter((each) => each.startsWith(`${M}/`))) {
      const fields = await fieldsOf(filled, route);
      const path = filled.filled(route);
      expect([route, (await stranger.post(path, fields)).status]).toEqual([route, 404]);
      await stranger.post(path.replace(area, `/m/${merchant}`), fields);
      expect([route, await ofOwner()]).toEqual([route, before]);
    }
    const team = `/m/${merchant}/team`;
    await says(stranger.post(`${team}/end`, await sessionOf("Grace")(filled)), 404);
    await says(stranger.post(`${team}/end-all`, { name: "Grace" }), 404);
    await close();
  });

  test("no form works for a payment under another merchant's path, or at a path without an action", async () => {
    const { server, operator, attention } = live;
    const { merchant } = await server.addMerchant("Other");
    const before = await trail(server);
    for (const [index, action] of ["close", "ask", "decide"].entries()) {
      const path = `/m/${merchant.id}/payments/${attention[Math.min(index, 1)]}/${action}`;
      await says(operator.post(path, { status: "failed", ...REASON }), 404);
    }
    await says(operator.post(`/m/${merchant.id}/settings`), 404);
    expect(await trail(server)).toEqual(before);
  });

  test("nobody without a session, from another site, or without the session's token", async () => {
    for (const { server, id, forms, filled } of [sandbox, live]) {
      const [ada, colleague] = [await signedIn(server), await signedIn(server, { name: "Colleague" })];
      const before = await trail(server);
      for (const route of forms.filter((each) => each !== "/sign-in")) {
        const path = filled(route);
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
  const server = await start();
  const [busy, calm] = [await signedIn(server), await signedIn(server)];
  for (let count = 0; count < 120; count++) await says(busy.post("/nothing"), 404);
  const refused = await says(busy.post("/merchants", { name: "One too many" }), 429, "more than 120 forms");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  await says(busy.get(""), 200);
  await says(calm.post("/nothing"), 404);
});
