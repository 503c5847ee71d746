import { describe, expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import { commonPairs, dollars, fieldsAbroad, fieldsFor, pairOf } from "./countries.ts";

const options = (recipient: string, over: Partial<RunOptions> = {}) =>
  ({ recipient, loopback: true, ...over }) as unknown as RunOptions;

test.each([
  ["2257038102473", "CI", "XOF"],
  ["2348031234567", "NG", "NGN"],
  ["233244123456", "GH", "GHS"],
  ["254712345678", "KE", "KES"],
  ["33612345678", "CI", "XOF"],
])("a payout to %s is in %s and %s", (phoneNumber, country, currency) => {
  expect(pairOf(phoneNumber)).toMatchObject({ country, currency });
});

test.each([...commonPairs, dollars])("a made-up number in $country matches the pattern", (pair) => {
  const { phoneNumber } = fieldsFor(pair, "33612345002");
  expect(phoneNumber).toMatch(/^[0-9]{10,15}$/);
  expect(phoneNumber.startsWith(pair.code) && phoneNumber.endsWith("002")).toBe(true);
});

test("the recipient's own number serves for its own country", () => {
  expect(fieldsFor(pairOf("254799999999"), "254799999999").phoneNumber).toBe("254799999999");
});

describe("a payout abroad", () => {
  test.each(["2257038102473", "254712345678"])("is in another country than that of %s", (recipient) => {
    expect(fieldsAbroad(options(recipient))?.country).not.toBe(pairOf(recipient).country);
  });

  test("is not made where it could reach a stranger", () => {
    expect(fieldsAbroad(options("2257038102473", { loopback: false, environment: "live" }))).toBeUndefined();
    expect(fieldsAbroad(options("2257038102473", { loopback: false, environment: "sandbox" }))).toBeDefined();
  });
});
