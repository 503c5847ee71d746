import { expect, test } from "vitest";
import { createPace } from "./pace.ts";

let now: number;
const newPace = () => {
  now = 0;
  return createPace(() => now);
};
/** A commit that takes so long. */
const lasting = (ms: number) => () => void (now += ms);

test("commits follow each other until they have taken 50 ms, and then a fifth of the time", () => {
  const pace = newPace();
  // The event loop is blocked five times for 10 ms within 60 ms. The remaining 10 ms give 2 ms of credit.
  for (let count = 0; count < 5; count += 1) {
    expect(pace.delayMs()).toBe(0);
    pace.count(lasting(10));
  }
  now += 10;
  pace.count(lasting(3));
  while (pace.delayMs() === 0) pace.count(lasting(3));
  pace.count(lasting(2));
  const delay = pace.delayMs();
  expect(delay).toBeGreaterThan(4);
  now += delay;
  expect(pace.delayMs()).toBeCloseTo(0);
});

test("a pause is at most 20 ms, however long a commit took", () => {
  const pace = newPace();
  pace.count(lasting(1_000));
  pace.count(lasting(1_000));
  expect(pace.delayMs()).toBeCloseTo(20);
});

test("idle time restores the burst, and no more than the burst", () => {
  const pace = newPace();
  pace.count(lasting(1_000));
  now = 3_600_000;
  expect(pace.delayMs()).toBe(0);
  pace.count(lasting(40));
  expect(pace.delayMs()).toBe(0);
  pace.count(lasting(40));
  expect(pace.delayMs()).toBeGreaterThan(0);
});
