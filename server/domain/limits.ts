import { ServiceError } from "./errors.ts";
import type { Approval } from "./records.ts";

/** Amounts by currency, in its lowest denomination. */
export type Amounts = Readonly<Record<string, number>>;

/**
 * The limits of payouts (D92), for one key or for a merchant with all its keys. Limits in amounts also limit the
 * currencies: a payout in a currency without an amount is refused, because amounts of currencies cannot be compared.
 */
export interface Limits {
  perPayment?: Amounts;
  /** The sum of all payouts that were created on a day (UTC), whatever became of them. */
  perDay?: Amounts;
  countries?: readonly string[];
  currencies?: readonly string[];
  /** The only phone numbers that may be paid. */
  recipients?: readonly string[];
  /** From these amounts on, a payout waits for approval (D93). In a currency without an amount every payout waits. */
  approvalFrom?: Amounts;
}

/** The limits of a key or a merchant that apply to a payout. */
export interface Bound {
  /** The key's id; empty for the merchant. */
  keyId: string;
  limits: Limits;
}

interface Payout {
  amount: number;
  country: string;
  currency: string;
  customer: { phoneNumber: string };
}

/**
 * Returns why limits do not permit a payout; undefined if they do.
 * @param used the sum of the day's earlier payouts in the currency
 */
export function limitRefusal(payout: Payout, { keyId, limits }: Bound, used: number): ServiceError | undefined {
  const broken = brokenLimit(payout, limits, used);
  if (broken === undefined) return undefined;
  const owner = keyId === "" ? "your merchant account" : "this API key";
  return new ServiceError("limit_exceeded", `A limit of ${owner} refuses this payout: ${broken}.`);
}

function brokenLimit({ amount, country, currency, customer }: Payout, limits: Limits, used: number) {
  const { perPayment, perDay, countries, currencies, recipients } = limits;
  if (countries && !countries.includes(country)) return `countries ${countries.join(", ")}`;
  if (currencies && !currencies.includes(currency)) return `currencies ${currencies.join(", ")}`;
  if (recipients && !recipients.includes(customer.phoneNumber)) return "only certain recipients";
  if (perPayment && !(amount <= amountIn(perPayment, currency))) return `per payment ${amountsText(perPayment)}`;
  if (perDay && !(used + amount <= amountIn(perDay, currency)))
    return `per day (UTC) ${amountsText(perDay)}, of which ${used} ${currency} are used`;
  return undefined;
}

/** Returns whose approval a payout needs; undefined if it needs none. */
export function approvalLevel(
  { amount, currency }: Pick<Payout, "amount" | "currency">,
  bounds: readonly Bound[],
): Approval["level"] | undefined {
  const asking = bounds.filter(
    ({ limits: { approvalFrom } }) => approvalFrom && amount >= amountIn(approvalFrom, currency),
  );
  if (asking.length === 0) return undefined;
  return asking.some(({ keyId }) => keyId === "") ? "operator" : "merchant";
}

/** The amount in a currency; -1 without one. */
export const amountIn = (amounts: Amounts, currency: string) =>
  Object.hasOwn(amounts, currency) ? amounts[currency]! : -1;

const amountsText = (amounts: Amounts): string =>
  Object.entries(amounts)
    .map(([currency, amount]) => `${currency}:${amount}`)
    .join(",");

/** The names of limits, as people write them, and their meaning. */
export const LIMITS = {
  perPayment: { example: "XOF:5000000", meaning: "the most of one payout, for each currency that may be paid" },
  perDay: { example: "XOF:20000000,GHS:90000", meaning: "the most of all payouts of a day (UTC), for each currency" },
  countries: { example: "CI,GH", meaning: "the only countries" },
  currencies: { example: "XOF,GHS", meaning: "the only currencies" },
  recipients: { example: "2250700000001", meaning: "the only phone numbers" },
  approvalFrom: { example: "XOF:1000000", meaning: "the amount from which on a payout waits for approval" },
} as const satisfies Record<keyof Limits, { example: string; meaning: string }>;
const NAMES = Object.keys(LIMITS) as (keyof Limits)[];

/** Limits as people write them, such as `XOF:5000000` for `perPayment`. */
export type LimitTexts = { readonly [Name in keyof Limits]?: string | undefined };

export function limitTexts(limits: Limits | undefined): Record<string, string> {
  const texts = Object.entries(limits ?? {}).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(",") : amountsText(value as Amounts),
  ]);
  return Object.fromEntries(texts) as Record<string, string>;
}

const PATTERNS = { countries: /^[A-Z]{2}$/, currencies: /^[A-Z]{3}$/, recipients: /^\d{10,15}$/ };
/** How many values a limit may have. The number is small, because each create reads the values. */
const MOST = 200;

