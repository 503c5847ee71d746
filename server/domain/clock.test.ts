import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock, type Clock } from "./clock.ts";

const START = Date.UTC(2026, 10, 20, 9, 30);
const HOUR = 3_600_000;

/** The two sources of the clock under test. */
let wall: number;
let monotonic: number;
/** The arguments of all calls of onSetBack, in order. */
let reports: number[];
let clock: Clock;
beforeEach(() => {
  [wall, monotonic, reports] = [START, 5_000.25, []];
  const source = { wall: () => wall, monotonic: () => monotonic };
  clock = createSystemClock((aheadMs) => void reports.push(aheadMs), source);
});

/** Lets real time pass. */
function pass(milliseconds: number): void {
  wall += milliseconds;
  monotonic += milliseconds;
}

test("returns the time of the wall clock in whole milliseconds", () => {
  expect(clock.now()).toBe(START);
  pass(10.75);
  expect(clock.now()).toBe(START + 10);
  expect(reports).toEqual([]);
});

test("follows the wall clock when it is set forward", () => {
  wall += HOUR;
  expect(clock.now()).toBe(START + HOUR);
  pass(1_000);
  expect(clock.now()).toBe(START + HOUR + 1_000);
  expect(reports).toEqual([]);
});

describe("when the wall clock is set back", () => {
  test("continues at the normal pace from the time it had reached", () => {
    pass(2_000);
    wall -= HOUR;
    expect(clock.now()).toBe(START + 2_000);
    pass(3_000);
    expect(clock.now()).toBe(START + 5_000);
  });

  test("follows the wall clock again once that has overtaken it", () => {
    wall -= HOUR;
    pass(1_000);
    clock.now();
    wall += 2 * HOUR;
    expect(clock.now()).toBe(START + HOUR + 1_000);
  });

  test("reports each set-back once, with how far the clock is ahead in all", () => {
    wall -= HOUR;
    for (let call = 0; call < 3; call += 1) {
      clock.now();
      pass(10);
    }
    expect(reports).toEqual([HOUR]);
    wall -= HOUR;
    clock.now();
    clock.now();
    expect(reports).toEqual([HOUR, 2 * HOUR]);
  });

  test("reports a set-back after an earlier one was corrected", () => {
    for (let time = 0; time < 2; time += 1) {
      wall -= HOUR;
      clock.now();
      wall += HOUR;
      clock.now();
    }
    expect(reports).toEqual([HOUR, HOUR]);
  });

  test("does not report a correction of a second or less", () => {
    wall -= 1_000;
    expect(clock.now()).toBe(START);
    expect(reports).toEqual([]);
  });
});

describe("notBefore", () => {
  test("moves the clock forward to a later time, from which it continues at the normal pace", () => {
    clock.notBefore(START + HOUR);
    expect(clock.now()).toBe(START + HOUR);
    pass(1_000);
    expect(clock.now()).toBe(START + HOUR + 1_000);
    expect(reports).toEqual([HOUR]);
  });

  test("never moves the clock back", () => {
    clock.notBefore(START - HOUR);
    expect(clock.now()).toBe(START);
  });
});
