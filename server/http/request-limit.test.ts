import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callerAt, createRequestLimit } from "./request-limit.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const overLimit = (seconds: number) =>
  expect.objectContaining({ code: "rate_limited", details: { retryAfterSeconds: seconds } });

test("refuses a caller beyond the limit until the minute is over", () => {
  const limit = createRequestLimit({ perMinute: 2, message: "Too many." });
  limit.count("a");
  vi.advanceTimersByTime(10_000);
  limit.count("a");
  expect(() => limit.count("a")).toThrow(overLimit(50));
  limit.count("b");
  vi.advanceTimersByTime(50_000);
  limit.count("a");
});

test("counts 10,000 callers apart, and those beyond together", () => {
  const limit = createRequestLimit({ perMinute: 2, message: "Too many." });
  for (let caller = 0; caller < 10_000; caller += 1) limit.count(`caller ${caller}`);
  limit.count("later");
  limit.count("much later");
  expect(() => limit.count("last")).toThrow(overLimit(60));
  limit.count("caller 7");
});

test.each([
  ["203.0.113.7", "::ffff:203.0.113.7", true],
  ["203.0.113.7", "203.0.113.8", false],
  ["2001:db8:1:2::1", "2001:db8:1:ff::2", true],
  ["2001:db8:1:2::1", "2001:db8:2:2::1", false],
])("takes %s and %s for one caller: %s", (one, other, isSame) => {
  expect(callerAt(one) === callerAt(other)).toBe(isSame);
});
