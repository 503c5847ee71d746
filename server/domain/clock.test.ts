import { expect, test } from "vitest";
import { createSystemClock, type ClockReport } from "./clock.ts";

const START = Date.UTC(2026, 10, 20, 9, 30);
const SECOND = 1_000;
const HOUR = 3_600_000;

/** A clock, the true time that it should have, and what it has reported. */
function createWorld() {
  const world = { time: START, wallAhead: 0, suspended: 0 };
  const reports: ClockReport[] = [];
  const source = {
    wall: () => world.time + world.wallAhead,
    monotonic: () => world.time - START - world.suspended + 5_000.25,
  };
  return { world, reports, clock: createSystemClock((report) => void reports.push(report), source) };
}

/** How far the clock is from the true time after some time, with a wall clock and a database's that may be ahead. */
type Step = [passedMs: number, wallAhead: number, databaseAhead: number | undefined, ahead: number];
const none = undefined;

test.each<[what: string, steps: Step[]]>([
  ["the wall clock alone is followed", [[10, 0, none, 0]]],
  ["a part of a millisecond is left out", [[10.75, 0, none, -0.75]]],
  ["a small correction forwards is followed at once", [[0, 2_000, none, 2_000]]],
  [
    "for a small correction backwards the clock stands still",
    [
      [0, 2_000, none, 2_000],
      [0, 0, none, 2_000],
      [1_999, 0, none, 1],
      [2, 0, none, 0],
    ],
  ],
  ["the database's clock is followed while both are close", [[0, 0, 300, 300]]],
])("%s", (_, steps) => {
  const { world, reports, clock } = createWorld();
  const before = clock.monotonic();
  for (const [passedMs, wallAhead, databaseAhead, ahead] of steps) {
    world.time += passedMs;
    world.wallAhead = wallAhead;
    if (databaseAhead !== undefined) clock.follow(world.time + databaseAhead);
    expect(clock.now() - world.time).toBe(ahead);
  }
  expect(reports).toEqual([]);
  // Durations notice nothing.
  expect(clock.monotonic() - before).toBe(world.time - START);
});

test("the counter for leases counts a suspension, during which the monotonic counter stands still", () => {
  const { world, clock } = createWorld();
  const [counter, monotonic] = [clock.counter(), clock.monotonic()];
  Object.assign(world, { time: START + HOUR, suspended: HOUR });
  expect([clock.counter() - counter, clock.monotonic() - monotonic]).toEqual([HOUR, 0]);
  world.time += SECOND;
  expect(clock.counter() - counter).toBe(HOUR + SECOND);
});
