// Countries, their currencies and phone numbers (§1). A conforming server may refuse a phone number of another country.
import { pick, type Random } from "./random.ts";
import { allowsMadeUpNumbers, type CheckOptions, type RunOptions } from "../run-options.ts";
import { textOf } from "../target/values.ts";

export type Pair = {
  country: string;
  currency: string;
  /** The calling code. Every phone number of the country starts with it. */
  code: string;
  /** The first digits, after the calling code, of the country's mobile numbers. */
  mobile: readonly [string, ...string[]];
  /** The length of a mobile number, including the calling code. */
  digits: number;
};

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
  // Numbers with 555 after the area code are reserved for made-up numbers such as these.
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
  commonPairs.find(({ code }) => textOf(phoneNumber).startsWith(code)) ?? defaultPair;

export type Recipient = Pick<RunOptions, "recipient" | "assumed">;

/** Last digits that force an outcome in a sandbox (D17), or look as if: equal digits, round numbers, HTTP errors. */
const meaningful = /^(00.|089|129|40[0-9]|42[29]|50[0-4]|60[0-9]|.00|(.)\2\2)$/;

/** Returns the recipient's last three digits or, if the caller named no recipient, three that are not `meaningful`. */
function lastDigits({ recipient, assumed }: Recipient, random: Random): string {
  if (!assumed.includes("recipient")) return recipient.slice(-3);
  const last = String(random(0, 999)).padStart(3, "0");
  return meaningful.test(last) ? lastDigits({ recipient, assumed }, random) : last;
}

/** Makes up a mobile number of the pair's country, which has the same effect in a sandbox as the recipient's number. */
function numberIn({ code, mobile, digits }: Pair, recipient: Recipient, random: Random): string {
  const start = code + pick(random, mobile);
  const free = digits - 3 - start.length;
  const middle = free === 0 ? "" : String(random(0, 10 ** free - 1)).padStart(free, "0");
  return start + middle + lastDigits(recipient, random);
}

export type Payee = { phoneNumber: string; country: string; currency: string };

export const payeeIn = (pair: Pair, recipient: Recipient, random: Random): Payee => ({
  phoneNumber: numberIn(pair, recipient, random),
  country: pair.country,
  currency: pair.currency,
});

/** The first digits of a placeholder: `varied` replaces it by a number with the same last three digits. */
export const forcedStart = "2250000000";

/** Returns another number that forces the same outcome. A number that forces none is returned as it is. */
export const varied = (phoneNumber: unknown, random: Random): unknown =>
  typeof phoneNumber === "string" && phoneNumber.length === 13 && phoneNumber.startsWith(forcedStart)
    ? numberIn(pairOf(phoneNumber), { recipient: phoneNumber, assumed: [] }, random)
    : phoneNumber;

/** Returns the recipient as payee in the pair's country or, if the number is of another country, a made-up payee. */
export const fieldsFor = (pair: Pair, options: Recipient, random: Random): Payee =>
  options.recipient.startsWith(pair.code)
    ? { phoneNumber: options.recipient, country: pair.country, currency: pair.currency }
    : payeeIn(pair, options, random);

/** Returns the recipient as payee, in its own country. */
export const homeOf = (recipient: string): Payee => fieldsFor(pairOf(recipient), { recipient, assumed: [] }, () => 0);

/** Returns a payee in one of the common countries or, if made-up phone numbers are not allowed, the recipient. */
export function anyPayee(options: CheckOptions, random: Random): Payee {
  return allowsMadeUpNumbers(options) ? payeeIn(pick(random, commonPairs), options, random) : homeOf(options.recipient);
}
