import { expect, test } from "vitest";
import { formatAmount } from "./money.ts";

test.each([
  [1, "XOF", "en", "XOF 0.01"],
  [99, "GHS", "en", "GHS 0.99"],
  [100, "NGN", "en", "NGN 1.00"],
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
])("%i %s is shown in %s as %s", (amount, currency, locale, shown) => {
  expect(formatAmount(amount, currency, locale).replace(/[\u00a0\u202f]/g, " ")).toBe(shown);
});
