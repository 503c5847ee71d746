// The comparison of payments with a rail's list, at the dashboard of a live service.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checkedRail } from "../../rails/checked-rail.ts";
import { not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { createTestRail, railsOf, type TestRail } from "../../testing/rail.ts";

let rail: TestRail;
let dashboard: Awaited<ReturnType<typeof openDashboard>>;
beforeEach(async () => {
  rail = createTestRail();
  dashboard = await openDashboard({ SANDBOX: "false" }, railsOf(rail));
});
afterEach(() => dashboard.close());

const DAY = { rail: "test", from: "2026-11-20", to: "2026-11-20" };
const asked = (changes: Partial<typeof DAY> = {}) => `?${new URLSearchParams({ ...DAY, ...changes })}`;
const compare = (changes?: Partial<typeof DAY>) => dashboard.ada.get(`/rails/reconcile${asked(changes)}`);
const download = (changes?: Partial<typeof DAY>) => dashboard.ada.get(`/rails/reconcile.csv${asked(changes)}`);
const HEADER =
  "difference,reference,merchant,merchantsReference,amountHere,amountThere,currencyHere,currencyThere," +
  "statusHere,statusThere,feeHere,feeThere,createdHere,createdThere";
const COMMAND = "npx --no -- disbursement-checkout db reconcile --rail test --from 2026-11-20 --to 2026-11-20";

async function pay(reference: string): Promise<string> {
  rail.answers.push({ status: "success", fee: 25 });
  const { body } = await dashboard.server.createPayout({ reference });
  await dashboard.server.pass(0);
  return body.data.reference;
}
const there = (reference: string) => rail.ledger.get(reference)!;
/** Adds a payment to the rail that this service does not know. */
function addThere(reference: string, day = "2026-11-20") {
  const payment = { kind: "disbursement", reference, amount: 700, country: "CI", currency: "XOF" } as const;
  const createdAt = Date.parse(`${day}T12:00:00Z`);
  rail.ledger.set(reference, { payment: { ...payment, createdAt }, answer: { status: "success" }, asked: 1 });
}

test("without a difference shows the matched payments and the totals", async () => {
  await pay("a");
  await pay("b");
  const { rows } = await says(compare(), 200, "No differences", "matched 2", not("CSV"));
  const total = expect.stringMatching(/XOF 200\.00 payments 2 fees XOF 0\.50/);
  expect(rows).toEqual([[expect.stringContaining("2026-11-20"), total, total]]);
  expect((await download()).html).toBe(`${HEADER}\r\n`);
});

test("shows the differences, and the CSV file has the columns of the command's", async () => {
  const { ada, id, server } = dashboard;
  const [, amount, fee] = [await pay("same"), await pay("amount"), await pay("fee")];
  there(amount).payment = { ...there(amount).payment, amount: 9_900 };
  there(fee).answer = { ...there(fee).answer, fee: 30 };
  addThere("UNKNOWN-1");
  addThere("=OTHER-DAY", "2026-11-21");

  const counts = ["matched", "missing here", "different amount", "different fee"].map((each) =>
    RegExp(`${each} 1\\b`, "i"),
  );
  const page = await says(compare(), 200, ...counts, not("OTHER-DAY"));
  expect(page.link("amount")).toBe(`/m/${id}/disbursements/${amount}`);
  const { headers, html } = await ada.get(page.link("All as CSV"));
  expect(headers.get("content-type")).toMatch(/^text\/csv/);
  expect(headers.get("content-disposition")).toContain("differences-test-2026-11-20-2026-11-20.csv");
  const [head, ...lines] = html.trim().split("\r\n");
  expect([head, lines.length]).toEqual([HEADER, 3]);
  const at = "2026-11-20T09:30:00.000Z";
  expect(lines).toContain(`different fee,${fee},${id},fee,10000,10000,XOF,XOF,success,success,25,30,${at},${at}`);
  const entry = { actor: "dashboard Ada", action: "rail.reconcile", details: expect.objectContaining(DAY) };
  expect(await trail(server, 2)).toMatchObject([entry, entry]);
});

test("shows the first 200 differences, and all of them in the CSV file", async () => {
  for (let index = 0; index < 250; index += 1) addThere(`UNKNOWN-${index}`);
  const { rows } = await says(compare(), 200, "The first 200 differences");
  expect(rows.filter(([reference]) => reference!.startsWith("UNKNOWN"))).toHaveLength(200);
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
  await says(compare(changes), status, text);
  expect((await download(changes)).status).toBe(status);
});

test("names the command for a statement if the rail has no list", async () => {
  delete rail.list;
  await says(compare(), 422, `${COMMAND} --statement FILE.csv`);
});

test("says why the rail cannot be read, and compares again afterwards", async () => {
  const { list } = rail;
  const entry = { reference: "R", amount: 0.5, currency: "XOF", status: "success", createdAt: 0 } as const;
  const wrong = {
    ...rail,
    async *list() {
      yield entry;
    },
  };
  rail.list = checkedRail(wrong).list!;
  const problem = "The payments of the rail test cannot be read: The rail listed a payment that makes no sense: R.";
  await says(compare(), 502, problem);
  await says(download(), 502);
  rail.list = list!;
  await says(compare(), 200);
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
    await says(compare(), 409, "Another comparison is in progress.");
    dashboard.server.clock.advance(60_000 - 1);
    await says(download(), 409);
    expect(signals[0]!.aborted).toBe(false);
    dashboard.server.clock.advance(1);
    await says(first, 504, "took longer than 60 seconds.", COMMAND);
    expect(signals[0]!.aborted).toBe(true);
  }
  rail.list = list!;
  await says(compare(), 200);
});

test("ends when the visitor leaves, so that another visitor need not wait", async () => {
  const { list } = rail;
  const signals = hang();
  const left = new AbortController();
  const { cookie } = dashboard.ada;
  const address = `${dashboard.server.url}/dashboard/rails/reconcile${asked()}`;
  const gone = fetch(address, { headers: { cookie }, signal: left.signal });
  await expect.poll(() => signals).toHaveLength(1);
  left.abort();
  await expect(gone).rejects.toThrow("aborted");
  await expect.poll(() => signals[0]!.aborted).toBe(true);
  rail.list = list!;
  await says(compare(), 200);
});

test("a comparison that the storage prevents leaves no rejection behind, which would end the process", async () => {
  const left: unknown[] = [];
  const note = (reason: unknown) => void left.push(reason);
  process.on("unhandledRejection", note);
  const failing = vi.spyOn(dashboard.server.storage, "recordAction").mockRejectedValue(new Error("no storage"));
  await says(compare(), 500);
  failing.mockRestore();
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect(left).toEqual([]);
  await says(compare(), 200);
});
