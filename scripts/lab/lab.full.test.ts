// Short forms of most experiments of `npm run lab`.
import { expect, test, vi } from "vitest";
import { runAgents } from "./agents.ts";
import { runFailover } from "./failover.ts";
import { runCluster, runRandom } from "./faults.ts";
import { runFlushes } from "./flushes.ts";
import { runFunds } from "./funds.ts";
import { runPayouts } from "./payouts.ts";
import { runPayroll } from "./payroll.ts";
import { runRails } from "./rails.ts";
import { Missing } from "./world.ts";

// Each test starts several processes while other tests keep the processors busy, so the deadline is longer too.
vi.setConfig({ testTimeout: 180_000 });
const shared = { seed: 1, deadlineMs: 30_000, print: () => undefined };
const failover = { loadMs: 1_000, frozenMs: 1_000, backMs: 30_000 };
const rails = { share: 0.35, delayMs: 1_000, payouts: 30, loadMs: 1_500 };
const agents = { calls: 240, sessions: 8, processes: 2, recipients: 16, kills: 2 };

test.for<[promise: string, run: () => Promise<string[]>]>([
  [
    "a server on SQLite accepts half of the payouts where a balance or a limit permits half, also while killed",
    () => runFunds({ ...shared, storage: "sqlite", payouts: 2_000 }),
  ],
  ["so do four processes on PostgreSQL", () => runFunds({ ...shared, storage: "postgres", payouts: 400 })],
  [
    "a server with random faults of its process, its files, its callers and receivers loses and doubles nothing",
    () => runRandom({ ...shared, minutes: 0.5, recovery: 60 }),
  ],
  [
    "processes that are killed, on a database that is disturbed, lose and double nothing",
    () => runCluster({ ...shared, rounds: 1, recovery: 60 }),
  ],
  [
    "a gateway on PostgreSQL and its rail, both killed behind a network that loses and repeats, pay once",
    () => runRails({ ...shared, ...rails, storage: "postgres" }),
  ],
  ["so does a gateway on SQLite", () => runRails({ ...shared, ...rails, storage: "sqlite" })],
  [
    "the client pays once and reports the truth over a network that loses and replaces messages",
    () => runPayouts({ ...shared, payouts: 300, seed: 7, width: 60, timeoutMs: 3_000 }),
  ],
  [
    "a payroll that is killed several times pays each entry once",
    () => runPayroll({ ...shared, payouts: 300, kills: 4, rate: 100_000 }),
  ],
  [
    "sessions of agents whose tools are killed pay no plan twice and nothing above the limit",
    () => runAgents({ ...shared, ...agents }),
  ],
  ["a standby that is promoted has every acknowledged payment", () => runFailover({ ...shared, ...failover })],
  ["SQLite's commits are flushed before their responses", () => runFlushes({ ...shared, creates: 200 })],
])("%s", async ([, run], { skip }) => {
  const violations = await run().catch((error: unknown) => {
    if (error instanceof Missing) skip(error.message);
    throw error;
  });
  expect(violations).toEqual([]);
});
