import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import { clockTests, resetTests } from "./clock.ts";
import { deliveryTests } from "./deliveries.ts";
import { durabilityTests, type ReopenOptions } from "./durability.ts";
import { figureTests } from "./figures.ts";
import { ADA, addMerchant, createCurrent, KOFI, type Current, type Report } from "./fixtures.ts";
import { handoverTests } from "./handovers.ts";
import { erasureTests, pruneTests } from "./housekeeping.ts";
import { ledgerTests } from "./ledger.ts";
import { approvalTests, limitTests } from "./limits.ts";
import { listTests, searchTests } from "./lists.ts";
import { auditTests, backlogTests, reportTests, requestTests } from "./logs.ts";
import { merchantTests, signInTests } from "./merchants.ts";
import { paymentTests } from "./payments.ts";
import { replayByFilterTests } from "./replays.ts";

/** A storage under test. */
export interface OpenedStorage {
  storage: Storage;
  /** Closes the storage and deletes its data. */
  close(): Promise<void>;
}

const PARTS = {
  "merchants and keys": merchantTests,
  payments: paymentTests,
  "merchants' clocks": clockTests,
  reset: resetTests,
  deliveries: deliveryTests,
  "hand-overs to rails": handoverTests,
  balances: ledgerTests,
  limits: limitTests,
  approvals: approvalTests,
  "replays by filter": replayByFilterTests,
  lists: listTests,
  "search for deliveries": searchTests,
  "old events": pruneTests,
  "old phone numbers": erasureTests,
  "audit trail": auditTests,
  backlog: backlogTests,
  "sign-in": signInTests,
  "log of requests": requestTests,
  reports: reportTests,
  figures: figureTests,
} satisfies Record<string, (current: Current) => void>;
type Part = keyof typeof PARTS;

/**
 * The tests that every storage adapter must pass.
 * @param open opens an empty storage with this clock, which reports to `emit`; called before each test
 * @param without the parts of the suite that are left out
 */
export function storageSuite(
  name: string,
  open: (how: { clock: FakeClock; emit: Emit }) => Promise<OpenedStorage>,
  without: readonly Part[] = [],
): void {
  describe(`storage: ${name}`, () => {
    let opened: OpenedStorage;
    let clock: FakeClock;
    let reported: Report[];
    beforeEach(async () => {
      clock = createFakeClock();
      reported = [];
      opened = await open({ clock, emit: (kind, event) => reported.push({ name: kind, ...event }) });
      for (const id of [ADA, KOFI]) await addMerchant(opened.storage, { id });
      reported.length = 0;
    });
    afterEach(() => opened.close());

    const current = createCurrent(() => ({ storage: opened.storage, clock, reported }));
    const parts = Object.entries(PARTS).filter(([part]) => !without.includes(part as Part));
    describe.each(parts)("%s", (_part, tests) => {
      tests(current);
    });
  });
}

/**
 * Further tests for adapters that keep data after their process ends.
 * @param open opens a storage with the data of earlier calls in the same test
 */
export function durableStorageSuite(
  name: string,
  open: (clock: FakeClock, options: ReopenOptions) => Promise<Storage>,
): void {
  describe(`storage: ${name}, reopened`, () => {
    durabilityTests(open);
  });
}

interface Allowed {
  sql: RegExp;
  why: string;
  /** Absent if the statement is slow in both databases. */
  in?: "sqlite" | "postgres";
}

/** Statements that may scan a table or sort. */
const ALLOWED: readonly Allowed[] = [
  { sql: /^SELECT (id AS )?merchant_id, (webhook_secret AS )?secret FROM /, why: "runs once, at a start" },
  { sql: /^SELECT \* FROM adjustments ORDER BY /, why: "few proposals, on a page of operators" },
  { sql: /^SELECT \* FROM rail_pauses ORDER BY rail$/, why: "few rails, once per second" },
  { sql: /^SELECT \* FROM (merchants|api_keys) ORDER BY created_at, id$/, why: "the keys command lists all" },
  { sql: /^SELECT \* FROM accounts WHERE \(entries > 0 OR enforced\) $/, why: "the command balances lists all" },
  { sql: /^SELECT d\.\* FROM disbursements d WHERE d\.approval IS NOT NULL/, why: "few payouts wait for approval" },
  { sql: /^SELECT id FROM merchants WHERE resetting = (1|true) LIMIT 1$/, why: "an index of unfinished resets" },
  { sql: /^SELECT \* FROM \(SELECT r\.\* FROM merchants m CROSS JOIN /, why: "an operator searches all merchants" },
  {
    sql: /^SELECT id AS merchant_id, .+ FROM merchants m .*\) AS found WHERE /,
    why: "one row of each merchant, for the overview",
  },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE expires_real <= /, why: "few rows, when a link is made" },
  { sql: /^SELECT \* FROM dashboard_(links|sessions) WHERE expires_real > .+ LIMIT/, why: "few, of all merchants" },
  { sql: /^DELETE FROM dashboard_(links|sessions) WHERE .+invited_by/, why: "few rows, when access is ended" },

  { in: "sqlite", sql: /^SELECT rail, sum\(waiting\)/, why: "open payments, for metrics" },
  { in: "sqlite", sql: /^SELECT 1 FROM sqlite_schema$/, why: "runs once, at a start" },
  {
    in: "sqlite",
    sql: /^SELECT status, currency, count\(\*\) AS payments, /,
    why: "groups payments of a part of a day",
  },
  {
    in: "sqlite",
    sql: /^SELECT (host|failure), count\(\*\) AS .+ FROM \(.+ LIMIT (200|1000)\) AS found /,
    why: "groups a limited number of rows",
  },

  {
    in: "postgres",
    sql: /FROM handovers WHERE attention_real IS NOT NULL .*LIMIT (10000|\$2)\b/,
    why: "an index of few rows, up to a limit",
  },
  { in: "postgres", sql: /^WITH stored AS .+ INSERT INTO entries/, why: "sorts the entries of one batch" },
  { in: "postgres", sql: /^SELECT m\.\*, p\.secret, /, why: "a merchant has few secrets" },
  { in: "postgres", sql: /^UPDATE replays SET state = 'stopped'/, why: "at most one runs per merchant" },
  {
    sql: /^(UPDATE (handovers|erasures|replays)|DELETE FROM (dashboard_|request_rates)).+ > \(SELECT [$?]1/,
    why: "runs once, after a clock that was ahead was corrected",
  },
];

/** Expects that no other statement is slow, and that each of these statements is. @param slow without line breaks */
export function expectOnlyAllowed(database: "sqlite" | "postgres", slow: readonly string[]): void {
  const allowed = ALLOWED.filter((each) => each.in === undefined || each.in === database);
  expect(slow.filter((sql) => !allowed.some((each) => each.sql.test(sql)))).toEqual([]);
  expect(allowed.filter((each) => !slow.some((sql) => each.sql.test(sql)))).toEqual([]);
}
