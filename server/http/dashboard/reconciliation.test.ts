// The comparison of payments with a rail's list, at the dashboard of a live service.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RailEntry } from "../../domain/rails.ts";
import { checkedRail } from "../../rails/checked-rail.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let rail: TestRail;
let server: TestServer;
let operator: Visitor;
beforeEach(async () => {
  rail = createTestRail();
  server = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(rail) });
  operator = await signedIn(server);
});
afterEach(() => server.close());

const PAGE = "/rails/reconcile";
const DAY = { rail: "test", from: "2026-11-20", to: "2026-11-20" };
const asked = (changes: Partial<typeof DAY> = {}) => `?${new URLSearchParams({ ...DAY, ...changes })}`;
const compare = (changes?: Partial<typeof DAY>) => operator.get(`${PAGE}${asked(changes)}`);
const download = (changes?: Partial<typeof DAY>) => operator.get(`${PAGE}.csv${asked(changes)}`);
/** The number that the page shows for each name, except for names with the number 0. */
const countsIn = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/<dt>([^<]+)<\/dt><dd>([\d,]+)</g)]
      .map(([, name, count]) => [name, count])
      .filter(([, c]) => c !== "0"),
  );
const rowsIn = (html: string) => html.match(/<tr>/g)?.length ?? 0;
const HEADER =
  "difference,reference,merchant,merchantsReference,amountHere,amountThere,currencyHere,currencyThere," +
  "statusHere,statusThere,feeHere,feeThere,createdHere,createdThere";

async function pay(reference: string): Promise<string> {
  rail.answers.push({ status: "success", fee: 25 });
  const { body } = await server.createPayout({ reference });
  await server.pass(0);
  return body.data.reference;
}
/** Adds a payment to the rail that this service does not know. */
function addThere(reference: string, { day = "2026-11-20", amount = 700 } = {}) {
  const payment = { kind: "disbursement", reference, amount, country: "CI", currency: "XOF" } as const;
  const createdAt = Date.parse(`${day}T12:00:00Z`);
  rail.ledger.set(reference, { payment: { ...payment, createdAt }, answer: { status: "success" }, asked: 1 });
}

test("the Rails page leads to a form, which begins with yesterday and compares nothing yet", async () => {
  rail.list = () => expect.fail("The rail was asked.");
  expect((await operator.get("/rails")).html).toContain(`href="/dashboard${PAGE}"`);
  const { status, html } = await operator.get(PAGE);
  expect(status).toBe(200);
  expect(html).toContain('<option value="test">test</option>');
  expect(html.match(/value="2026-11-19"/g)).toHaveLength(2);
  expect(html).not.toContain("data-live");
});

test("without a difference shows the matched payments and the totals", async () => {
  await pay("a");
  await pay("b");
  const { status, html } = await compare();
  expect([status, countsIn(html)]).toEqual([200, { matched: "2" }]);
  expect(html).toContain("No differences");
  expect(html).not.toContain("CSV");
  expect(
    html.match(/XOF\s200\.00<span class="under">payments 2<\/span><span class="under">fees XOF\s0\.50</gu),
  ).toHaveLength(2);
  expect(html).toContain('<option value="test" selected>test</option>');
  expect((await download()).html).toBe(`${HEADER}\r\n`);
});

test("shows every kind of difference, and the CSV file has the columns of the command's", async () => {
  const names = ["same", "missing", "amount", "fee", "currency", "status"] as const;
  const references = {} as Record<(typeof names)[number], string>;
  for (const name of names) references[name] = await pay(name);
  const there = (name: (typeof names)[number]) => rail.ledger.get(references[name])!;
  rail.ledger.delete(references.missing);
  there("amount").payment = { ...there("amount").payment, amount: 9_900 };
  there("fee").answer = { ...there("fee").answer, fee: 30 };
  there("currency").payment = { ...there("currency").payment, currency: "XAF" };
  there("status").answer = { ...there("status").answer, status: "failed" };
  addThere("UNKNOWN-1");
  addThere("=OTHER-DAY", { day: "2026-11-21" });

  const { html } = await compare();
  expect(countsIn(html)).toEqual({
    matched: "1",
    "missing there": "1",
    "missing here": "1",
    "different amount": "1",
    "different currency": "1",
    "different fee": "1",
    "different status": "1",
  });
  expect(html).toContain("All differences");
  expect(html).toContain(`/dashboard/m/${server.merchant.id}/disbursements/${references.amount}"><bdi>amount</bdi>`);
  expect(html).toMatch(/XOF\s99\.00<span class="under"><span class="badge success">/u);
  expect(html).not.toContain("OTHER-DAY");
  const [, file] = /href="\/dashboard([^"]+)">All as CSV/.exec(html)!;
  const { headers, html: csv } = await operator.get(file!.replaceAll("&amp;", "&"));
  expect(headers.get("content-type")).toMatch(/^text\/csv/);
  expect(headers.get("content-disposition")).toContain("differences-test-2026-11-20-2026-11-20.csv");
  const lines = csv.trim().split("\r\n");
  expect(lines).toHaveLength(7);
  expect(lines[0]).toBe(HEADER);
  expect(lines).toContain(
    `different fee,${references.fee},${server.merchant.id},fee,10000,10000,XOF,XOF,success,success,25,30,` +
      "2026-11-20T09:30:00.000Z,2026-11-20T09:30:00.000Z",
  );
  const entries = (await server.storage.listAudit({ limit: 20 })).items.filter(({ action }) =>
    action.startsWith("rail"),
  );
  const entry = {
    actor: "dashboard Ada",
    action: "rail.reconcile",
    merchantId: "",
    details: expect.objectContaining(DAY),
  };
  expect(entries).toMatchObject([entry, entry]);
});

