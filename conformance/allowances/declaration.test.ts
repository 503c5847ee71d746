import { expect, test } from "vitest";
import { readDeclaration } from "./declaration.ts";

test.each([
  ["countries: [CI, GH]\nhttpsWebhooks: true", { countries: ["CI", "GH"], httpsWebhooks: true }],
  ["# nothing declared", {}],
])("a declaration is read from YAML: %j", (text, expected) => {
  expect(readDeclaration(text)).toEqual(expected);
});

test.each([
  ["largestAmount: a lot", "largestAmount must be integer. The largest amount"],
  ["countries: [ci]", "countries, entry 1 must match pattern"],
  ["velocity: [{payouts: 1, per: merchant}]", "velocity, entry 1 must have required property 'seconds'"],
  ["velocity: [{ payouts: 1, seconds: 0.001, per: merchant }]", "velocity, entry 1, seconds must be >= 1"],
  ["maxAmount: 5", 'unknown field "maxAmount"; the fields are largestAmount, largestByCurrency'],
  ["- largestAmount: 5", "the file must contain fields such as largestAmount"],
  ["largestAmount: [", "Flow sequence"],
  ["referenceCharacters: 'z-a'", "referenceCharacters must be characters and ranges"],
  ["referenceEnds: 'a-z'", "referenceEnds must include the digits 0-9"],
  ["replicas: true", "must have property readAfterWriteMs when property replicas is present"],
])("a problem names the field and what to do: %s", (text, message) => {
  expect(() => readDeclaration(text)).toThrow(message);
});

test("every problem of a file is reported together", () => {
  expect(() => readDeclaration("largestAmount: 0\ncountries: [ci]\nx: 1")).toThrow(/^.+\n.+\n.+$/);
});
