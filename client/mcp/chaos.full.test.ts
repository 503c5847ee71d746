import { expect, test } from "vitest";
import { runChaos } from "./chaos.ts";

test("sessions of killed processes pay no plan twice and nothing above the limit", { timeout: 120_000 }, async () => {
  const report = await runChaos({ calls: 240, sessions: 8, processes: 2, recipients: 16, kills: 2, seed: 3 });
  expect(report).toMatchObject({ kills: 2, paidTwice: 0, unknown: 0, wrong: [] });
  expect(report.payouts).toBeGreaterThan(4);
  expect(report.sum).toBeLessThanOrEqual(report.limit);
});
