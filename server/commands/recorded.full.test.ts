// What commands say if the storage of the running server fails after they have recorded something.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWithTerminal } from "../testing/commands.ts";
import { failingStorage, type FailingStorage, type Failure } from "../testing/failing-storage.ts";
import { runCommand } from "../testing/process.ts";
import type { TestServer } from "../testing/server.ts";

let server: TestServer;
let failing: FailingStorage;
let terminal: Awaited<ReturnType<typeof startWithTerminal>>;
beforeAll(async () => {
  terminal = await startWithTerminal({ wrap: (storage) => (failing = failingStorage(storage)).storage });
  ({ server } = terminal);
});
afterAll(() => terminal.close());

async function run(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(terminal.env, ...args);
  return { code, text: (stdout + stderr).trimEnd() };
}
const anotherMerchant = async () => (await server.addMerchant("Kofi Goods")).merchant.id;

const RECORDED = /Recorded before this error: .* See `.+ keys audit` before you repeat it\.$/;
test.each<[writes: number, failure: Failure, code: number, said: RegExp]>([
  [0, "is unavailable", 2, /^The server's database.* Nothing was recorded\.$/],
  [1, "is unavailable", 1, RECORDED],
  [1, "returns nothing", 1, RECORDED],
])(
  "after %i writes the storage %s: a command exits with %i and says the truth",
  async (writes, failure, code, said) => {
    const id = await anotherMerchant();
    const change = { id: "a-change", amount: 1, currency: "XOF", reason: "a transfer" };
    await server.storage.adjustBalance(id, change, "dashboard Grace", true);
    const restore = failing.failAfter(writes, failure);
    const ended = await run("balances", "approve", id, change.id);
    restore();
    expect(ended).toEqual({ code, text: expect.stringMatching(said) });
  },
);

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
