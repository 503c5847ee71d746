import { afterEach, beforeEach, describe } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import type { Emit } from "../../domain/telemetry.ts";
import { createFakeClock, type FakeClock } from "../clock.ts";
import { clockTests } from "./clock.ts";
import { createCurrent, type Current, type Report } from "./current.ts";
import { deliveryTests } from "./deliveries.ts";
import { durabilityTests, type ReopenOptions } from "./durability.ts";
import { figureTests } from "./figures.ts";
import { handoverTests } from "./handovers.ts";
import { erasureTests, pruneTests } from "./housekeeping.ts";
import { ledgerTests } from "./ledger.ts";
import { approvalTests, limitTests } from "./limits.ts";
import { listTests, searchTests } from "./lists.ts";
import { auditTests, backlogTests, reportTests, requestTests } from "./logs.ts";
import { merchantTests, signInTests } from "./merchants.ts";
import { paymentTests } from "./payments.ts";
import { replayByFilterTests } from "./replays.ts";
import { resetTests } from "./reset.ts";

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
