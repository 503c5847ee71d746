/** Why a number cannot be used, for the page to say in the customer's language. */
export type PhoneNumberFault = "missing" | "characters" | "country-code" | "length";

export type PhoneNumber = { digits: string } | { fault: PhoneNumberFault };

/** Spaces of every width, hyphens and dashes, dots, and the invisible marks that come along when a number is pasted. */
const SEPARATORS = /[\s\u00ad\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060-\u2069\u2212.-]/gu;

/**
 * Reads a phone number as people type it: `+225 07-03…`, `00225 07.03…`, `22507…`. What would need a guess is refused,
 * since money is asked of that number: a national number without its country code, or a zero in parentheses.
 * @returns digits as §2.1 has them, 10 to 15 without a plus sign
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
