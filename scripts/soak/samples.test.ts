import { expect, test } from "vitest";
import { growth, thirds } from "./samples.ts";

const samples = (megabytes: (second: number) => number) =>
  Array.from({ length: 60 }, (_, at) => ({ at, megabytes: megabytes(at) }));

test("growth is the slope per minute, and swings do not count", () => {
  expect(growth(samples((second) => 100 + second / 6))).toBeCloseTo(10);
  expect(growth(samples(() => 100))).toBe(0);
  expect(Math.abs(growth(samples((second) => 100 + (second % 2))))).toBeLessThan(0.1);
});

test("compares the slowest percent at the start and at the end", () => {
  const latencies = Array.from({ length: 900 }, (_, index) => (index % 100 === 0 ? 50 : 1) * (index < 600 ? 1 : 2));
  expect(thirds(latencies)).toEqual({ first: 1, last: 2 });
  latencies[1] = latencies[2] = 70;
  expect(thirds(latencies).first).toBe(50);
});
