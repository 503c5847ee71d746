// What commands say if the storage of the running server fails after they have recorded something.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { startWithTerminal } from "../testing/commands.ts";
import { failingStorage, type FailingStorage } from "../testing/failing-storage.ts";
import { runCommand } from "../testing/process.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import type { TestServer } from "../testing/server.ts";

const REASON = ["--reason", "a test"];
let server: TestServer;
let failing: FailingStorage;
let terminal: Awaited<ReturnType<typeof startWithTerminal>>;
const wrap = (storage: Storage) => (failing = failingStorage(storage)).storage;
beforeAll(async () => {
  terminal = await startWithTerminal({ wrap, rails: railsOf(createTestRail({ status: "pending" })) });
  ({ server } = terminal);
});
afterAll(() => terminal.close());

async function run(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(terminal.env, ...args);
  return { code, text: (stdout + stderr).trimEnd() };
}
const payout = async () => (await server.createPayout()).body.data.reference as string;
const anotherMerchant = async () => (await server.addMerchant("Kofi Goods")).merchant.id;

/** A command with work of its own, and two that do what a form does: all report a failure through the same code. */
const WRITING: Record<string, (merchant: string) => string[] | Promise<string[]>> = {
  "keys create-merchant": () => ["Ama Foods"],
  "balances top-up": (id) => [id, "500", "XOF", ...REASON],
  "rails decide": async () => [await payout(), "--outcome", "failed", ...REASON],
};

test.each(Object.entries(WRITING))("%s says the truth, whatever fails after a write", async (command, argsOf) => {
  const [group = "", name = ""] = command.split(" ");
  const given = await argsOf(server.merchant.id);
  let restore = failing.failAfter(0);
  const before = await run(group, name, ...given);
  restore();
  expect(before).toEqual({ code: 2, text: expect.stringMatching(/^The server's database.* Nothing was recorded\.$/) });
  for (const [writes, failure] of [
    [1, "is unavailable"],
    [1, "returns nothing"],
    [2, "is unavailable"],
  ] as const) {
    const args = await argsOf(server.merchant.id);
    restore = failing.failAfter(writes, failure);
    const { code, text } = await run(group, name, ...args);
    const written = restore();
    if (written > 0) expect(text).not.toMatch(/[Nn]othing was/);
    if (code === 0 || written === 0) continue;
    expect([code, text]).toEqual([1, expect.stringMatching(/Recorded before this error: .*keys audit/)]);
    // Only a command with this option can be repeated with its id.
    expect(text.includes("add --id")).toBe(name === "top-up");
  }
});

const balanceOf = async (id: string) => (await server.storage.listBalances(id))[0]?.available;

test("a top-up that fails after its commit is booked once, however often it is repeated with its id", async () => {
  const id = await anotherMerchant();
  const topUp = (...more: string[]) => run("balances", "top-up", id, "700", "XOF", "--reason", "Transfer 17", ...more);
  const restore = failing.failAfter(1);
  const { code, text } = await topUp();
  restore();
  expect(code).toBe(1);
  const [, given] = / --id (\S+): /.exec(text)!;
  expect((await topUp("--id", given!)).text).toMatch(/available: XOF.7\.00/);
  expect((await run("balances", "top-up", id, "800", "XOF", "--reason", "Other", "--id", given!)).text).toBe(
    `The id ${given} belongs to another change: top-up, 700 XOF. Give this change another id.`,
  );
  expect(await balanceOf(id)).toBe(700);
});

test("a command whose server ends before it replies does not know what was recorded, and can be repeated", async () => {
  const id = await anotherMerchant();
  const { adjustBalance } = server.storage;
  server.storage.adjustBalance = async (...args) => {
    await adjustBalance(...args);
    terminal.cut();
    return new Promise(() => undefined);
  };
  const args = ["balances", "top-up", id, "700", "XOF", "--reason", "Transfer 18"];
  const { code, text } = await run(...args);
  server.storage.adjustBalance = adjustBalance;
  await terminal.reconnect();
  expect([code, text]).toEqual([1, expect.stringContaining("It is not known whether this was recorded")]);
  expect((await run(...args, "--id", / --id (\S+): /.exec(text)![1]!)).text).toMatch(/available: XOF.7\.00/);
  expect(await balanceOf(id)).toBe(700);
});
