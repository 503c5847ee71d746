import { describe, expect, test } from "vitest";
import { nextStep } from "./schedule.ts";

const now = Date.parse("2026-11-20T09:30:00Z");
const MINUTE = 60_000;

const delayAfter = (attempts: number, response: { httpStatus?: number; retryAfter?: string } = {}, random = 0.5) =>
  nextStep(attempts, 0, { sentAt: now, latencyMs: 0, ...response }, () => random).nextAttemptAt;

describe("the schedule", () => {
  const inMinutes = [0, 5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440];

  test.each(inMinutes.map((delay, attempts) => ({ attempts, delay: delay * MINUTE })))(
    "after $attempts attempts the next comes in $delay ms, a fifth more or less",
    ({ attempts, delay }) => {
      const earliestToLatest = [0, 0.5, 1].map((random) => delayAfter(attempts, {}, random));
      expect(earliestToLatest).toEqual([delay * 0.8, delay, delay * 1.2]);
    },
  );

  test("makes no eleventh attempt, even with Retry-After", () => {
    expect(delayAfter(10)).toBeUndefined();
    expect(delayAfter(10, { httpStatus: 503, retryAfter: "5" })).toBeUndefined();
  });
});

test.each<[why: string, httpStatus: number, retryAfter: string | undefined, expected: number]>([
  ["seconds make the wait longer", 429, "120", 2 * MINUTE],
  ["503 counts too", 503, "120", 2 * MINUTE],
  ["spaces around it do not matter", 503, " 120 ", 2 * MINUTE],
  ["an hour is the most", 429, "86400", 60 * MINUTE],
  ["a number beyond all bounds is an hour", 429, "9".repeat(400), 60 * MINUTE],
  ["a date is read", 429, "Fri, 20 Nov 2026 09:40:00 GMT", 10 * MINUTE],
  ["a date is capped as well", 503, "Sat, 20 Nov 2027 09:40:00 GMT", 60 * MINUTE],
  ["it never shortens the wait", 429, "1", 5_000],
  ["a date in the past changes nothing", 429, "Fri, 20 Nov 2026 09:20:00 GMT", 5_000],
  ["other statuses have no say", 500, "120", 5_000],
  ["nor have redirects", 302, "120", 5_000],
  ["a negative number is ignored", 429, "-5", 5_000],
  ["a fraction is ignored", 429, "120.5", 5_000],
  ["an ISO date is ignored", 429, "2026-11-20T09:40:00Z", 5_000],
  ["words are ignored", 429, "soon, please GMT", 5_000],
  ["an impossible date is ignored", 429, "Fri, 99 Foo 2026 09:40:00 GMT", 5_000],
  ["an empty value is ignored", 429, "", 5_000],
  ["it may be absent", 503, undefined, 5_000],
])("Retry-After: %s", (_, httpStatus, retryAfter, expected) => {
  expect(delayAfter(1, { httpStatus, ...(retryAfter !== undefined && { retryAfter }) })).toBe(expected);
});
