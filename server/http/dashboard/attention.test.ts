// Payments that need a person, and the rails, at the dashboard of a live service (D73, D74).
import { afterEach, beforeEach, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

const HOUR = 3_600_000;
let rail: TestRail;
let server: TestServer;
let operator: Visitor;
beforeEach(async () => {
  rail = createTestRail();
  server = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(rail) });
  operator = await signedIn(server);
});
afterEach(() => server.close());

const noResponse = () => Array.from({ length: 200 }, () => new Error("no response"));
const area = () => `/m/${server.merchant.id}`;
const pageOf = (reference: string) => `${area()}/disbursements/${reference}`;
const handoverOf = async (reference: string) => (await server.storage.findHandover(reference))!;

/** A payout whose outcome is unknown for more than an hour. */
async function unknown(merchantsReference = "salary-7"): Promise<string> {
  rail.answers.push(new Error("time-out"));
  rail.found.push(...noResponse());
  const { body } = await server.createPayout({ reference: merchantsReference });
  await server.pass(0);
  await server.pass(HOUR + 1);
  return body.data.reference;
}
/** A payout that, according to the rail, succeeded and then failed. */
async function contradicted(): Promise<string> {
  const { body } = await server.createPayout();
  const { reference } = body.data;
  await server.pass(0);
  const answer = { status: "failed" } as const;
  await server.storage.recordNotification("test", reference, { exchanges: [], answer, askAgainAfterMs: 0 });
  return reference;
}
async function act(visitor: Visitor, reference: string, action: string, fields: Record<string, string> = {}) {
  const { status, headers } = await visitor.post(`${area()}/payments/${reference}/${action}`, fields);
  if (status === 303) expect(headers.get("location")).toBe(`/dashboard${pageOf(reference)}`);
  return status;
}
const audited = async () =>
  (await server.storage.listAudit({ limit: 20 })).items
    .filter(({ action }) => /^(payment|rail)/.test(action))
    .map(({ action, actor, details: { reference } }) => ({ action, actor, reference }));

test("a payment whose outcome is unknown too long is listed, with what was sent and what came back", async () => {
  expect((await operator.get("/attention")).html).toContain("Nothing needs a person");
  const reference = await unknown();
  const { html } = await operator.get("/attention");
  for (const text of ["salary-7", reference, "Ada Stores", "more than 60 minutes"]) expect(html).toContain(text);
  expect((await operator.get(`${area()}/attention`)).html).toContain("salary-7");
  const { html: page } = await operator.get(pageOf(reference));
  expect(page).toContain("Sent the payout to the rail: no result is known");
  expect(page).toContain("time-out");
  expect(page).toContain("Looked the payment up at the rail: no result is known");
  for (let hours = 0; hours < 3; hours += 1) await server.pass(HOUR);
  const { html: later } = await (await signedIn(server)).get(pageOf(reference));
  expect(later).toMatch(/Looked the payment up at the rail, \d+ times: no result is known/);
  expect(later.match(/Looked the payment up/g)).toHaveLength(1);
});

test("a payment says what it waits for: the rail, or that somebody resumes it", async () => {
  await server.storage.pauseRail("test", "Maintenance", "dashboard Ada");
  await server.pass(5_000);
  const { body } = await server.createPayout();
  const page = pageOf(body.data.reference);
  const { html } = await operator.get(page);
  for (const text of [
    "Not yet given to the rail",
    "<strong>test</strong> is paused since",
    "until an operator resumes it",
  ])
    expect(html).toContain(text);
  await server.storage.resumeRail("test", "dashboard Ada");
  expect((await operator.get(page)).html).not.toContain("is paused");
});

test("an operator has the rail asked again", async () => {
  const reference = await unknown();
  rail.found.splice(0);
  expect(await act(operator, reference, "ask")).toBe(303);
  await server.pass(0);
  expect((await handoverOf(reference)).status).toBe("success");
  expect(await act(operator, reference, "ask")).toBe(409);
  expect(await audited()).toEqual([{ action: "payment.ask", actor: "dashboard Ada", reference }]);
  expect((await operator.get(`${area()}/audit`)).html).toContain("Asked the rail again about a payment");
});

const decision = { status: "failed", reason: "not in the rail's books" };

test("a decision waits for a second operator, also if the first is alone", async () => {
  const second = await unknown();
  expect((await operator.get(pageOf(second))).html).toContain("when a second operator has chosen the same outcome");
  expect(await act(operator, second, "decide", { ...decision, reason: " " })).toBe(422);
  expect(await act(operator, second, "decide", { ...decision, status: "pending" })).toBe(422);
  for (const _ of [1, 2]) expect(await act(operator, second, "decide", decision)).toBe(303);
  const esi = await signedIn(server, { name: "Esi" });
  expect(await handoverOf(second)).toMatchObject({ status: "pending", proposal: { by: "dashboard Ada" } });
  const { html } = await esi.get(pageOf(second));
  expect(html).toContain("Another operator must confirm it.");
  expect((await esi.get("/attention")).html).toContain("Another operator must confirm it");
  await act(esi, second, "decide", decision);
  expect(await handoverOf(second)).toMatchObject({ status: "failed", state: "closed" });
  expect((await audited()).map(({ action, actor }) => `${action}: ${actor}`)).toEqual([
    "payment.decide: dashboard Esi",
    "payment.propose: dashboard Ada",
    "payment.propose: dashboard Ada",
  ]);
  expect(await act(esi, second, "decide", decision)).toBe(409);
});

