import { describe, expect, test } from "vitest";
import { readDeclaration } from "./declaration.ts";

describe("a declaration", () => {
  test.each([
    ["largestAmount: 1000000", { largestAmount: 1_000_000 }],
    ["countries: [CI, GH]\nhttpsWebhooks: true", { countries: ["CI", "GH"], httpsWebhooks: true }],
    ["numberRanges: ['22507xxxxxxxx']", { numberRanges: ["22507xxxxxxxx"] }],
    ["# nothing declared", {}],
  ])("is read from YAML: %j", (text, expected) => {
    expect(readDeclaration(text)).toEqual(expected);
  });

  test.each([
    ["largestAmount: a lot", "largestAmount must be integer. The largest amount"],
    ["largestAmount: 9999", "largestAmount must be >= 10000"],
    ["countries: CI", "countries must be array"],
    ["countries: [ci]", "countries, entry 1 must match pattern"],
    [
      "velocity: [{payouts: 1, seconds: 1, per: day}]",
      "velocity, entry 1, per must be equal to one of the allowed values",
    ],
    ["velocity: [{payouts: 1, per: merchant}]", "velocity, entry 1 must have required property 'seconds'"],
    ["maxAmount: 5", 'unknown field "maxAmount"; the fields are largestAmount, largestByCurrency'],
    ["- largestAmount: 5", "the file must contain fields such as largestAmount"],
    ["largestAmount: [", "Flow sequence"],
    ["referenceCharacters: 'z-a'", "referenceCharacters must be characters and ranges"],
    ["referenceCharacters: '0-9a'", "referenceCharacters must include the digits 0-9"],
    ["replicas: true", "must have property readAfterWriteMs when property replicas is present"],
    ["velocity: [{ payouts: 1, seconds: 0.001, per: merchant }]", "velocity, entry 1, seconds must be >= 1"],
    ["smallestAmount: 10001", "smallestAmount must be <= 10000"],
    ["largestByCurrency: { kes: 10000 }", 'largestByCurrency must match pattern "^[A-Z]{3}$"'],
    ["referenceEnds: 'a-z'", "referenceEnds must include the digits 0-9"],
  ])("names the field and what to do: %s", (text, message) => {
    expect(() => readDeclaration(text)).toThrow(message);
  });

  test("reports every problem of a file together", () => {
    expect(() => readDeclaration("largestAmount: 0\ncountries: [ci]\nx: 1")).toThrow(/^.+\n.+\n.+$/);
  });
});