/** Reads what people have written under some of these names; without any, it is undefined. */
export function readTexts<Name extends string, All>(
  names: readonly Name[],
  texts: Readonly<Partial<Record<Name, string | undefined>>>,
  parse: (name: Name, text: string) => unknown,
): All | undefined {
  const given = names.filter((name) => (texts[name] ?? "").trim() !== "");
  if (given.length === 0) return undefined;
  return Object.fromEntries(given.map((name) => [name, parse(name, texts[name]!.trim())])) as All;
}

/** @throws ServiceError `invalid_value` */
export const parseLimits = (texts: LimitTexts): Limits | undefined =>
  readTexts(NAMES, texts, (name, text) =>
    parsedLimit(
      name,
      text.split(",").map((each) => each.trim()),
    ),
  );

function parsedLimit(name: keyof Limits, values: readonly string[]): Amounts | string[] {
  if (values.length > MOST) throw invalid(name, `can have at most ${MOST} values`);
  if (name === "countries" || name === "currencies" || name === "recipients") {
    if (!values.every((value) => PATTERNS[name].test(value))) throw invalid(name, "is not valid");
    return [...new Set(values)];
  }
  const amounts = toAmounts(values);
  if (typeof amounts === "string") throw invalid(name, amounts);
  return amounts;
}

/** Reads amounts such as `XOF:5000000`. Returns what is wrong with them as text. */
export function toAmounts(values: readonly string[]): Amounts | string {
  const pairs = values.map((value) => /^([A-Z]{3}):(\d+)$/.exec(value));
  const entries = pairs.map((pair) => [pair?.[1] ?? "", Number(pair?.[2])] as const);
  if (!entries.every(([, amount]) => Number.isSafeInteger(amount))) return "is not valid";
  if (new Set(entries.map(([currency]) => currency)).size < entries.length) return "has a currency twice";
  return Object.fromEntries(entries);
}

const invalid = (name: keyof Limits, what: string) =>
  new ServiceError(
    "invalid_value",
    `The limit ${name} ${what}. It lists values with commas, such as ${LIMITS[name].example}.`,
  );

/** A fee rule: basis points of the amount plus a fixed part in the lowest denomination (D14). */
export interface FeeRule {
  basisPoints: number;
  fixed: number;
}

/** The fee charged on top of an amount, in the lowest denomination, rounded half up (D14). */
export function feeFor(amount: number, { basisPoints, fixed }: FeeRule): number {
  // BigInt, because amount times basis points can exceed 2^53.
  const proportional = (BigInt(amount) * BigInt(basisPoints) + 5_000n) / 10_000n;
  return Number(proportional) + fixed;
}

/** What an operator has agreed with a merchant (D14). Where a term is absent, the server's settings apply. */
export interface Terms {
  disbursementFee?: FeeRule;
  checkoutFee?: FeeRule;
  /** Requests per second. */
  rateLimit?: number;
}

/** The names of terms, as people write them, and their meaning. */
export const TERMS = {
  disbursementFee: {
    example: "80+100",
    meaning: "fee of a payout: basis points, and perhaps + a fixed part in the lowest denomination",
  },
  checkoutFee: { example: "350", meaning: "fee of a checkout, written like the fee of a payout" },
  rateLimit: { example: "50", meaning: "requests per second" },
} as const satisfies Record<keyof Terms, { example: string; meaning: string }>;
const TERM_NAMES = Object.keys(TERMS) as (keyof Terms)[];

/** Terms as people write them. */
export type TermTexts = { readonly [Name in keyof Terms]?: string | undefined };

export function termTexts(terms: Terms | undefined): Record<string, string> {
  const texts = Object.entries(terms ?? {}).map(([name, value]: [string, FeeRule | number]) => [
    name,
    typeof value === "number" ? String(value) : `${value.basisPoints}${value.fixed > 0 ? `+${value.fixed}` : ""}`,
  ]);
  return Object.fromEntries(texts) as Record<string, string>;
}

/** @throws ServiceError `invalid_value` */
export const parseTerms = (texts: TermTexts): Terms | undefined => readTexts(TERM_NAMES, texts, parsedTerm);

/** The largest values are the same as for the settings, so that the fee of the largest amount is an exact integer. */
function parsedTerm(name: keyof Terms, text: string): FeeRule | number {
  const [, first, fixed = "0"] = /^(\d{1,10})(?:\s*\+\s*(\d{1,10}))?$/.exec(text) ?? [];
  const [one, other] = [Number(first), Number(fixed)];
  if (name === "rateLimit") {
    if (!text.includes("+") && one >= 1 && one <= 1_000_000) return one;
    throw invalidTerm(name, "must be a whole number from 1 to 1000000");
  }
  if (one <= 9_999 && other <= 1_000_000_000) return { basisPoints: one, fixed: other };
  throw invalidTerm(name, "must be up to 9999 basis points, and perhaps + a fixed part up to 1000000000");
}

const invalidTerm = (name: keyof Terms, rule: string) =>
  new ServiceError("invalid_value", `${name} ${rule}, such as ${TERMS[name].example}.`);
