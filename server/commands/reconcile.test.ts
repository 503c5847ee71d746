import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { runCommand } from "../testing/process.ts";
import { addMerchant, HOUR, pendingOn, START } from "../testing/storage/fixtures.ts";

const NOV_19 = Date.UTC(2026, 10, 19);
const folder = mkdtempSync(join(tmpdir(), "rails-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);
const env = { DATABASE_URL: `sqlite:${file("server.db")}`, SANDBOX: "false" };

/** Three hours apart, from START on: five on the first day, seven on the second one. */
const PAYMENTS = 12;
const STEP_MS = 3 * HOUR;
const references: string[] = [];
const period = ["--rail", "mobile", "--from", "2026-11-20", "--to", "2026-11-21"];

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

const CREATED = "2026-11-20T12:00:00Z";
/** A statement that agrees with every payment, except for the first rows, which are replaced. */
function writeStatement(name: string, first: (string | undefined)[] = [], more: string[] = []) {
  const rows = references.map((reference, index) => {
    const usual = `${reference},10000,XOF,success,25,${new Date(START + index * STEP_MS).toISOString()}`;
    return index < first.length ? first[index] : usual;
  });
  const lines = ["reference,amount,currency,status,fee,created", ...rows.filter((row) => row !== undefined), ...more];
  writeFileSync(file(name), lines.join("\r\n"));
  return file(name);
}
const reconcile = (...args: string[]) => runCommand(env, "db", "reconcile", ...args);

test("finds six kinds of difference, and no other difference", async () => {
  const first = [
    undefined,
    `${references[1]},10001,XOF,success,25,${CREATED}`,
    `"${references[2]}",10000,XAF,success,25,${CREATED}`,
    `${references[3]},10000,XOF,failed,25,${CREATED}`,
    `${references[4]},10000,XOF,success,26,${CREATED}`,
  ];
  const statement = writeStatement("planted.csv", first, [`UNKNOWN,10000,XOF,success,25,${CREATED}`]);
  const result = await reconcile(...period, "--statement", statement, "--json");
  expect([result.code, result.stderr]).toEqual([1, ""]);
  const { matched, differences, totals, shown, notShown } = JSON.parse(result.stdout);
  const each = { "missing-there": 1, "missing-here": 1, amount: 1, currency: 1, fee: 1, status: 1, "twice-there": 0 };
  expect([matched, differences]).toEqual([PAYMENTS - 5, each]);
  expect(totals).toContainEqual(
    expect.objectContaining({ day: "2026-11-20", currency: "XOF", status: "success", here: expect.anything() }),
  );
  expect([shown.length, notShown]).toEqual([6, 0]);
  const same = { reference: references[1], currency: "XOF", status: "success" };
  expect(shown).toContainEqual({
    kind: "amount",
    reference: references[1],
    here: expect.objectContaining({ ...same, merchantsReference: "P-1", amount: 10_000, railFee: 25 }),
    there: { ...same, amount: 10_001, fee: 25, createdAt: "2026-11-20T12:00:00.000Z" },
  });
});

test("reads a statement that names payments by the rail's reference", async () => {
  const lines = ["railReference,amount,currency,status", "R-7,10000,XOF,success", "BANK-8,10000,XOF,success"];
  writeFileSync(file("by-rail.csv"), lines.join("\n"));
  const { stdout } = await reconcile(...period, "--statement", file("by-rail.csv"), "--json");
  const { matched, shown } = JSON.parse(stdout);
  expect(matched).toBe(1);
  expect(shown).toContainEqual(expect.objectContaining({ kind: "missing-here", reference: "BANK-8" }));
});

test("exits with 0 without a difference, and leaves other days out", async () => {
  const secondDay = ["--rail", "mobile", "--from", "2026-11-21", "--to", "2026-11-21"];
  const { code, stdout } = await reconcile(...secondDay, "--statement", writeStatement("equal.csv"));
  expect([code, stdout]).toEqual([0, expect.stringContaining("matched: 7\n")]);
  const { stdout: trail } = await runCommand(env, "keys", "audit");
  expect(trail).toMatch(/rail\.reconcile.*mobile.*2026-11-21/);
});

test.each([
  ["an entry", `yield { reference: "X", amount: 1, currency: "XOF", status: "success", createdAt: ${NOV_19} }`, 1],
  ["nothing", "", 0],
  ["an error", 'throw new Error("no connection")', 2],
])("reads the list of a rail: %s", async (name, body, code) => {
  const [module, settings] = [file(`${name}.mjs`), file("rails.yaml")];
  writeFileSync(module, `export default () => ({ pay() {}, find() {}, async *list() { ${body} } });`);
  writeFileSync(settings, `rails: { mobile: { module: "${module}" } }\nroutes: [{ rail: mobile }]\n`);
  const day = ["--from", "2026-11-19", "--to", "2026-11-19"];
  const result = await runCommand({ ...env, RAILS: settings }, "db", "reconcile", "--rail", "mobile", ...day);
  expect(result).toMatchObject({ code });
  if (code === 2) expect(result.stderr).toContain("The payments of the rail mobile cannot be read: no connection");
});

test.each([
  ["", "the file is empty"],
  ["reference,amount\r\n", "the first line must name the columns currency, status"],
  ["reference,amount,currency,status\nDSB-1,100.00,XOF,success\n", "line 2: amount must be a whole number"],
  ["reference,amount,currency,status\nDSB-1,1,XOF,paid\n", "line 2: status must be one of pending, success"],
  ["reference,amount,currency,status\n\n,1,XOF,success\n", "line 3: reference is empty"],
  ['reference,amount,currency,status\n"DSB-1,1,XOF,success\n', "line 2"],
  ["reference,amount,currency,status,created\nDSB-1,1,XOF,success,soon\n", "line 2: created must be a time"],
])("refuses the statement %j", async (text, message) => {
  writeFileSync(file("wrong.csv"), text);
  const earlier = ["--rail", "mobile", "--from", "2026-01-01", "--to", "2026-01-01"];
  const result = await reconcile(...earlier, "--statement", file("wrong.csv"));
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});
