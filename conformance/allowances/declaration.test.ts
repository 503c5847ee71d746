import { describe, expect, test } from "vitest";
import { DeclarationError, fieldNames, meaningOf, readDeclaration, type Declaration } from "./declaration.ts";
import { limitPhrases } from "./table.ts";

function problemsOf(text: string): string[] {
  try {
    readDeclaration(text);
  } catch (error) {
    if (error instanceof DeclarationError) return error.problems;
    throw error;
  }
  return [];
}

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
    ["longestReference: 19", "longestReference must be >= 20"],
    ["countries: CI", "countries must be array"],
    ["countries: [ci]", "countries, entry 1 must match pattern"],
    ["countries: []", "countries must NOT have fewer than 1 items"],
    ["numberRanges: ['+22507']", "numberRanges, entry 1 must match pattern"],
    ["velocity: [{payouts: 1, seconds: 1, per: day}]", "velocity, entry 1, per must be recipient or merchant"],
    ["velocity: [{payouts: 1, per: merchant}]", "velocity, entry 1 must have required property 'seconds'"],
    ["maxAmount: 5", 'unknown field "maxAmount"; the fields are largestAmount, largestByCurrency'],
    ["- largestAmount: 5", "the file must contain fields such as largestAmount"],
    ["largestAmount: [", "Flow sequence"],
    ["referenceCharacters: 'z-a'", "referenceCharacters must be characters and ranges"],
    ["referenceCharacters: '0-9a'", "referenceCharacters must include the digits 0-9"],
    ["replicas: true", "replicas needs readAfterWriteMs"],
    ["largestAmount: 29", "largestAmount must be >= 10000"],
    ["velocity: [{ payouts: 1, seconds: 0.001, per: merchant }]", "velocity, entry 1, seconds must be >= 1"],
    ["smallestAmount: 10001", "smallestAmount must be <= 10000"],
    ["largestByCurrency: { kes: 10000 }", "largestByCurrency: the currencies are ISO 4217 codes"],
    ["referenceEnds: 'a-z'", "referenceEnds must include the digits 0-9"],
    ["referenceCharacters: 'a-z'", "referenceCharacters must include the digits 0-9"],
  ])("names the field and what to do: %s", (text, message) => {
    expect(problemsOf(text).join("\n")).toContain(message);
  });

  test("reports every problem of a file together", () => {
    expect(problemsOf("largestAmount: 0\ncountries: [ci]\nx: 1")).toHaveLength(3);
  });

  test("has a description and a phrase for each field", () => {
    const full: Required<Declaration> = {
      largestAmount: 5,
      largestByCurrency: { KES: 5 },
      largestCheckout: 5,
      smallestAmount: 1,
      longestReference: 20,
      longestReferenceBytes: 20,
      referenceCharacters: "a-z0-9",
      referenceEnds: "a-z0-9",
      countries: ["CI"],
      currencies: ["XOF"],
      numberRanges: ["22507", "225070000000x"],
      httpsWebhooks: true,
      velocity: [{ payouts: 3, seconds: 60, per: "recipient" }],
      readAfterWriteMs: 300,
      replicas: true,
      notificationSeconds: 30,
      settlementSeconds: 20,
    };
    expect(Object.keys(full).toSorted()).toEqual(fieldNames.toSorted());
    expect(limitPhrases(full)).toHaveLength(fieldNames.length);
    for (const field of Object.keys(full) as (keyof Declaration)[]) expect(meaningOf(field)).toMatch(/\.$/);
    expect(limitPhrases({ numberRanges: full.numberRanges })).toEqual(["phone numbers: 22507…, 225070000000x"]);
    expect(limitPhrases({ velocity: full.velocity })).toEqual(["at most 3 payouts per recipient in 60 s"]);
  });
});
