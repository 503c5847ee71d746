import { expect, test } from "vitest";
import { parsePhoneNumber } from "./phone-number.ts";

test.each([
  ["2257038102473", "2257038102473"],
  ["+225 07 03 81 02 47", "2250703810247"],
  ["00225 07.03.81.02.47", "2250703810247"],
  ["  +225-0703-810247\t", "2250703810247"],
  ["+225\u00a007\u202f03\u200981\u201102–47", "2250703810247"],
  // Numbers copied from an address book can contain invisible direction marks.
  ["\u202a+2250703810247\u202c", "2250703810247"],
  ["1234567890", "1234567890"],
  ["123456789012345", "123456789012345"],
])("accepts %j as %s", (typed, digits) => {
  expect(parsePhoneNumber(typed)).toEqual({ digits });
});

test.each([
  ["", "missing"],
  [" - ", "missing"],
  ["call me", "characters"],
  ["+", "characters"],
  ["225+0703810247", "characters"],
  ["++2250703810247", "characters"],
  // The zero in parentheses is ambiguous.
  ["+44 (0)20 7946 0958", "characters"],
  ["٢٢٥٠٧٠٣٨١٠٢٤٧", "characters"],
  ["0703810247", "country-code"],
  ["000225703810247", "country-code"],
  ["123456789", "length"],
  ["+225 07 03", "length"],
  ["1234567890123456", "length"],
])("refuses %j: %s", (typed, fault) => {
  expect(parsePhoneNumber(typed)).toEqual({ fault });
});
