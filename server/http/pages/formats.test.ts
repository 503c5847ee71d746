// How the payment page reads and writes amounts, phone numbers and addresses.
import { expect, test } from "vitest";
import type { Checkout } from "../../domain/records.ts";
import type { Language } from "../../texts/index.ts";
import { countryOf, formatAmount, formatPhoneNumber, parsePhoneNumber, returnAddress } from "./formats.ts";

test.each<[number, string, Language, string]>([
  [1, "XOF", "en", "XOF 0.01"],
  [1_500_000, "XOF", "en", "XOF 15,000.00"],
  [1_500_000, "XOF", "fr", "15 000,00 XOF"],
  [-5, "XOF", "en", "-XOF 0.05"],
  [-1_500_000, "XOF", "fr", "-15 000,00 XOF"],
  // ISO 4217 defines three and four decimals for these; §1 uses two for every currency.
  [123_456, "TND", "fr", "1 234,56 TND"],
  [123_456, "CLF", "en", "CLF 1,234.56"],
  // Floating-point division would give .90 and .84.
  [2 ** 53 - 1, "USD", "en", "USD 90,071,992,547,409.91"],
  [2 ** 53 - 7, "USD", "fr", "90 071 992 547 409,85 USD"],
  // QQQ is not an ISO 4217 code, but it is valid in the contract.
  [12_345, "QQQ", "en", "QQQ 123.45"],
])("%i %s is shown in %s as %s", (amount, currency, language, shown) => {
  expect(formatAmount(amount, currency, language).replace(/[\u00a0\u202f]/g, " ")).toBe(shown);
});

test.each<[typed: string, result: string]>([
  ["2257038102473", "2257038102473"],
  ["+225 07 03 81 02 47", "2250703810247"],
  ["00225 07.03.81.02.47", "2250703810247"],
  ["  +225-0703-810247\t", "2250703810247"],
  ["+225\u00a007\u202f03\u200981\u201102–47", "2250703810247"],
  // Numbers copied from an address book can contain invisible direction marks.
  ["\u202a+2250703810247\u202c", "2250703810247"],
  ["1234567890", "1234567890"],
  ["123456789012345", "123456789012345"],
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
])("the phone number %j is %s", (typed, result) => {
  expect(parsePhoneNumber(typed)).toEqual(/^\d/.test(result) ? { digits: result } : { fault: result });
});

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
  for (const code of ["FR", "constructor"]) expect(countryOf(code)).toBeUndefined();
});

test.each([
  ["https://shop.example/thanks", "https://shop.example/thanks?OWN"],
  ["https://shop.example", "https://shop.example/?OWN"],
  ["https://shop.example/?", "https://shop.example/?OWN"],
  // What the shop has written is kept byte for byte, but its parameters with our names are replaced.
  ["http://shop.example/?a=b%20c+d&flag&a=~", "http://shop.example/?a=b%20c+d&flag&a=~&OWN"],
  ["https://a.example/?status=x&a=1&reference=y&status", "https://a.example/?a=1&OWN"],
  ["https://a.example/?%73tatus=x&merchants%52eference=", "https://a.example/?OWN"],
  ["https://a.example/?Status=x&statuses=y", "https://a.example/?Status=x&statuses=y&OWN"],
  ["https://a.example/??status=1&?reference=2", "https://a.example/??status=1&?reference=2&OWN"],
  ["https://a.example/?toString=1&__proto__=2", "https://a.example/?toString=1&__proto__=2&OWN"],
  ["https://a.example/app?a=1#/order/7?b=2", "https://a.example/app?a=1&OWN#/order/7?b=2"],
  ["http://127.0.0.1:8080/caf%C3%A9", "http://127.0.0.1:8080/caf%C3%A9?OWN"],
])("the redirectURL %s becomes %s", (redirectURL, expected) => {
  const checkout = { reference: "CHKABC", merchantsReference: "order 7&8/é", status: "success" } as Checkout;
  const own = "reference=CHKABC&merchantsReference=order%207%268%2F%C3%A9&status=success";
  expect(returnAddress(redirectURL, checkout)).toBe(expected.replace("OWN", own));
});
