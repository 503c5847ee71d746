// Payments that need a person, and the rails, at the dashboard of a live service (D73, D74).
import { afterEach, beforeEach, expect, test } from "vitest";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";

const HOUR = 3_600_000;
let rail: TestRail;
let dashboard: Awaited<ReturnType<typeof openDashboard>>;
const open = async (env = {}) => (dashboard = await openDashboard({ SANDBOX: "false", ...env }, railsOf(rail)));
beforeEach(async () => {
  rail = createTestRail();
  await open();
});
afterEach(() => dashboard.close());

const pageOf = (reference: string) => `${dashboard.area}/disbursements/${reference}`;
const handoverOf = async (reference: string) => (await dashboard.server.storage.findHandover(reference))!;
const audited = async () =>
  (await trail(dashboard.server, 20))
    .filter(({ action }) => /^(payment|rail)/.test(action))
    .map(({ action, actor }) => `${action} ${actor}`);
const act = (visitor: Visitor, reference: string, action: string, fields: Record<string, string> = {}) =>
  visitor.post(`${dashboard.area}/payments/${reference}/${action}`, fields);
const isSilent = () => {
  rail.answers.push(new Error("time-out"));
  rail.found.push(...Array.from({ length: 200 }, () => new Error("no response")));
};

/** A payout whose outcome is unknown for more than an hour. */
async function unknown(): Promise<string> {
  const { server } = dashboard;
  isSilent();
  const { reference } = (await server.createPayout({ reference: "salary-7" })).body.data;
  await server.pass(0);
  await server.pass(HOUR + 1);
  return reference;
}
/** A payment that the rail has ended in one way, and then in another. */
async function contradicted(create: "createPayout" | "createCheckout", status: "failed" | "success"): Promise<string> {
  const { server } = dashboard;
  const { reference } = (await server[create]()).body.data;
  await server.pass(0);
  const report = { exchanges: [], answer: { status }, askAgainAfterMs: 0 };
  await server.storage.recordNotification("test", reference, report);
  return reference;
}
const decision = { status: "failed", reason: "not in the rail's books" };

test("a payment whose outcome is unknown too long is listed, with what was sent and what came back", async () => {
  const { ada, area, server, id } = dashboard;
  await says(ada.get("/attention"), 200, "There is nothing here.");
  const reference = await unknown();
  await says(ada.get("/attention"), 200, "salary-7", reference, "Ada Stores", "more than 60 minutes");
  await says(ada.get(`${area}/attention`), 200, "salary-7");
  const sent = "Sent the payout to the rail: no result is known";
  await says(
    ada.get(pageOf(reference)),
    200,
    sent,
    "time-out",
    "Looked the payment up at the rail: no result is known",
  );
  const kofi = await signedIn(server, { merchantId: id, name: "Kofi" });
  await says(kofi.get(pageOf(reference)), 200, "What was sent, and what came back", not("Decide by hand"));
  for (let hours = 0; hours < 3; hours += 1) await server.pass(HOUR);
  const { text } = await (await signedIn(server)).get(pageOf(reference));
  expect(text).toMatch(/Looked the payment up at the rail: no result is known[^]* The last of \d+ alike/);
  expect(text.match(/Looked the payment up at the rail/g)).toHaveLength(1);
});

test("a payment says what it waits for: the rail, or that somebody resumes it", async () => {
  const { ada, server } = dashboard;
  await done(ada.post("/rails/test/pause", { reason: "Maintenance" }));
  await server.pass(5_000);
  const page = pageOf((await server.createPayout()).body.data.reference);
  await says(ada.get(page), 200, "Not yet given to the rail", "paused since", "until an operator resumes it");
  await done(ada.post("/rails/test/resume"));
  await says(ada.get(page), 200, not("is paused"));
});

