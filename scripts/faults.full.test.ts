// Short forms of most runs of `npm run faults`, which has the long forms, and the other runs.
import { expect, test, vi } from "vitest";
import { runCluster } from "./faults/cluster.ts";
import { runFailover } from "./faults/failover.ts";
import { runFlushes } from "./faults/flushes.ts";
import { runFunds } from "./faults/funds.ts";
import { runRails } from "./faults/rails.ts";
import { Missing } from "./faults/world.ts";

// Each test starts several processes while other tests keep the processors busy.
vi.setConfig({ testTimeout: 180_000 });
/** For the same reason the deadline is longer than in `npm run faults`. */
const shared = { seed: 1, deadlineMs: 30_000, print: () => undefined };

test.each([
  ["a server on SQLite accepts", { storage: "sqlite", payouts: 2_000 }],
  ["four processes on PostgreSQL accept", { storage: "postgres", payouts: 400 }],
] as const)("%s half of the payouts where a balance or a limit permits half, also while killed", async (_, race) => {
  expect(await runFunds({ ...shared, ...race })).toEqual([]);
});

test("processes that are killed, on a database that crashes, lose and double nothing", async () => {
  expect(await runCluster({ ...shared, milliseconds: 3_000, outages: ["crash"] })).toEqual([]);
});

test.each(["postgres", "sqlite"] as const)(
  "a gateway on %s and its rail, both killed behind a network that loses and repeats, pay once",
  async (storage) => {
    expect(await runRails({ ...shared, storage, payouts: 30, hangMs: 500, loadMs: 1_500 })).toEqual([]);
  },
);

/** Skips the test if this machine lacks something that the test needs. */
const orSkip = (skip: (why: string) => never) => (error: unknown) => {
  if (error instanceof Missing) skip(error.message);
  throw error;
};

test("a standby that is promoted has every acknowledged payment", async ({ skip }) => {
  const times = { loadMs: 1_000, frozenMs: 1_000, backMs: 30_000 };
  expect(await runFailover({ ...shared, ...times }).catch(orSkip(skip))).toEqual([]);
});

test("SQLite's commits are flushed to the disk before their responses", async ({ skip }) => {
  expect(await runFlushes({ ...shared, creates: 200 }).catch(orSkip(skip))).toEqual([]);
});
