/** Why a number is invalid; `texts.ts` has the message in each language. */
export type PhoneNumberFault = "missing" | "characters" | "country-code" | "length";

export type PhoneNumber = { digits: string } | { fault: PhoneNumberFault };

/** Spaces, hyphens, dashes, dots, and invisible characters that a pasted number may contain. */
const SEPARATORS = /[\s\u00ad\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060-\u2069\u2212.-]/gu;

/**
 * Parses a phone number as people type it: `+225 07-03…`, `00225 07.03…`, `22507…`. Refuses ambiguous input,
 * such as a national number without a country code or a zero in parentheses, because the payment is requested from this
 * number.
 * @returns 10 to 15 digits without a plus sign, the format of §2.1
 */
export function parsePhoneNumber(typed: string): PhoneNumber {
  const text = typed.replace(SEPARATORS, "");
  if (text === "") return { fault: "missing" };
  const digits = text.replace(/^(\+|00)/, "");
  if (!/^[0-9]+$/.test(digits)) return { fault: "characters" };
  // No country code begins with 0 (ITU-T E.164).
  if (digits.startsWith("0")) return { fault: "country-code" };
  if (digits.length < 10 || digits.length > 15) return { fault: "length" };
  return { digits };
}
