import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock, type Clock, type ClockReport } from "./clock.ts";

const START = Date.UTC(2026, 10, 20, 9, 30);
const SECOND = 1_000;
const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
/** By how much a clock is wrong. */
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);

/** The true time, and how far the wall clock is ahead of it. */
let time: number;
let wallAhead: number;
let suspended: number;
let reports: ClockReport[];
let clock: Clock;
beforeEach(() => {
  [time, wallAhead, suspended, reports] = [START, 0, 0, []];
  const source = { wall: () => time + wallAhead, monotonic: () => time - START - suspended + 5_000.25 };
  clock = createSystemClock((report) => void reports.push(report), source);
});

const error = () => clock.now() - time;

describe("with the wall clock alone", () => {
  test("returns the time of the wall clock in whole milliseconds", () => {
    expect(clock.now()).toBe(START);
    time += 10.75;
    expect(clock.now()).toBe(START + 10);
    expect(reports).toEqual([]);
  });

  test("follows small corrections at once forwards, and stands still for those backwards", () => {
    wallAhead = 2_000;
    expect(clock.now()).toBe(START + 2_000);
    wallAhead = 0;
    expect(clock.now()).toBe(START + 2_000);
    time += 1_999;
    expect(clock.now()).toBe(START + 2_000);
    time += 2;
    expect(clock.now()).toBe(START + 2_001);
    expect(reports).toEqual([]);
  });

  test.each(WRONG)("follows a jump by %i ms and the way back, and reports both; durations do not notice", (jump) => {
    clock.now();
    const before = clock.monotonic();
    for (const ahead of [jump, 0]) {
      wallAhead = ahead;
      expect(error()).toBe(ahead);
    }
    expect(reports).toEqual([jump, -jump].map((steppedMs) => ({ clock: "process", aheadMs: 0, steppedMs })));
    expect(clock.monotonic()).toBe(before);
  });
});

describe("with the clock of a database", () => {
  test("follows the database's clock while both are close", () => {
    clock.follow(time + 300);
    expect(error()).toBe(300);
    expect(reports).toEqual([]);
  });

  test.each(WRONG)("a process's clock that is wrong by %i ms is reported once and not followed", (jump) => {
    clock.follow(time);
    wallAhead = jump;
    for (let count = 0; count < 3; count += 1) {
      time += SECOND;
      clock.follow(time);
      expect(error()).toBe(0);
    }
    wallAhead = 0;
    clock.follow(time);
    expect(reports).toEqual([
      { clock: "process", aheadMs: jump },
      { clock: "process", aheadMs: 0 },
    ]);
  });

  test.each(WRONG)("a jump of the database's clock by %i ms is followed and reported", (jump) => {
    clock.follow(time);
    clock.follow(time + jump);
    expect(error()).toBe(jump);
    expect(reports[0]).toEqual({ clock: "database", aheadMs: 0, steppedMs: jump });
    clock.follow(time);
    expect(error()).toBe(0);
  });
});

test("the counter for leases counts a suspension, during which the monotonic counter stands still", () => {
  const before = clock.counter();
  time += HOUR;
  suspended = HOUR;
  expect(clock.counter() - before).toBe(HOUR);
  time += SECOND;
  expect(clock.counter() - before).toBe(HOUR + SECOND);
});
