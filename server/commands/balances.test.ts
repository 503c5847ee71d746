// The commands about balances beside a running live server, whose creates the balance limits.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveStorage, type ServedStorage } from "../storage/socket/serve.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { runCommand } from "../testing/process.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let folder: string;
let env: Record<string, string>;
let server: TestServer;
let served: ServedStorage;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "balances-"));
  const path = join(folder, "server.db");
  env = { DATABASE_URL: `sqlite:${path}`, SANDBOX: "false", BALANCES: "enforced" };
  server = await startServer({ env, openStorage: (how) => openSqlite(path, { ...how, mode: "live" }) });
  served = await serveStorage(path, server.storage, (reason) => expect.fail(reason));
});
afterAll(async () => {
  served.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

async function balances(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(env, "balances", ...args);
  return { code, text: (stdout + stderr).trimEnd() };
}

test("an operator tops up a balance, and creates that it does not cover are refused with 422", async () => {
  const id = server.merchant.id;
  expect(await balances("list")).toEqual({ code: 0, text: "None." });
  const refused = await server.createPayout({ reference: "p1", amount: 10_000 });
  expect(refused.status).toBe(422);
  expect(refused.body).toEqual({
    statusCode: 422,
    error: "Unprocessable Content",
    message: "Your available balance in XOF does not cover the amount 10000 and its fee 100. Nothing was recorded.",
    code: "insufficient_funds",
  });
  const { code, text } = await balances("top-up", id, "20200", "XOF", "--reason", "Bank transfer 17");
  expect([code, text]).toEqual([0, expect.stringMatching(/^merchant .+ available XOF.202\.00 {2}reserved XOF.0\.00$/)]);
  // The reference of the refused payout is free.
  expect((await server.createPayout({ reference: "p1", amount: 10_000 })).status).toBe(200);
  expect((await server.createPayout({ reference: "p1", amount: 10_000 })).status).toBe(409);
  expect((await server.createPayout({ amount: 10_001 })).body).toMatchObject({ code: "insufficient_funds" });
  await server.pass(0);
  expect((await balances("list", "--json")).text).toContain('"available": 10100,\n      "reserved": 0');
  expect((await balances("withdraw", id, "10100", "XOF", "--reason", "To the bank")).text).toMatch(
    /available XOF.0\.00/,
  );
  expect((await balances("withdraw", id, "1", "XOF", "--reason", "Too much")).text).toMatch(
    /^The available balance is less\./,
  );
  expect((await balances("correct", "--reason", "Upgrade")).text).toBe("The books agree with the payments.");
});

test.each<[string[], RegExp]>([
  [["top-up", "M", "1", "XOF"], /^Give a reason/],
  [["top-up", "M", "1.5", "XOF", "--reason", "r"], /^AMOUNT must be a whole number/],
  [["top-up", "M", "9007199254740993", "XOF", "--reason", "r"], /^AMOUNT must be/],
  [["withdraw", "M", "0", "XOF", "--reason", "r"], /^AMOUNT must be/],
  [["top-up", "M", "1", "xof", "--reason", "r"], /^CURRENCY must be three/],
  [["top-up", "nobody", "1", "XOF", "--reason", "r"], /^There is no merchant nobody/],
])("refuses %j", async (args, message) => {
  const refused = await balances(...args.map((arg) => (arg === "M" ? server.merchant.id : arg)));
  expect([refused.code, refused.text]).toEqual([2, expect.stringMatching(message)]);
});

test("from an amount on, somebody else must approve a change, and the statement shows what was booked", async () => {
  const { merchant } = await server.addMerchant("Ama Stores");
  env.BALANCE_APPROVAL_FROM = "XOF:1000000";
  const change = (amount: string) => balances("top-up", merchant.id, amount, "XOF", "--reason", "Bank transfer 18");
  expect((await change("999999")).text).toMatch(/available XOF.9,999\.99/);
  const { text } = await change("1000000");
  const [, id] = /^Proposed\..* somebody else must approve it:\n.*balances approve \S+ (\S+)$/.exec(text)!;
  expect((await balances("proposals")).text).toMatch(
    new RegExp(`^${id} {2}merchant ${merchant.id} {2}top up XOF.10,000\\.00 {2}command .+ {2}Bank transfer 18$`),
  );
  expect(await balances("approve", merchant.id, id!)).toEqual({
    code: 2,
    text: "You proposed it, or a sign-in link connects you with the person who did. Somebody else must approve it.",
  });
  expect(await server.storage.decideAdjustment(merchant.id, id!, "dashboard Grace", true)).toBe("booked");
  expect((await balances("approve", merchant.id, id!)).text).toMatch(/^It does not wait for approval any more/);
  await change("2000000");
  const [, other] = /^(\S+)/.exec((await balances("proposals")).text)!;
  expect((await balances("reject", merchant.id, other!)).text).toBe(`Rejected ${other}`);
  expect((await balances("proposals")).text).toBe("None.");
  expect((await balances("statement", merchant.id)).text.split("\n")).toEqual([
    expect.stringMatching(/ {2}top-up {2}\S+ {2}XOF.10,000\.00 {2}balance XOF.19,999\.99$/),
    expect.stringMatching(/ {2}top-up {2}\S+ {2}XOF.9,999\.99 {2}balance XOF.9,999\.99$/),
  ]);
  const page = JSON.parse((await balances("statement", merchant.id, "--limit", "1", "--json")).text);
  expect(page).toMatchObject({ items: [{ amount: 1_000_000, balance: 1_999_999 }], nextCursor: expect.any(String) });
  delete env.BALANCE_APPROVAL_FROM;
});
