/**
 * An amount as people read it: divided by 100 whatever the currency, XOF included (§1, D16). The division is one of
 * whole numbers, and Intl takes its result as text, so that no floating point comes near money.
 * @param amount in the lowest denomination
 */
export function formatAmount(amount: number, currency: string, locale: string): string {
  const digits = String(amount).padStart(3, "0");
  const decimal = `${digits.slice(0, -2)}.${digits.slice(-2)}` as Intl.StringNumericLiteral;
  // The code rather than a symbol: many currencies are written with the same `$` or `£`.
  return new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    currencyDisplay: "code",
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  }).format(decimal);
}
