// Countries, their currencies and phone numbers (§1). A conforming server may refuse a phone number of another country.
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";

export type Pair = {
  country: string;
  currency: string;
  /** The calling code. Every phone number of the country starts with it. */
  code: string;
  /** A mobile number without its last three digits. */
  start: string;
};

/** The pairs of country and currency that most checks use. */
export const commonPairs: readonly Pair[] = [
  { country: "CI", currency: "XOF", code: "225", start: "2250703810" },
  { country: "NG", currency: "NGN", code: "234", start: "2348031234" },
  { country: "GH", currency: "GHS", code: "233", start: "233244123" },
  { country: "KE", currency: "KES", code: "254", start: "254712345" },
];

/** A pair with USD, which §1 names in addition to the currencies of the common pairs. */
export const dollars: Pair = { country: "US", currency: "USD", code: "1", start: "12025550" };

const defaultPair = commonPairs[0] as Pair;

/** Returns the common pair that matches a phone number's calling code; without a match, the first pair. */
export const pairOf = (phoneNumber: unknown): Pair =>
  commonPairs.find(({ code }) => String(phoneNumber).startsWith(code)) ?? defaultPair;

/**
 * Returns the country, currency and phone number of a disbursement for a pair. The phone number is the recipient's if
 * it belongs to the country. Otherwise it is made up and keeps the recipient's last three digits, which may force an
 * outcome in a sandbox (D17).
 */
export const fieldsFor = ({ country, currency, code, start }: Pair, recipient: string) => ({
  country,
  currency,
  phoneNumber: recipient.startsWith(code) ? recipient : start + recipient.slice(-3),
});

/**
 * Returns the country, currency and phone number of a disbursement to a country other than the recipient's; undefined
 * if made-up phone numbers are not allowed.
 */
export function fieldsAbroad(options: RunOptions) {
  const home = pairOf(options.recipient);
  const other = commonPairs.findLast((pair) => pair !== home) as Pair;
  return allowsMadeUpNumbers(options) ? fieldsFor(other, options.recipient) : undefined;
}
