import { describe, expect, test } from "vitest";
import { UsageError } from "./index.ts";
import { format, money, phone } from "./money.ts";

describe("money", () => {
  test.each([
    ["15000", "XOF", 1500000],
    ["15 000", "XOF", 1500000],
    ["1\u202f250\u00a0000", "XAF", 125000000],
    ["4500.5", "NGN", 450050],
    ["0,01", "USD", 1],
    ["12 345.67", "KES", 1234567],
    ["90071992547409.91", "USD", Number.MAX_SAFE_INTEGER],
  ])("%j %s is %i", (text, currency, amount) => {
    expect(money(text, currency)).toBe(amount);
  });

  test.each([
    ["15.000", "XOF", /ambiguous/],
    ["15,000", "NGN", /ambiguous/],
    ["1 5000", "NGN", /ambiguous/],
    ["15000 FCFA", "XOF", /ambiguous/],
    ["1e3", "XOF", /no amount/],
    ["-5", "NGN", /no amount/],
    ["", "NGN", /no amount/],
    ["15000.50", "XOF", /XOF has none/],
    ["0", "NGN", /more than 0/],
    ["90071992547409.92", "USD", /at most/],
    ["15000", "FCFA", /ISO code/],
    ["15000", "XFO", /ISO code/],
  ])("%j %s is refused", (text, currency, message) => {
    expect(() => money(text, currency)).toThrow(UsageError);
    expect(() => money(text, currency)).toThrow(message);
  });
});

describe("format", () => {
  test.each([
    [1500000, "XOF", "15 000 FCFA"],
    [1500050, "XOF", "15 000,50 FCFA"],
    [-100, "XAF", "-1 FCFA"],
    [450050, "NGN", "NGN 4,500.50"],
    [100, "XPF", "CFPF 1"],
  ])("shows %i %s as %s", (amount, currency, text) => {
    expect(format(amount, currency)).toBe(text);
  });

  test("takes a locale", () => {
    expect(format(1234567, "USD", "de")).toBe("12.345,67 $");
  });

  test.each([
    [15.5, "XOF"],
    [2 ** 60, "XOF"],
    [50, "XFO"],
  ])("refuses %s %s", (amount, currency) => {
    expect(() => format(amount, currency)).toThrow(UsageError);
  });
});

describe("phone", () => {
  test.each([
    ["+225 07 01 02 03 04", "CI", "2250701020304"],
    ["07 01 02 03 04", "CI", "2250701020304"],
    ["2250701020304", "CI", "2250701020304"],
    ["0803 123 4567", "NG", "2348031234567"],
    ["(0803) 123.4567", "NG", "2348031234567"],
    ["803 123 4567", "NG", "2348031234567"],
    ["024 123 4567", "GH", "233241234567"],
  ])("%j in %s is %s", (text, country, number) => {
    expect(phone(text, country)).toBe(number);
  });

  test.each([
    ["+225 07 01 02 03", "CI", "A mobile number of CI has +225 and 10 digits."],
    ["+234 803 123 4567", "CI", "A mobile number of CI has +225"],
    ["+234 0803 123 4567", "NG", "A mobile number of NG has +234 and 10 digits."],
    ["07 01 02 03 04 ext. 5", "CI", "A mobile number of CI"],
    ["", "CI", "A mobile number of CI"],
    ["0701020304", "ci", "ISO code"],
    ["0701020304", "XX", "ISO code"],
    ["x +225 07 01 02 03 04", "CI", "A mobile number of CI"],
    ["0701020304", "(", "ISO code"],
    ["+376 312 345", "AD", "A mobile number of AD has +376 and 9 digits."],
    ["+247 12345", "AC", "ISO code"],
    ["+55 11 9612345", "BR", "A mobile number of BR has +55 and 10 or 11 digits."],
  ])("%j in %s is refused", (text, country, message) => {
    const call = () => phone(text, country);
    expect(call).toThrow(UsageError);
    expect(call).toThrow(message);
    expect(call).not.toThrow(new RegExp(text.replaceAll(/\W/g, "\\$&") || "^$"));
  });

  test("that can be read in two ways is refused", () => {
    // A number of 10 digits in Germany, or a number of 11 digits without its trunk prefix.
    expect(() => phone("0151 2345678", "DE")).toThrow("two ways");
    expect(phone("+49 151 2345678", "DE")).toBe("491512345678");
  });
});
