/**
 * Formats an amount for display, divided by 100 for every currency, including XOF (§1, D16). The decimal point is
 * inserted into the text and `Intl` accepts a string, so no floating-point arithmetic is involved.
 * @param amount in the lowest denomination
 */
export function formatAmount(amount: number | bigint, currency: string, locale: string): string {
  const digits = String(amount).padStart(3, "0");
  const decimal = `${digits.slice(0, -2)}.${digits.slice(-2)}` as Intl.StringNumericLiteral;
  // Show the currency code, because several currencies share the symbols `$` and `£`.
  return new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    currencyDisplay: "code",
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  }).format(decimal);
}
