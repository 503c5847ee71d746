import { expect, test } from "vitest";
import { runPayroll } from "./payroll.ts";

test("a payroll that is killed several times pays each entry exactly once", { timeout: 120_000 }, async () => {
  const [payouts, kills, concurrency] = [300, 4, 16];
  const report = await runPayroll({ payouts, kills, concurrency, rate: 100_000, seed: 3 });
  expect(report).toMatchObject({ kills, recorded: payouts, wrong: [] });
  expect(Object.keys(report.printed).filter((line) => line.startsWith("failed"))).toEqual([]);
  // A killed process leaves at most the payouts in progress in doubt. Each of them needs two more requests.
  expect(report.requestsPerPayout).toBeLessThanOrEqual(1 + (2 * kills * concurrency) / payouts);
});
