// How pages and exports read and write amounts and phone numbers, and in which language.
import type { Request } from "express";
import type { Checkout } from "../../domain/records.ts";
import { numberIn, type Language } from "../../texts/index.ts";

/** The language that a browser prefers, or English. */
export const languageOf = (req: Request): Language => (req.acceptsLanguages("en", "fr") || "en") as Language;

/** Non-breaking spaces keep a number on one line. */
const SPACE = "\u00a0";

/**
 * Formats an amount for display, divided by 100 for every currency, including XOF (§1, D14), without floating-point
 * arithmetic. Shows the currency's code, because several currencies share the symbols `$` and `£`.
 * @param amount in the lowest denomination
 */
export function formatAmount(amount: number | bigint, currency: string, language: Language): string {
  const digits = String(amount).replace("-", "").padStart(3, "0");
  const whole = numberIn(language, BigInt(digits.slice(0, -2)));
  const shown = `${whole}${language === "fr" ? "," : "."}${digits.slice(-2)}`;
  return (amount < 0 ? "-" : "") + (language === "fr" ? shown + SPACE + currency : currency + SPACE + shown);
}

/** Why a number is invalid; `texts/checkout-page.ts` has the messages. */
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

/**
 * The countries whose numbers the pages know, by ISO 3166 code: an example with the calling code, grouped as people
 * there write it, and the mobile money operators. The examples have the country's number of digits and end in zeros.
 * For other countries, the payment page asks for a number without an example.
 */
const COUNTRIES: Readonly<Record<string, readonly [example: string, operators: string]>> = {
  BF: ["226 70 00 00 00", "Orange Money, Moov Money"],
  BJ: ["229 01 97 00 00 00", "MTN MoMo, Moov Money"],
  CD: ["243 810 000 000", "M-Pesa, Airtel Money, Orange Money"],
  CI: ["225 07 00 00 00 00", "Orange Money, MTN MoMo, Moov Money, Wave"],
  CM: ["237 6 70 00 00 00", "MTN MoMo, Orange Money"],
  GH: ["233 24 000 0000", "MTN MoMo, Telecel Cash, AT Money"],
  GN: ["224 620 00 00 00", "Orange Money"],
  KE: ["254 712 000 000", "M-Pesa, Airtel Money"],
  ML: ["223 70 00 00 00", "Orange Money"],
  MW: ["265 99 000 0000", "Airtel Money, TNM Mpamba"],
  MZ: ["258 84 000 0000", "M-Pesa, e-Mola"],
  NE: ["227 90 00 00 00", "Airtel Money, Moov Money"],
  RW: ["250 788 000 000", "MTN MoMo, Airtel Money"],
  SN: ["221 77 000 00 00", "Orange Money, Wave"],
  TG: ["228 90 00 00 00", "Mixx by Yas, Moov Money"],
  TZ: ["255 754 000 000", "M-Pesa, Mixx by Yas, Airtel Money, HaloPesa"],
  UG: ["256 772 000 000", "MTN MoMo, Airtel Money"],
  ZM: ["260 97 000 0000", "Airtel Money, MTN MoMo, Zamtel Money"],
};

/** What the payment page says of a country's numbers; undefined for a country that it does not know. */
export function countryOf(code: string) {
  if (!Object.hasOwn(COUNTRIES, code)) return undefined;
  const [number, operators] = COUNTRIES[code]!;
  const example = `+${number.replaceAll(" ", SPACE)}`;
  return { callingCode: example.split(SPACE, 1)[0]!, example, operators };
}

/** A stored phone number as people write it: `+225 07 75 39 98 15`. Without groups if its country is not known. */
export function formatPhoneNumber(digits: string): string {
  const isLike = ([number]: readonly [string, string]) =>
    digits.startsWith(number.split(" ", 1)[0]!) && digits.length === number.replaceAll(" ", "").length;
  const [number = digits] = Object.values(COUNTRIES).find(isLike) ?? [];
  let at = 0;
  const groups = number.split(" ").map(({ length }) => digits.slice(at, (at += length)));
  return `+${groups.join(SPACE)}`;
}

/** A parameter's name: `%73tatus` is `status`. The constructor drops one leading question mark. */
const nameOf = (parameter: string): string => [...new URLSearchParams(`?${parameter}`).keys()][0] ?? "";

/**
 * Returns the URL that the customer returns to (D10): the merchant's `redirectURL` with `reference`,
 * `merchantsReference` and `status` set. The rest of its query and its fragment are preserved exactly. Merchants must
 * not trust these parameters, since a customer can forge them; only a webhook or a verify is authoritative.
 */
export function returnAddress(redirectURL: string, { reference, merchantsReference, status }: Checkout): string {
  const address = new URL(redirectURL);
  const own = { reference, merchantsReference, status };
  const kept = address.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !Object.hasOwn(own, nameOf(parameter)));
  const added = Object.entries(own).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  // The setter drops one leading question mark, which could be part of the merchant's query.
  address.search = `?${[...kept, ...added].join("&")}`;
  return address.href;
}
