import { expect, test } from "vitest";
import { attemptsByHour, payoutsByHour, simulate, type Costs, type Load } from "./capacity/model.ts";

const LOAD: Load = {
  payoutsPerDay: 86_400,
  verifiesPerPayout: 2,
  webhooksPerPayout: 1,
  failing: 0,
  peak: 1,
  retentionDays: 30,
  receiverMs: 500,
};
const COSTS: Costs = {
  create: { serverUs: 300_000, databaseUs: 60_000, walBytes: 1e6, storedBytes: 100, commits: 1 },
  verify: { serverUs: 100_000, databaseUs: 30_000, walBytes: 0, storedBytes: 0, commits: 0 },
  webhook: { serverUs: 400_000, databaseUs: 480_000, walBytes: 2e6, storedBytes: 1_000, commits: 2 },
};
const sum = (values: number[]) => values.reduce((a, b) => a + b);

test("one payout per second needs what its steps cost", () => {
  const needs = simulate(LOAD, COSTS);
  expect(needs["requests per second"]).toBeCloseTo(3);
  expect(needs["webhook attempts per second"]).toBeCloseTo(1);
  expect(needs["webhook connections"]).toBeCloseTo(0.5);
  // 300 + 2 × 100 + 400 ms of every second, at 60 % of a core.
  expect(needs["server cores (a process each)"]).toBe(2);
  expect(needs["database connections"]).toBe(20);
  expect(needs["database cores"]).toBe(1);
  expect(needs["commits per second"]).toBeCloseTo(3);
  expect(needs["WAL, MB per second"]).toBeCloseTo(3);
  expect(needs["GB per day"]).toBeCloseTo((86_400 * 1_100) / 1e9);
  expect(needs["TB after a year"]).toBeCloseTo((86_400 * (365 * 100 + 30 * 1_000)) / 1e12);
});

test.each([1, 2, 3, 6])("the busiest hour is %i times the average, and the day keeps its payouts", (peak) => {
  const hours = payoutsByHour({ payoutsPerDay: 24_000, peak });
  expect(sum(hours)).toBeCloseTo(24_000);
  expect(Math.max(...hours)).toBeCloseTo(1_000 * peak, 0);
  expect(Math.min(...hours)).toBeGreaterThanOrEqual(0);
});

test("a webhook that always fails is attempted ten times, spread over the following days", () => {
  const load = { ...LOAD, failing: 0.5, peak: 4 };
  expect(sum(attemptsByHour(load))).toBeCloseTo(86_400 * (1 + 0.5 * 9));
  // The third retry and later retries fall into other hours.
  expect(Math.max(...attemptsByHour(load))).toBeLessThan(4 * 3_600 * (1 + 0.5 * 9));
});
