// §1: countries, their currencies and phone numbers. A sound server may refuse a number that is not of the country.
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";

export type Pair = {
  country: string;
  currency: string;
  /** The calling code, with which every phone number of the country starts. */
  code: string;
  /** The start of a mobile number. Three more digits complete it. */
  start: string;
};

/** The common pairs. */
export const commonPairs: readonly Pair[] = [
  { country: "CI", currency: "XOF", code: "225", start: "2250703810" },
  { country: "NG", currency: "NGN", code: "234", start: "2348031234" },
  { country: "GH", currency: "GHS", code: "233", start: "233244123" },
  { country: "KE", currency: "KES", code: "254", start: "254712345" },
];

/** A pair in the other currency that §1 names. */
export const dollars: Pair = { country: "US", currency: "USD", code: "1", start: "12025550" };

const defaultPair = commonPairs[0] as Pair;

/** The common pair of a phone number; the first one if the number belongs to none of them. */
export const pairOf = (phoneNumber: unknown): Pair =>
  commonPairs.find(({ code }) => String(phoneNumber).startsWith(code)) ?? defaultPair;

/**
 * A disbursement's fields for a pair, with the recipient's number or, in another country, a made-up number with the
 * recipient's last three digits, since those may force an outcome (D17).
 */
export const fieldsFor = ({ country, currency, code, start }: Pair, recipient: string) => ({
  country,
  currency,
  phoneNumber: recipient.startsWith(code) ? recipient : start + recipient.slice(-3),
});

/** A disbursement's fields for a common pair other than the recipient's; undefined if numbers cannot be made up. */
export function fieldsAbroad(options: RunOptions) {
  const home = pairOf(options.recipient);
  const other = commonPairs.findLast((pair) => pair !== home) as Pair;
  return allowsMadeUpNumbers(options) ? fieldsFor(other, options.recipient) : undefined;
}
