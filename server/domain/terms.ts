import { ServiceError } from "./errors.ts";
import { readTexts } from "./limits.ts";

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