test("one operator decides alone if a setting says so, which every page shows", async () => {
  await server.close();
  server = await startServer({ env: { SANDBOX: "false", ONE_OPERATOR_DECIDES: "true" }, rails: railsOf(rail) });
  operator = await signedIn(server);
  const reference = await unknown();
  operator = await signedIn(server);
  for (const page of ["/merchants", "/attention", pageOf(reference)])
    expect((await operator.get(page === "/merchants" ? "" : page)).html).toContain("One operator suffices");
  expect((await operator.get(pageOf(reference))).html).toContain("takes effect at once");
  expect(await act(operator, reference, "decide", decision)).toBe(303);
  expect(await handoverOf(reference)).toMatchObject({ status: "failed", state: "closed" });
});

test("a conflict is shown in plain words until an operator closes it with a reason", async () => {
  const reference = await contradicted();
  expect((await operator.get("/attention")).html).toMatch(/The rail now says that it did not pay XOF\s100\.00\./u);
  expect((await operator.get(pageOf(reference))).html).toContain("Close the conflict");
  expect(await act(operator, reference, "close", { reason: "" })).toBe(422);
  expect(await act(operator, reference, "close", { reason: "paid again by hand" })).toBe(303);
  expect(await act(operator, reference, "close", { reason: "again" })).toBe(409);
  expect((await operator.get("/attention")).html).toContain("Nothing needs a person");
});

test("a checkout whose time is over and whose outcome stays unknown is decided by hand", async () => {
  rail.answers.push(new Error("time-out"));
  rail.found.push(...noResponse());
  const { reference } = (await server.createCheckout()).body.data;
  await server.pass(0);
  await server.pass(31 * 60_000);
  await server.pass(HOUR);
  expect((await operator.get("/attention")).html).toContain(reference);
  for (const person of [operator, await signedIn(server, { name: "Esi" })])
    expect((await person.post(`${area()}/payments/${reference}/decide`, decision)).status).toBe(303);
  expect(await handoverOf(reference)).toMatchObject({ state: "closed", status: "failed" });
});

test("a checkout that was paid after it was cancelled names the amount to return", async () => {
  rail.answers.push({ status: "cancelled" });
  const { reference } = (await server.createCheckout({ amount: 250_000 })).body.data;
  await server.pass(0);
  const report = { exchanges: [], answer: { status: "success" }, askAgainAfterMs: 0 } as const;
  await server.storage.recordNotification("test", reference, report);
  expect((await operator.get(`${area()}/attention`)).html).toMatch(/Return XOF\s2,500\.00 to the payer\./u);
});

test("a merchant's people see their own payments, and cannot act", async () => {
  const reference = await unknown();
  const person = await signedIn(server, { merchantId: server.merchant.id, name: "Kofi" });
  expect((await person.get(`${area()}/attention`)).html).toContain(reference);
  expect((await person.get("/attention")).status).toBe(303);
  const { html } = await person.get(pageOf(reference));
  expect(html).toContain("What was sent, and what came back");
  expect(html).not.toContain("Decide by hand");
  for (const action of ["ask", "decide", "close"])
    expect(await act(person, reference, action, { status: "failed", reason: "r" })).toBe(404);
  for (const path of ["/rails", "/rails/test/pause"]) expect((await person.get(path)).status).toBe(404);
  expect((await person.post("/rails/test/pause", { reason: "r" })).status).toBe(404);
  expect(await server.storage.readPauses()).toEqual([]);

  const other = await server.addMerchant("Other");
  const stranger = await signedIn(server, { merchantId: other.merchant.id, name: "Yaw" });
  expect((await stranger.get(`/m/${other.merchant.id}/attention`)).html).not.toContain(reference);
  const wrong = await operator.post(`/m/${other.merchant.id}/payments/${reference}/ask`);
  expect(wrong.status).toBe(404);
  expect((await operator.post(`${area()}/payments/${reference}/ask`, { csrf: "x" })).status).toBe(403);
  expect(await audited()).toEqual([]);
});

test("the rails have counts, and are paused with a reason and resumed", async () => {
  await unknown();
  await contradicted();
  const { html } = await operator.get("/rails");
  expect(html).toMatch(/test <span[^]*Waiting<\/dt><dd>1<[^]*Accepted<\/dt><dd>0<[^]*\/attention">1</);
  expect((await operator.post("/rails/test/pause", { reason: "" })).status).toBe(422);
  expect((await operator.post("/rails/other/pause", { reason: "r" })).status).toBe(404);
  expect((await operator.post("/rails/test/pause", { reason: "maintenance" })).status).toBe(303);
  expect((await operator.post("/rails/test/pause", { reason: "maintenance" })).status).toBe(409);
  expect((await operator.get("/rails")).html).toMatch(
    /Paused since [^]+ UTC by <bdi>Ada, operator<\/bdi>: maintenance/,
  );
  expect((await operator.post("/rails/test/resume")).status).toBe(303);
  expect((await operator.post("/rails/test/resume")).status).toBe(409);
  expect((await audited()).map(({ action }) => action)).toEqual(["rail.resume", "rail.pause"]);
});

test("a sandbox has neither page", async () => {
  const sandbox = await startServer();
  const visitor = await signedIn(sandbox);
  for (const path of ["/attention", "/rails", `/m/${sandbox.merchant.id}/attention`])
    expect((await visitor.get(path)).status).toBe(404);
  expect((await visitor.get("")).html).not.toContain("Needs attention");
  await sandbox.close();
});