test("an operator has the rail asked again", async () => {
  const { ada, area, server } = dashboard;
  const reference = await unknown();
  rail.found.splice(0);
  expect(await done(act(ada, reference, "ask"))).toBe(pageOf(reference));
  await server.pass(0);
  expect((await handoverOf(reference)).status).toBe("success");
  await says(act(ada, reference, "ask"), 409);
  expect(await audited()).toEqual(["payment.ask dashboard Ada"]);
  await says(ada.get(`${area}/audit`), 200, "Ask the rail again about the payment");
});

test("a decision waits for a second operator, also if the first is alone", async () => {
  const { ada, server } = dashboard;
  const reference = await unknown();
  await says(ada.get(pageOf(reference)), 200, "once a second operator agrees");
  for (const wrong of [{ reason: " " }, { status: "pending" }])
    await says(act(ada, reference, "decide", { ...decision, ...wrong }), 422);
  for (const _ of [1, 2]) await done(act(ada, reference, "decide", decision));
  expect(await handoverOf(reference)).toMatchObject({ status: "pending", proposal: { by: "dashboard Ada" } });
  const esi = await signedIn(server, { name: "Esi" });
  await says(esi.get(pageOf(reference)), 200, "Another operator must confirm it.");
  await says(esi.get("/attention"), 200, "Another operator must confirm it.");
  await done(act(esi, reference, "decide", decision));
  expect(await handoverOf(reference)).toMatchObject({ status: "failed", state: "closed" });
  const proposal = "payment.propose dashboard Ada";
  expect(await audited()).toEqual(["payment.decide dashboard Esi", proposal, proposal]);
  await says(act(esi, reference, "decide", decision), 409);
});

test("one operator decides alone if a setting says so, which every page shows", async () => {
  await dashboard.close();
  await open({ ONE_OPERATOR_DECIDES: "true" });
  const reference = await unknown();
  const operator = await signedIn(dashboard.server);
  for (const page of ["", "/attention"]) await says(operator.get(page), 200, "One operator suffices");
  await says(operator.get(pageOf(reference)), 200, "End the payment by hand");
  await done(act(operator, reference, "decide", decision));
  expect(await handoverOf(reference)).toMatchObject({ status: "failed", state: "closed" });
});

test.each([
  ["createPayout", "success", "failed", "The rail now says that it did not pay XOF 100.00."],
  ["createCheckout", "cancelled", "success", "Return XOF 25,000.00 to the payer."],
] as const)(
  "a conflict of a %s is shown in plain words until an operator closes it",
  async (create, first, then, text) => {
    const { ada, area } = dashboard;
    rail.answers.push({ status: first });
    const reference = await contradicted(create, then);
    for (const page of ["/attention", `${area}/attention`]) await says(ada.get(page), 200, text);
    await says(act(ada, reference, "close", { reason: "" }), 422);
    await done(act(ada, reference, "close", { reason: "done by hand" }));
    await says(act(ada, reference, "close", { reason: "again" }), 409);
    await says(ada.get("/attention"), 200, "There is nothing here.");
  },
);

test("the rails have counts, and are paused with a reason and resumed", async () => {
  await unknown();
  await contradicted("createPayout", "failed");
  const { ada } = dashboard;
  const { rows } = await ada.get("/rails");
  expect(rows).toEqual([
    [expect.stringMatching(/^test in use/), "1", "0", "1", expect.any(String), expect.any(String)],
  ]);
  for (const [name, reason, status] of [
    ["test", "", 422],
    ["other", "maintenance", 404],
    ["test", "maintenance", 303],
    ["test", "maintenance", 409],
  ] as const)
    await says(ada.post(`/rails/${name}/pause`, { reason }), status);
  await says(ada.get("/rails"), 200, /since .+ UTC, by Ada, operator: maintenance/);
  await done(ada.post("/rails/test/resume"));
  await says(ada.post("/rails/test/resume"), 409);
  expect(await audited()).toEqual(["rail.resume dashboard Ada", "rail.pause dashboard Ada"]);
});
