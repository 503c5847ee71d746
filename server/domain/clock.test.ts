import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock, type Clock, type ClockReport } from "./clock.ts";

const START = Date.UTC(2026, 10, 20, 9, 30);
const SECOND = 1_000;
const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
/** By how much a clock is wrong. */
const WRONG = [20 * SECOND, HOUR, YEAR].flatMap((ms) => [ms, -ms]);

/** The true time, and how far each clock is ahead of it. */
let time: number;
let wallAhead: number;
let databaseAhead: number;
let reports: ClockReport[];
let clock: Clock;
beforeEach(() => {
  [time, wallAhead, databaseAhead, reports] = [START, 0, 0, []];
  clock = create();
});

function create(): Clock {
  const source = { wall: () => time + wallAhead, monotonic: () => time - START + 5_000.25 };
  return createSystemClock((report) => void reports.push(report), source);
}

/** Lets time pass, in steps in which a server reads its clock. */
function pass(milliseconds: number): void {
  for (let left = milliseconds; left > 0; left -= 500) {
    time += Math.min(left, 500);
    clock.now();
  }
}

/** Lets time pass, with a comparison each second. @param others how far the times of other processes are ahead */
function compare(seconds = 1, others = 0): void {
  for (let second = 0; second < seconds; second += 1) {
    pass(SECOND);
    clock.compare(time + databaseAhead, time + others);
  }
}

/** Sets the wall clock, and waits until it is followed. */
function moveWall(ahead: number): void {
  wallAhead = ahead;
  pass(11 * SECOND);
}

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

  test.each(WRONG)("a jump by %i ms that lasts 3 s changes nothing, and is reported at once", (jump) => {
    clock.now();
    wallAhead = jump;
    expect(error()).toBe(0);
    expect(reports).toEqual([{ clock: "process", aheadMs: jump }]);
    pass(3 * SECOND);
    expect(error()).toBe(0);
    wallAhead = 0;
    pass(HOUR);
    expect(error()).toBe(0);
    expect(reports.slice(1)).toEqual([{ clock: "process", aheadMs: 0 }]);
  });

  test.each(WRONG)("a jump by %i ms is followed once it has lasted 10 s, and so is the way back", (jump) => {
    wallAhead = jump;
    pass(9 * SECOND);
    expect(error()).toBe(0);
    pass(2 * SECOND);
    expect(error()).toBe(jump);
    expect(reports.at(-1)).toEqual({ clock: "process", aheadMs: 0, steppedMs: jump });
    wallAhead = 0;
    pass(11 * SECOND);
    expect(error()).toBe(0);
    expect(reports.at(-1)).toEqual({ clock: "process", aheadMs: 0, steppedMs: -jump });
  });
});

describe("with the clock of a database", () => {
  test("follows the database's clock while both are close", () => {
    databaseAhead = 300;
    compare();
    expect(error()).toBe(300);
    expect(reports).toEqual([]);
  });

  test.each(WRONG)("a process's clock that is wrong by %i ms is reported and not followed", (jump) => {
    compare();
    wallAhead = jump;
    expect(error()).toBe(0);
    compare(3_600);
    expect(error()).toBe(0);
    wallAhead = 0;
    compare();
    expect(error()).toBe(0);
    expect(reports).toEqual([
      { clock: "process", aheadMs: jump },
      { clock: "process", aheadMs: 0 },
    ]);
  });

  test.each(WRONG)("a database's clock that is wrong by %i ms, as after a failover, is not followed", (jump) => {
    compare();
    databaseAhead = jump;
    compare(3_600);
    expect(error()).toBe(0);
    databaseAhead = 0;
    compare();
    expect(error()).toBe(0);
    expect(reports).toEqual([
      { clock: "database", aheadMs: jump },
      { clock: "database", aheadMs: 0 },
    ]);
  });

  test.each(WRONG)("a jump of both by %i ms is followed once it has lasted", (jump) => {
    compare();
    [wallAhead, databaseAhead] = [jump, jump];
    compare(5);
    expect(error()).toBe(0);
    compare(7);
    expect(error()).toBe(jump);
    expect(reports.at(-1)).toMatchObject({ steppedMs: jump });
    [wallAhead, databaseAhead] = [0, 0];
    compare(12);
    expect(error()).toBe(0);
  });

  test("after a suspension, time continues at once where other processes are", () => {
    compare();
    // The monotonic counter stood still, so every other clock is ahead.
    [wallAhead, databaseAhead] = [HOUR, HOUR];
    compare(1, HOUR);
    expect(error()).toBe(HOUR);
  });

  test.each(WRONG)("at the start, a process's clock that is wrong by %i ms is not used", (wrong) => {
    wallAhead = wrong;
    clock = create();
    clock.compare(time, time - SECOND);
    expect(error()).toBe(0);
    expect(reports).toEqual([{ clock: "process", aheadMs: wrong }]);
  });

  test.each(WRONG)("at the start, a database's clock that is wrong by %i ms is not used", (wrong) => {
    databaseAhead = wrong;
    clock.compare(time + wrong, time - SECOND);
    expect(error()).toBe(0);
    expect(reports).toEqual([{ clock: "database", aheadMs: wrong }]);
  });

  test("a recorded time far ahead does not matter if the clocks agree", () => {
    clock.compare(time, time + YEAR);
    expect(error()).toBe(0);
  });
});

describe("durations", () => {
  test("the monotonic counter ignores the wall clock", () => {
    const before = clock.monotonic();
    wallAhead = YEAR;
    expect(clock.monotonic()).toBe(before);
  });

  test("the counter for leases also counts what may be a suspension, and never goes back", () => {
    const before = clock.counter();
    wallAhead = HOUR;
    expect(clock.counter() - before).toBe(HOUR);
    wallAhead = -YEAR;
    time += 10;
    expect(clock.counter() - before).toBe(HOUR + 10);
  });
});

describe("dates", () => {
  test("stand still when time goes back by up to an hour, until time has passed them", () => {
    moveWall(HOUR / 2);
    const date = clock.dated();
    moveWall(0);
    expect(error()).toBe(0);
    expect(clock.dated()).toBe(date);
    pass(HOUR / 2);
    expect(clock.dated()).toBe(time);
  });

  test("go back too when it is by more", () => {
    moveWall(YEAR);
    expect(clock.dated()).toBe(time + YEAR);
    moveWall(0);
    expect(clock.dated()).toBe(time);
  });

  test("begin where the storage ended, unless that is more than an hour ahead", () => {
    clock.datedUntil(START + YEAR);
    expect(clock.dated()).toBe(START);
    clock.datedUntil(START + HOUR);
    expect(clock.dated()).toBe(START + HOUR);
    clock.datedUntil(START);
    expect(clock.dated()).toBe(START + HOUR);
    expect(clock.now()).toBe(START);
  });
});
