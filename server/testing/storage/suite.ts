import { afterEach, beforeEach, describe, expect } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import { deliveryTests, replayByFilterTests } from "./deliveries.ts";
import { ADA, addMerchant, createCurrent, KOFI, type Current, type Report } from "./fixtures.ts";
import { handoverTests } from "./handovers.ts";
import { ledgerTests } from "./ledger.ts";
import { approvalTests, limitTests } from "./limits.ts";
import { listTests } from "./lists.ts";
import { auditTests, backlogTests, figureTests, reportTests, requestTests } from "./logs.ts";
import { merchantTests, signInTests } from "./merchants.ts";
import { paymentTests } from "./payments.ts";
import { clockTests, erasureTests, pruneTests, resetTests } from "./time.ts";

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
  "a list": listTests,
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

type Allowed = readonly [sql: RegExp, why: string];
/** Statements that may scan a table or sort: in both databases, or in one. */
const ALLOWED: Record<"both" | "sqlite" | "postgres", readonly Allowed[]> = {
  both: [
    [/^SELECT id, webhook_secrets, .+ FROM merchants$/, "runs once, at a start"],
    [/^SELECT \* FROM adjustments ORDER BY /, "few proposals, on a page of operators"],
    [/^SELECT \* FROM rail_pauses ORDER BY rail$/, "few rails, once per second"],
    [/^SELECT \* FROM (merchants|api_keys) ORDER BY created_at, id$/, "the keys command lists all"],
    [/^SELECT count\(\*\) AS count, min\(created_at\) .+ FROM merchants/, "a sandbox creates a merchant for tests"],
    [/^SELECT \* FROM accounts WHERE \(entries > 0 OR enforced\) ORDER BY/, "the command balances lists all"],
    [/^SELECT d\.\* FROM disbursements d WHERE d\.approval IS NOT NULL/, "few payouts wait for approval"],
    [/^SELECT id FROM merchants WHERE resetting = (1|true) LIMIT 1$/, "an index of unfinished resets"],
    [/^SELECT \* FROM \(SELECT r\.\* FROM merchants m CROSS JOIN /, "an operator searches all merchants"],
    [
      /^SELECT id AS merchant_id, .+ FROM merchants m .*\) AS found WHERE /,
      "one row of each merchant, for the overview",
    ],
    [/^DELETE FROM dashboard_access WHERE expires_real <= /, "few rows, when a link is made"],
    [/^DELETE FROM dashboard_access WHERE .+access_chain/, "few rows, when access is ended"],
    [
      /^(UPDATE (handovers|erasures)|DELETE FROM (dashboard_|request_rates)).+ > \(SELECT [$?]1/,
      "runs once, after a clock that was ahead was corrected",
    ],
  ],
  sqlite: [
    [/^SELECT 1 FROM sqlite_schema$/, "the schema, once, at a start"],
    [/^SELECT rail, sum\(waiting\)/, "open payments, for metrics"],
    [/^SELECT status, currency, count\(\*\) AS payments, /, "groups payments of a part of a day"],
    [
      /^SELECT (host|failure), count\(\*\) AS .+ FROM \(.+ LIMIT (200|1000)\) AS found /,
      "groups a limited number of rows",
    ],
  ],
  postgres: [
    [/FROM handovers WHERE attention_real IS NOT NULL .*LIMIT (10000|\$2)\b/, "an index of few rows, up to a limit"],
  ],
};

/** Expects that no other statement is slow, and that each of these statements is. @param slow without line breaks */
export function expectOnlyAllowed(database: "sqlite" | "postgres", slow: readonly string[]): void {
  const allowed = [...ALLOWED.both, ...ALLOWED[database]];
  expect(slow.filter((sql) => !allowed.some(([each]) => each.test(sql)))).toEqual([]);
  expect(allowed.filter(([each]) => !slow.some((sql) => each.test(sql)))).toEqual([]);
}
