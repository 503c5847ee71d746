/**
 * Formats an amount for display, divided by 100 for every currency, including XOF (§1, D14). The decimal point is
 * inserted into the text and `Intl` accepts a string, so no floating-point arithmetic is involved.
 * @param amount in the lowest denomination
 */
export function formatAmount(amount: number | bigint, currency: string, locale: string): string {
  const digits = String(amount).replace("-", "").padStart(3, "0");
  const decimal = `${amount < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}` as Intl.StringNumericLiteral;
  // Show the currency code, because several currencies share the symbols `$` and `£`.
  return formatOf(currency, locale).format(decimal);
}

/** Making a format takes longer than the page around it. Merchants choose the codes, so few formats are kept. */
const formats = new Map<string, Intl.NumberFormat>();
const MOST_FORMATS = 50;

function formatOf(currency: string, locale: string): Intl.NumberFormat {
  const name = `${locale} ${currency}`;
  const known = formats.get(name);
  if (known) return known;
  if (formats.size >= MOST_FORMATS) formats.clear();
  const made = new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    currencyDisplay: "code",
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  });
  formats.set(name, made);
  return made;
}