test("shows the first 200 differences, and all of them in the CSV file", async () => {
  for (let index = 0; index < 250; index += 1) addThere(`UNKNOWN-${index}`);
  const { html } = await compare();
  expect(html).toContain("The first 200 differences");
  // Each table has a row of headings, and the totals have one row.
  expect(rowsIn(html)).toBe(200 + 3);
  expect((await download()).html.trim().split("\r\n")).toHaveLength(251);
});

test.each([
  [{ rail: "other" }, 422, "There is no such rail."],
  [{ rail: "" }, 422, "There is no such rail."],
  [{ from: "" }, 422, "A day has the form 2026-11-21."],
  [{ to: "soon" }, 422, "A day has the form 2026-11-21."],
  [{ to: "2026-11-19" }, 422, "The last day must not be before the first day."],
  [{ to: "2026-12-21" }, 422, "Choose at most 31 days."],
  [{ to: "2026-12-20" }, 200, "No differences"],
])("%j: %i %s", async (changes, status, text) => {
  const found = await compare(changes);
  expect([found.status, found.html]).toEqual([status, expect.stringContaining(text)]);
  expect(found.html).toContain("Compare</button>");
  expect((await download(changes)).status).toBe(status);
});

const COMMAND = "npx --no -- disbursement-checkout db reconcile --rail test --from 2026-11-20 --to 2026-11-20";

test("names the command for a statement if the rail has no list", async () => {
  delete rail.list;
  const { status, html } = await compare();
  expect([status, html]).toEqual([422, expect.stringContaining(`${COMMAND} --statement FILE.csv`)]);
});

const failed = (message: string): never => {
  throw new Error(message);
};
const ENTRY = { reference: "R", amount: 1, currency: "XOF", status: "success", createdAt: 0 } as const;
test.each<[() => Partial<RailEntry>, string]>([
  [() => failed("no connection"), "no connection"],
  [() => ({ reference: undefined! }), "The rail listed a payment that makes no sense: undefined."],
  [() => ({ amount: 0.5 }), "The rail listed a payment that makes no sense: R."],
  [() => ({ currency: "F" }), "The rail listed a payment that makes no sense: R."],
  [() => ({ createdAt: 1e20 }), "The rail listed a payment that makes no sense: R."],
  [() => ({ status: "paid" as "success" }), "The rail answered with an unknown status: paid."],
])("says why the rail cannot be read, and compares again afterwards: %s", async (change, problem) => {
  const { list } = rail;
  const wrong = {
    ...rail,
    async *list() {
      yield { ...ENTRY, ...change() };
    },
  };
  rail.list = checkedRail(wrong).list!;
  const { status, html } = await compare();
  expect([status, html]).toEqual([
    502,
    expect.stringContaining(`The payments of the rail test cannot be read: ${problem}`),
  ]);
  expect((await download()).status).toBe(502);
  rail.list = list!;
  expect((await compare()).status).toBe(200);
});

/** Makes the rail's list wait for ever. Returns the signals that the list got. */
function hang(): AbortSignal[] {
  const signals: AbortSignal[] = [];
  // oxlint-disable-next-line require-yield
  rail.list = async function* wait(_period, signal) {
    signals.push(signal);
    await new Promise(() => undefined);
  };
  return signals;
}

test("compares once at a time, and for at most 60 seconds, also if the rail ignores the signal", async () => {
  const { list } = rail;
  const signals = hang();
  for (const read of [compare, download]) {
    signals.length = 0;
    const first = read();
    await expect.poll(() => signals).toHaveLength(1);
    const second = await compare();
    expect([second.status, second.html]).toEqual([409, expect.stringContaining("Another comparison is in progress.")]);
    server.clock.advance(60_000 - 1);
    expect([(await download()).status, signals[0]!.aborted]).toEqual([409, false]);
    server.clock.advance(1);
    const { status, html } = await first;
    expect([status, html]).toEqual([504, expect.stringContaining("took longer than 60 seconds.")]);
    expect(html).toContain(COMMAND);
    expect(signals[0]!.aborted).toBe(true);
  }
  rail.list = list!;
  expect((await compare()).status).toBe(200);
});

test("ends when the visitor leaves, so that another visitor need not wait", async () => {
  const { list } = rail;
  const signals = hang();
  const left = new AbortController();
  const { cookie } = operator;
  const gone = fetch(`${server.url}/dashboard${PAGE}${asked()}`, { headers: { cookie }, signal: left.signal });
  await expect.poll(() => signals).toHaveLength(1);
  left.abort();
  await expect(gone).rejects.toThrow("aborted");
  await expect.poll(() => signals[0]!.aborted).toBe(true);
  rail.list = list!;
  expect((await compare()).status).toBe(200);
});

test("a comparison that the storage prevents leaves no rejection behind, which would end the process", async () => {
  const left: unknown[] = [];
  const note = (reason: unknown) => void left.push(reason);
  process.on("unhandledRejection", note);
  const failing = vi.spyOn(server.storage, "recordAction").mockRejectedValue(new Error("no storage"));
  expect((await compare()).status).toBe(500);
  failing.mockRestore();
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect(left).toEqual([]);
  expect((await compare()).status).toBe(200);
});

test("is for operators of a live service", async () => {
  const person = await signedIn(server, { merchantId: server.merchant.id, name: "Kofi" });
  const sandbox = await startServer();
  const visitor = await signedIn(sandbox);
  for (const path of [PAGE, `${PAGE}${asked()}`, `${PAGE}.csv${asked()}`])
    for (const one of [person, visitor]) expect((await one.get(path)).status).toBe(404);
  await sandbox.close();
});
