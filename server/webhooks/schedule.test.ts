import { describe, expect, test } from "vitest";
import { nextAttemptDelayMs, verdictOf } from "./schedule.ts";

const now = Date.parse("2026-11-20T09:30:00Z");
const middle = () => 0.5;
const minutes = (count: number) => count * 60_000;

function delayAfter(attempts: number, response: { httpStatus?: number; retryAfter?: string } = {}, random = middle) {
  return nextAttemptDelayMs({ attempts, random, now, ...response });
}

describe("the schedule", () => {
  const inMinutes = [0, 5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440];

  test.each(inMinutes.map((delay, attempts) => ({ attempts, delay: minutes(delay) })))(
    "after $attempts attempts the next comes in $delay ms, a fifth more or less",
    ({ attempts, delay }) => {
      expect(delayAfter(attempts)).toBe(delay);
      expect(delayAfter(attempts, {}, () => 0)).toBe(delay * 0.8);
      expect(delayAfter(attempts, {}, () => 1)).toBe(delay * 1.2);
    },
  );

  test("makes no eleventh attempt, even with Retry-After", () => {
    expect(delayAfter(10)).toBeUndefined();
    expect(delayAfter(10, { httpStatus: 503, retryAfter: "5" })).toBeUndefined();
  });
});

describe("Retry-After", () => {
  test.each([
    { why: "seconds make the wait longer", httpStatus: 429, retryAfter: "120", expected: minutes(2) },
    { why: "503 counts too", httpStatus: 503, retryAfter: "120", expected: minutes(2) },
    { why: "spaces around it do not matter", httpStatus: 503, retryAfter: " 120 ", expected: minutes(2) },
    { why: "an hour is the most", httpStatus: 429, retryAfter: "86400", expected: minutes(60) },
    {
      why: "a number beyond all bounds is an hour",
      httpStatus: 429,
      retryAfter: "9".repeat(400),
      expected: minutes(60),
    },
    { why: "a date is read", httpStatus: 429, retryAfter: "Fri, 20 Nov 2026 09:40:00 GMT", expected: minutes(10) },
    {
      why: "so is the RFC 850 form",
      httpStatus: 429,
      retryAfter: "Friday, 20-Nov-26 09:40:00 GMT",
      expected: minutes(10),
    },
    {
      why: "and the asctime form, as UTC",
      httpStatus: 429,
      retryAfter: "Fri Nov 20 09:40:00 2026",
      expected: minutes(10),
    },
    {
      why: "a date is capped as well",
      httpStatus: 503,
      retryAfter: "Sat, 20 Nov 2027 09:40:00 GMT",
      expected: minutes(60),
    },
    { why: "it never shortens the wait", httpStatus: 429, retryAfter: "1", expected: 5_000 },
    {
      why: "a date in the past changes nothing",
      httpStatus: 429,
      retryAfter: "Fri, 20 Nov 2026 09:20:00 GMT",
      expected: 5_000,
    },
    { why: "other statuses have no say", httpStatus: 500, retryAfter: "120", expected: 5_000 },
    { why: "nor have redirects", httpStatus: 302, retryAfter: "120", expected: 5_000 },
    { why: "a negative number is ignored", httpStatus: 429, retryAfter: "-5", expected: 5_000 },
    { why: "a fraction is ignored", httpStatus: 429, retryAfter: "120.5", expected: 5_000 },
    { why: "an ISO date is ignored", httpStatus: 429, retryAfter: "2026-11-20T09:40:00Z", expected: 5_000 },
    { why: "words are ignored", httpStatus: 429, retryAfter: "soon, please GMT", expected: 5_000 },
    {
      why: "an impossible date is ignored",
      httpStatus: 429,
      retryAfter: "Fri, 99 Foo 2026 09:40:00 GMT",
      expected: 5_000,
    },
    { why: "an empty value is ignored", httpStatus: 429, retryAfter: "", expected: 5_000 },
  ])("$why", ({ httpStatus, retryAfter, expected }) => {
    expect(delayAfter(1, { httpStatus, retryAfter })).toBe(expected);
  });

  test("has no effect if absent", () => {
    expect(delayAfter(1, { httpStatus: 503 })).toBe(5_000);
  });
});

test.each([
  [200, "delivered"],
  [204, "delivered"],
  [299, "delivered"],
  [301, "failed"],
  [304, "failed"],
  [400, "failed"],
  [409, "failed"],
  [410, "ended"],
  [429, "failed"],
  [500, "failed"],
  [503, "failed"],
  [undefined, "failed"],
] as const)("response %s means %s", (httpStatus, verdict) => {
  expect(verdictOf(httpStatus)).toBe(verdict);
});
