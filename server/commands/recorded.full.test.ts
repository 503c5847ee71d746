// What commands say if the storage of the running server fails after they have recorded something.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { READS } from "../storage/socket/protocol.ts";
import { startWithTerminal } from "../testing/commands.ts";
import { failingStorage, type FailingStorage } from "../testing/failing-storage.ts";
import { runCommand } from "../testing/process.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import type { TestServer } from "../testing/server.ts";
import { GROUPS } from "./table.ts";

/** The commands that only read. */
const READING = {
  keys: ["merchants", "list", "approvals", "events", "deliveries", "replays", "audit", "sessions"],
  balances: ["list", "statement", "proposals"],
  rails: ["list", "attention", "show"],
};
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
const anotherMerchant = async () => (await server.addMerchant("Kofi Goods")).merchant.id;
const aKey = async (merchant: string) => (await server.storage.listKeysOf(merchant))[0]!.id;
/** A payout that waits for approval. */
async function waiting(merchant: string, changes = {}): Promise<string> {
  await server.storage.setMerchantLimits(merchant, { approvalFrom: { XOF: 1 } }, "server app@host");
  return (await server.createPayout(changes)).body.data.reference as string;
}
/** A payout that waits for its rail. */
async function pending(merchant: string): Promise<string> {
  await server.storage.setMerchantLimits(merchant, undefined, "server app@host");
  return (await server.createPayout()).body.data.reference as string;
}
async function aDelivery(merchant: string): Promise<string> {
  const webhookURL = "https://merchant.example/";
  const reference = await waiting(merchant, { webhookURL });
  await server.storage.decideApproval(merchant, reference, "dashboard Grace", "a test");
  return (await server.storage.listDeliveries({ merchantId: merchant, reference, limit: 1 })).items[0]!.id;
}
let ids = 0;
const anotherId = () => `an-id-${(ids += 1)}`;
async function aProposal(merchant: string): Promise<string> {
  const id = anotherId();
  const change = { id, amount: 500, currency: "XOF", reason: "a transfer" };
  await server.storage.proposeAdjustment(merchant, change, "dashboard Grace");
  return id;
}

/** The arguments of every command that writes. */
const WRITING: Record<string, Record<string, (merchant: string) => string[] | Promise<string[]>>> = {
  keys: {
    "create-merchant": () => ["Ama Foods"],
    "rename-merchant": (id) => [id, "Renamed"],
    "suspend-merchant": async () => [await anotherMerchant()],
    "reopen-merchant": async () => [await anotherMerchant()],
    "limit-merchant": async () => [await anotherMerchant(), "--countries", "CI"],
    "merchant-terms": (id) => [id, "--rate-limit", "500"],
    "close-merchant": async () => [await anotherMerchant(), "--yes"],
    create: (id) => [id, "--name", "Another"],
    limit: async () => [await aKey(await anotherMerchant()), "--countries", "CI"],
    revoke: async () => [await aKey(await anotherMerchant())],
    approve: async (id) => [id, await waiting(id)],
    reject: async (id) => [id, await waiting(id), ...REASON],
    secret: (id) => [id],
    "rotate-secret": (id) => [id],
    "default-webhook": async () => [await anotherMerchant(), "https://other.example/hooks"],
    replay: async (id) => [id, await aDelivery(id)],
    "stop-replay": async (id) => {
      const replay = { id: anotherId(), merchantId: id, filter: { status: "pending" as const }, pace: 1 };
      for (const { id: earlier } of await server.storage.listReplays(id, 1))
        await server.storage.stopReplay(id, earlier, "server app@host");
      await server.storage.startReplay(replay, "server app@host");
      return [id, replay.id];
    },
    "dashboard-link": (id) => [id],
    "end-sessions": async (id) => {
      await run("keys", "dashboard-link", id, "--name", "Esi");
      return [id, "--name", "Esi"];
    },
  },
  balances: {
    "top-up": (id) => [id, "500", "XOF", ...REASON],
    withdraw: async (id) => {
      const change = { id: "enough-money", amount: 1e9, currency: "XOF", reason: "a transfer" };
      await server.storage.adjustBalance(id, change, "server app@host");
      return [id, "1", "XOF", ...REASON];
    },
    approve: async (id) => [id, await aProposal(id)],
    reject: async (id) => [id, await aProposal(id)],
    correct: () => REASON,
  },
  rails: {
    pause: async () => {
      await server.storage.resumeRail("test", "server app@host");
      return ["test", ...REASON];
    },
    resume: async () => {
      await server.storage.pauseRail("test", "a test", "server app@host");
      return ["test"];
    },
    ask: async (id) => [await pending(id)],
    decide: async (id) => [await pending(id), "--outcome", "failed", ...REASON],
    close: async (id) => [await pending(id), ...REASON],
  },
};

test("every command writes or only reads", () => {
  for (const [group, { commands }] of Object.entries(GROUPS).filter(([name]) => name !== "db")) {
    const known = [...Object.keys(WRITING[group]!), ...READING[group as keyof typeof READING]];
    expect(Object.keys(commands).toSorted()).toEqual(known.toSorted());
  }
});

const writing = Object.entries(WRITING).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, argsOf]) => [group, name, argsOf] as const),
);

test.each(writing)("%s %s says the truth, whatever fails after a write", async (group, name, argsOf) => {
  // Before any write.
  let restore = failing.failAfter(0);
  const before = await run(group, name, ...(await asIs(() => argsOf(server.merchant.id))));
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
    expect(text.includes("add --id")).toBe(name === "top-up" || name === "withdraw");
  }

  async function asIs<T>(work: () => T | Promise<T>): Promise<T> {
    restore();
    const result = await work();
    restore = failing.failAfter(0);
    return result;
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
  const [, reference, given] = /balance\.top-up merchant \S+ reference (\S+) currency XOF.* --id (\S+): /.exec(text)!;
  expect(given).toBe(reference);
  expect((await topUp("--id", given!)).text).toMatch(/available XOF.7\.00/);
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
  expect((await run(...args, "--id", / --id (\S+): /.exec(text)![1]!)).text).toMatch(/available XOF.7\.00/);
  expect(await balanceOf(id)).toBe(700);
});

test("the names of operations say which of them only read", async () => {
  const names = Object.keys(server.storage);
  expect(names.filter((name) => READS.test(name) && /^(insert|set|record|sign|take|use)/.test(name))).toEqual([]);
});
