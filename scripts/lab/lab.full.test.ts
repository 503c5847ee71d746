// Short forms of most experiments of `npm run lab`.
import { expect, test, vi } from "vitest";
import { runAgents } from "./agents.ts";
import { runFailover } from "./failover.ts";
import { runCluster } from "./faults.ts";
import { runFlushes } from "./flushes.ts";
import { runFunds } from "./funds.ts";
import { runPayouts } from "./payouts.ts";
import { runPayroll } from "./payroll.ts";
import { runRails } from "./rails.ts";
import { Missing } from "./world.ts";

// Each test starts several processes while other tests keep the processors busy, so the deadline is longer too.
vi.setConfig({ testTimeout: 180_000 });
const shared = { seed: 1, deadlineMs: 30_000, print: () => undefined };

test.each([
  ["a server on SQLite accepts", { storage: "sqlite", payouts: 2_000 }],
  ["four processes on PostgreSQL accept", { storage: "postgres", payouts: 400 }],
] as const)("%s half of the payouts where a balance or a limit permits half, also while killed", async (_, race) => {
  expect(await runFunds({ ...shared, ...race })).toEqual([]);
});

test("processes that are killed, on a database that is disturbed, lose and double nothing", async () => {
  expect(await runCluster({ ...shared, rounds: 1, recovery: 60 })).toEqual([]);
});

test.each(["postgres", "sqlite"] as const)(
  "a gateway on %s and its rail, both killed behind a network that loses and repeats, pay once",
  async (storage) => {
    const network = { share: 0.35, delayMs: 1_000 };
    expect(await runRails({ ...shared, ...network, storage, payouts: 30, loadMs: 1_500 })).toEqual([]);
  },
);

test("the client pays once and reports the truth over a network that loses and replaces messages", async () => {
  expect(await runPayouts({ ...shared, payouts: 300, seed: 7, width: 60, timeoutMs: 3_000 })).toEqual([]);
});

test("a payroll that is killed several times pays each entry once", async () => {
  expect(await runPayroll({ ...shared, payouts: 300, kills: 4, rate: 100_000 })).toEqual([]);
});

test("sessions of agents whose tools are killed pay no plan twice and nothing above the limit", async () => {
  const size = { calls: 240, sessions: 8, processes: 2, recipients: 16, kills: 2 };
  expect(await runAgents({ ...shared, ...size })).toEqual([]);
});

test("a standby that is promoted has every acknowledged payment", async () => {
  expect(await runFailover({ ...shared, loadMs: 1_000, frozenMs: 1_000, backMs: 30_000 })).toEqual([]);
});

test("SQLite's commits are flushed to the disk before their responses", async ({ skip }) => {
  const violations = await runFlushes({ ...shared, creates: 200 }).catch((error: unknown) => {
    if (error instanceof Missing) skip(error.message);
    throw error;
  });
  expect(violations).toEqual([]);
});
