import { expect, test } from "vitest";
import { countryOf, formatPhoneNumber } from "./countries.ts";
import { parsePhoneNumber } from "./phone-number.ts";

test.each([
  ["2250775399815", "+225 07 75 39 98 15"],
  ["254712345678", "+254 712 345 678"],
  ["221771234567", "+221 77 123 45 67"],
  ["22507753998", "+22507753998"],
  ["33612345678", "+33612345678"],
  ["0000000000", "+0000000000"],
])("writes %s as %s, which can be typed again", (digits, written) => {
  const found = formatPhoneNumber(digits);
  expect(found.replaceAll("\u00a0", " ")).toBe(written);
  if (!digits.startsWith("0")) expect(parsePhoneNumber(found)).toEqual({ digits });
});

test("an example of each country is a number that the form accepts", () => {
  for (const code of "BF BJ CD CI CM GH GN KE ML MW MZ NE RW SN TG TZ UG ZM".split(" ")) {
    const { example, callingCode } = countryOf(code)!;
    expect(parsePhoneNumber(example)).toEqual({ digits: expect.stringMatching(`^${callingCode.slice(1)}`) });
    expect(formatPhoneNumber(example.replaceAll(/\D/g, ""))).toBe(example);
  }
  expect(countryOf("FR")).toBeUndefined();
  expect(countryOf("constructor")).toBeUndefined();
});
