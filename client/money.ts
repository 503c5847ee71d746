// `@disbursement-checkout/client/money`: amounts and phone numbers as people write them.
import { phones } from "../generated/phones.ts";
import { ensure } from "./options.ts";

/** 100 of the lowest denomination make one unit, in every currency of this interface. */
const perUnit = 100;

/** How many decimals a currency has in everyday life: none for XOF, 2 for NGN. */
function decimalsOf(currency: string): number {
  const isKnown = Intl.supportedValuesOf("currency").includes(currency);
  ensure(isKnown, `currency must be an ISO code such as XOF, and not "${currency}".`);
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits!;
}

/**
 * Returns the `amount` of a request for an amount as people write it: `money("15000", "XOF")` is `1500000`, because 100
 * of the lowest denomination make one unit in every currency.
 *
 * @param text Digits, with spaces between thousands or without, and at most two decimals: `"15 000"`, `"4500.50"`.
 * @throws {UsageError} The text is ambiguous (`"15.000"`, `"15,000"`), has more decimals than the currency, or is not a
 * positive amount.
 */
export function money(text: string, currency: string): number {
  const decimals = decimalsOf(currency);
  const match = /^(\d+|\d{1,3}(?:[ \u00a0\u202f]\d{3})+)(?:[.,](\d{1,2}))?$/.exec(text);
  ensure(match, `"${text}" is no amount, or ambiguous. Write 15000, 15 000 or 15000.50.`);
  const [, whole, fraction = ""] = match as unknown as [string, string, string?];
  ensure(fraction.length <= decimals, `"${text}" has decimals, but ${currency} has ${decimals || "none"}.`);
  const amount = Number(whole.replaceAll(/\D/g, "") + fraction.padEnd(2, "0"));
  ensure(amount > 0 && Number.isSafeInteger(amount), `"${text}" must be more than 0 and at most 90071992547409.91.`);
  return amount;
}

/**
 * Returns an `amount` as people read it: `format(1500000, "XOF")` is `15 000 FCFA`.
 *
 * @param locale Default: French for the CFA francs, else English.
 * @throws {UsageError} The amount is not a whole number of the lowest denomination, or the currency is unknown.
 */
export function format(
  amount: number,
  currency: string,
  locale = ["XAF", "XOF"].includes(currency) ? "fr" : "en",
): string {
  ensure(Number.isSafeInteger(amount), `amount must be a whole number of the lowest denomination, and not ${amount}.`);
  const usual = decimalsOf(currency);
  const decimals = amount % perUnit === 0 ? usual : 2;
  const style = {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  } as const;
  const parts = new Intl.NumberFormat(locale, style).formatToParts(amount / perUnit);
  // Intl separates thousands, and the words of a currency, by special spaces.
  const texts = parts.map(({ type, value }) => value.replaceAll(/\s/g, type === "currency" ? "" : " "));
  return texts.join("");
}

/**
 * Returns the `phoneNumber` of a request for a mobile number as people write it: `phone("+225 07 01 02 03 04", "CI")`
 * is `2250701020304`. Checks only how many digits the mobile numbers of a country have. Only the wallet's operator
 * knows whether the number exists.
 *
 * @param text The number with the country's calling code or without.
 * @param country The ISO code of the number's country, for example `CI`.
 * @throws {UsageError} The number has another country or a wrong length, or could be read in two ways.
 */
export function phone(text: string, country: string): string {
  const entry = /^[A-Z]{2}$/.test(country) && new RegExp(`\\b${country}(\\d+)p?(\\d*):(\\S+)`).exec(phones);
  ensure(entry, `country must be an ISO code such as CI, and not "${country}".`);
  const [, code, trunkPrefix, lengths] = entry as unknown as [string, string, string, string];
  const rest = text.replace(/^\s*(\+|00)/, "");
  const digits = rest.replaceAll(/[\s().-]/g, "");
  // Without + or 00, the text may begin with the calling code, the national number or the trunk prefix.
  const leads = rest === text ? [code, "", trunkPrefix] : [code];
  const readings = leads.flatMap((lead) => {
    const number = digits.slice(lead.length);
    return digits.startsWith(lead) && lengths.split("/").includes(`${number.length}`) ? [code + number] : [];
  });
  const [reading, other] = new Set(readings);
  // The text is not repeated: errors contain no phone numbers.
  ensure(
    /^\d+$/.test(`${reading}`),
    `A mobile number of ${country} has +${code} and ${lengths.replaceAll("/", " or ")} digits.`,
  );
  ensure(!other, `The phone number can be read in two ways. Write it with +${code}.`);
  return reading!;
}
