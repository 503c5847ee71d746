import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { runCommand } from "../testing/process.ts";
import { addMerchant, pendingOn } from "../testing/storage/fixtures.ts";
import { HOUR, START } from "../testing/times.ts";

const NOV_19 = Date.UTC(2026, 10, 19);
const folder = mkdtempSync(join(tmpdir(), "rails-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);
const env = { DATABASE_URL: `sqlite:${file("server.db")}`, SANDBOX: "false" };

/** Three hours apart, from START on: five on the first day, seven on the second one. */
const PAYMENTS = 12;
const STEP_MS = 3 * HOUR;
const references: string[] = [];

beforeAll(async () => {
  const clock = createFakeClock();
  const storage = openSqlite(file("server.db"), { clock, server: true });
  const { id: merchant } = await addMerchant(storage);
  for (let index = 0; index < PAYMENTS; index += 1) {
    const payout = pendingOn("mobile", merchant, { merchantsReference: `P-${index}` });
    const { reference } = (await storage.insertDisbursement(payout)).record;
    references.push(reference);
    const answer = { status: "success", fee: 25, railReference: `R-${index}` } as const;
    const of = { lane: { merchantId: merchant, host: "mobile" }, id: reference };
    await storage.recordHandover(of, { exchanges: [], answer, askAgainAfterMs: 0 });
    clock.advance(STEP_MS);
  }
  await storage.close();
});

const CREATED = Date.UTC(2026, 10, 20, 12);
const paid = { amount: 10_000, currency: "XOF", status: "success", fee: 25 };
/** A list that agrees with every payment, except for the first entries, which are changed or left out. */
const listed = (...first: (object | undefined)[]) =>
  references.flatMap((reference, index) => {
    const entry = { reference, ...paid, createdAt: START + index * STEP_MS };
    if (index >= first.length) return [entry];
    return first[index] ? [{ ...entry, createdAt: CREATED, ...first[index] }] : [];
  });

let written = 0;
/** Compares with a rail whose list has these entries, or ends with this error. */
async function reconcile(days: readonly string[], entries: readonly object[], error?: string) {
  written += 1;
  const [module, settings] = [file(`rail-${written}.mjs`), file("rails.yaml")];
  const failure = error === undefined ? "" : `throw new Error("${error}");`;
  const list = `async *list() { yield* ${JSON.stringify(entries)}; ${failure} }`;
  writeFileSync(module, `export default () => ({ pay() {}, find() {}, ${list} });`);
  writeFileSync(settings, `rails: { mobile: { module: "${module}" } }\nroutes: [{ rail: mobile }]\n`);
  const [from = "", to = from] = days;
  const period = ["--rail", "mobile", "--from", from, "--to", to];
  const result = await runCommand({ ...env, RAILS: settings }, "db", "reconcile", ...period, "--json");
  return { ...result, ...(result.code === 2 ? {} : JSON.parse(result.stdout)) };
}
const BOTH = ["2026-11-20", "2026-11-21"];

test("finds six kinds of difference, and no other difference", async () => {
  const changes = [undefined, { amount: 10_001 }, { currency: "XAF" }, { status: "failed" }, { fee: 26 }];
  const entries = [...listed(...changes), { reference: "UNKNOWN", ...paid, createdAt: CREATED }];
  const { code, stderr, matched, differences, totals, found } = await reconcile(BOTH, entries);
  expect([code, stderr, found?.length]).toEqual([1, "", 6]);
  const each = { "missing-there": 1, "missing-here": 1, amount: 1, currency: 1, fee: 1, status: 1, "twice-there": 0 };
  expect([matched, differences]).toEqual([PAYMENTS - 5, each]);
  expect(totals).toContainEqual(
    expect.objectContaining({ day: "2026-11-20", currency: "XOF", status: "success", here: expect.anything() }),
  );
  const same = { reference: references[1], currency: "XOF", status: "success" };
  expect(found).toContainEqual({
    kind: "amount",
    reference: references[1],
    here: expect.objectContaining({ ...same, merchantsReference: "P-1", amount: 10_000, railFee: 25 }),
    there: { ...same, amount: 10_001, fee: 25, createdAt: "2026-11-20T12:00:00.000Z" },
  });
});

test("reads a list that names payments by the rail's reference", async () => {
  const named = ["R-7", "BANK-8"].map((railReference) => ({ railReference, ...paid, createdAt: CREATED }));
  const { matched, found } = await reconcile(BOTH, named);
  expect(matched).toBe(1);
  expect(found).toContainEqual(expect.objectContaining({ kind: "missing-here", reference: "BANK-8" }));
});

test("exits with 0 without a difference, and leaves other days out", async () => {
  expect(await reconcile(["2026-11-21"], listed())).toMatchObject({ code: 0, matched: 7 });
  const { stdout: trail } = await runCommand(env, "keys", "audit");
  expect(trail).toMatch(/rail\.reconcile.*mobile.*2026-11-21/);
});

const entry = { reference: "X", ...paid, createdAt: NOV_19 };
test.each<[what: string, entries: object[], message: string, error?: string]>([
  ["an outage", [], "The payments of the rail mobile cannot be read: no connection", "no connection"],
  ["an entry without a reference", [{ ...entry, reference: undefined }], "makes no sense: undefined"],
  ["an amount that is not whole", [{ ...entry, amount: 1.5 }], "makes no sense: X"],
  ["an invalid currency", [{ ...entry, currency: "francs" }], "makes no sense: X"],
  ["an invalid time", [{ ...entry, createdAt: "soon" }], "makes no sense: X"],
  ["an unknown status", [{ ...entry, status: "paid" }], "unknown status: paid"],
])("exits with 2 for %s", async (_, entries, message, error) => {
  const result = await reconcile(["2026-11-19"], entries, error);
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});
