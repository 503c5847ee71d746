// Countries, their currencies and phone numbers (§1). A conforming server may refuse a phone number of another country.
import { pick, type Random } from "./random.ts";
import { allowsMadeUpNumbers, type CheckOptions } from "../run-options.ts";

export type Pair = {
  /** ISO 3166 code. */
  country: string;
  /** ISO 4217 code. */
  currency: string;
  /** The calling code. Every phone number of the country starts with it. */
  code: string;
  /** The first digits, after the calling code, of the country's mobile numbers. */
  mobile: readonly [string, ...string[]];
  /** The length of a mobile number, including the calling code. */
  digits: number;
};

/** The pairs of country and currency that most checks use. */
export const commonPairs: readonly [Pair, ...Pair[]] = [
  { country: "CI", currency: "XOF", code: "225", mobile: ["07", "05", "01"], digits: 13 },
  { country: "NG", currency: "NGN", code: "234", mobile: ["803", "806", "703", "813", "905"], digits: 13 },
  { country: "GH", currency: "GHS", code: "233", mobile: ["24", "54", "20", "50", "27"], digits: 12 },
  { country: "KE", currency: "KES", code: "254", mobile: ["71", "72", "70", "79"], digits: 12 },
];

/** A pair with USD, which §1 names in addition to the currencies of the common pairs. */
export const dollars: Pair = {
  country: "US",
  currency: "USD",
  code: "1",
  // Numbers with 555 after the area code are reserved for uses such as this one.
  mobile: ["2025550", "2125550", "3125550"],
  digits: 11,
};

/** Further countries, with mobile numbers of every length from 10 to 15 digits. */
export const otherPairs: readonly [Pair, ...Pair[]] = [
  { country: "IS", currency: "ISK", code: "354", mobile: ["69", "77", "86"], digits: 10 },
  { country: "FR", currency: "EUR", code: "33", mobile: ["6"], digits: 11 },
  { country: "ZA", currency: "ZAR", code: "27", mobile: ["82", "72"], digits: 11 },
  { country: "SN", currency: "XOF", code: "221", mobile: ["77", "78"], digits: 12 },
  { country: "UG", currency: "UGX", code: "256", mobile: ["77", "75"], digits: 12 },
  { country: "IN", currency: "INR", code: "91", mobile: ["98", "99"], digits: 12 },
  { country: "BR", currency: "BRL", code: "55", mobile: ["119"], digits: 13 },
  { country: "DE", currency: "EUR", code: "49", mobile: ["151", "171"], digits: 13 },
  { country: "ID", currency: "IDR", code: "62", mobile: ["812"], digits: 14 },
  { country: "AT", currency: "EUR", code: "43", mobile: ["664"], digits: 15 },
];

const [defaultPair] = commonPairs;

/** Returns the common pair that matches a phone number's calling code; without a match, the first pair. */
export const pairOf = (phoneNumber: unknown): Pair =>
  commonPairs.find(({ code }) => String(phoneNumber).startsWith(code)) ?? defaultPair;

/**
 * Makes up a mobile number of the pair's country. It keeps the recipient's last three digits, which may force an outcome
 * in a sandbox (D17).
 */
function numberIn({ code, mobile, digits }: Pair, recipient: string, random: Random): string {
  const start = code + pick(random, mobile);
  const free = digits - 3 - start.length;
  return start + String(free === 0 ? "" : random(0, 10 ** free - 1)).padStart(free, "0") + recipient.slice(-3);
}

/** The fields of a disbursement that say to whom, where and in which currency it is paid. */
export type Payee = { phoneNumber: string; country: string; currency: string };

/** Returns a payee with a made-up number in the pair's country. */
export const payeeIn = (pair: Pair, recipient: string, random: Random): Payee => ({
  phoneNumber: numberIn(pair, recipient, random),
  country: pair.country,
  currency: pair.currency,
});

/** Returns the recipient as payee in the pair's country or, if the number is of another country, a made-up payee. */
export const fieldsFor = (pair: Pair, recipient: string, random: Random): Payee =>
  recipient.startsWith(pair.code)
    ? { phoneNumber: recipient, country: pair.country, currency: pair.currency }
    : payeeIn(pair, recipient, random);

/** Returns the recipient as payee, in its own country. */
export const homeOf = (recipient: string): Payee => fieldsFor(pairOf(recipient), recipient, () => 0);

/** Returns a payee in one of the common countries or, if made-up phone numbers are not allowed, the recipient. */
export function anyPayee(options: CheckOptions, random: Random): Payee {
  const { recipient } = options;
  return allowsMadeUpNumbers(options) ? payeeIn(pick(random, commonPairs), recipient, random) : homeOf(recipient);
}
