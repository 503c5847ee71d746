import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createIds } from "./ids.ts";
import { seededRandom } from "../testing/random.ts";

const NOW = Date.UTC(2026, 10, 20);

test("ids have the documented formats (D19, D20)", () => {
  const ids = createIds(randomBytes);
  expect(ids.reference("DSB", NOW)).toMatch(/^DSB[0-9A-HJKMNP-TV-Z]{24}$/);
  expect(ids.reference("CHK", NOW)).toMatch(/^CHK[0-9A-HJKMNP-TV-Z]{24}$/);
  expect(ids.record(NOW)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(createIds(randomBytes, "sandbox").apiKey()).toMatch(/^test_[0-9a-z]{32}$/);
  expect(createIds(randomBytes, "live").apiKey()).toMatch(/^live_[0-9a-z]{32}$/);
  expect(ids.merchant()).toMatch(/^m[0-9a-z]{11}$/);
  expect(ids.request()).toMatch(/^req_[0-9a-z]{16}$/);
});

test("the last 17 characters of a reference are random and evenly distributed", () => {
  const { bytes } = seededRandom(7);
  const ids = createIds(bytes);
  const made = Array.from({ length: 20_000 }, () => ids.reference("CHK", NOW).slice(10));
  for (let place = 0; place < 17; place += 1) {
    const counts = new Map<string, number>();
    for (const text of made) counts.set(text[place]!, (counts.get(text[place]!) ?? 0) + 1);
    expect(counts.size).toBe(32);
    // The expected count is 625, and the tolerance of 148 is six standard deviations.
    for (const count of counts.values()) expect(Math.abs(count - 625)).toBeLessThan(148);
  }
});

test("references of the same millisecond begin alike, and sort by time within 397 days", () => {
  const ids = createIds(randomBytes);
  const begins = (now: number) => ids.reference("DSB", now).slice(0, 10);
  expect(begins(NOW)).toBe(begins(NOW));
  const days = Array.from({ length: 300 }, (_, index) => begins(32 ** 7 * 51 + index * 86_400_000 + index));
  expect(days).toEqual([...new Set(days)].toSorted());
});
