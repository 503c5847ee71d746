import { ServiceError } from "./errors.ts";
import type { Disbursement, Draft } from "./records.ts";

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

type Payout = Pick<Draft<Disbursement>, "amount" | "country" | "currency" | "customer">;

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
  { amount, currency }: Payout,
  bounds: readonly Bound[],
): "operator" | "merchant" | undefined {
  const asking = bounds.filter(
    ({ limits: { approvalFrom } }) => approvalFrom && amount >= amountIn(approvalFrom, currency),
  );
  if (asking.some(({ keyId }) => keyId === "")) return "operator";
  return asking.length > 0 ? "merchant" : undefined;
}

/** The amount in a currency. Without one, -1, which every amount exceeds. */
export const amountIn = (amounts: Amounts, currency: string) =>
  Object.hasOwn(amounts, currency) ? amounts[currency]! : -1;

const amountsText = (amounts: Amounts): string =>
  Object.entries(amounts)
    .map(([currency, amount]) => `${currency}:${amount}`)
    .join(",");

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

/** How people write a value. `read` returns undefined for a text that is not valid. */
export interface Written<Value> {
  example: string;
  read(text: string): Value | undefined;
  write(value: Value): string;
}

/** How many values a limit may have. The number is small, because each create reads the values. */
const MOST = 200;
const valuesIn = (text: string) => text.split(",").map((value) => value.trim());

/** Reads amounts such as `XOF:5000000,GHS:90000`; undefined if the text is not valid. */
export function readAmounts(text: string): Amounts | undefined {
  const pairs = valuesIn(text).map((value) => /^([A-Z]{3}):(\d+)$/.exec(value));
  const amounts = new Map(pairs.map((pair) => [pair?.[1] ?? "", Number(pair?.[2])]));
  const isValid = amounts.size === pairs.length && [...amounts.values()].every(Number.isSafeInteger);
  return isValid && amounts.size <= MOST ? Object.fromEntries(amounts) : undefined;
}

const amounts = (example: string): Written<Amounts> => ({
  example,
  read: readAmounts,
  write: amountsText,
});

const list = (example: string, pattern: RegExp): Written<readonly string[]> => ({
  example,
  read(text) {
    const values = [...new Set(valuesIn(text))];
    return values.length <= MOST && values.every((value) => pattern.test(value)) ? values : undefined;
  },
  write: (values) => values.join(","),
});

/** The largest values are the same as for the settings, so that the fee of the largest amount is an exact integer. */
const fee = (example: string): Written<FeeRule> => ({
  example,
  read(text) {
    const [, first, second = "0"] = /^(\d{1,4})(?:\s*\+\s*(\d{1,10}))?$/.exec(text) ?? [];
    const [basisPoints, fixed] = [Number(first), Number(second)];
    return first !== undefined && fixed <= 1_000_000_000 ? { basisPoints, fixed } : undefined;
  },
  write: ({ basisPoints, fixed }) => `${basisPoints}${fixed > 0 ? `+${fixed}` : ""}`,
});

const rate: Written<number> = {
  example: "50",
  read: (text) => (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000_000 ? Number(text) : undefined),
  write: String,
};

export const LIMITS = {
  perPayment: amounts("XOF:5000000"),
  perDay: amounts("XOF:20000000,GHS:90000"),
  countries: list("CI,GH", /^[A-Z]{2}$/),
  currencies: list("XOF,GHS", /^[A-Z]{3}$/),
  recipients: list("2250700000001", /^\d{10,15}$/),
  approvalFrom: amounts("XOF:1000000"),
} satisfies { [Name in keyof Limits]-?: Written<NonNullable<Limits[Name]>> };

export const TERMS = {
  disbursementFee: fee("80+100"),
  checkoutFee: fee("350"),
  rateLimit: rate,
} satisfies { [Name in keyof Terms]-?: Written<NonNullable<Terms[Name]>> };

const textsOf = (table: Readonly<Record<string, Written<any>>>, values: object = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, table[name]!.write(value)]));

export const limitTexts = (limits: Limits | undefined) => textsOf(LIMITS, limits);
export const termTexts = (terms: Terms | undefined) => textsOf(TERMS, terms);
