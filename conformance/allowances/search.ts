// Searches for the limits that a deployment adds (D45), with payouts that differ from an ordinary payout in one value.
import { commonPairs, dollars, otherPairs, pairOf, type Pair, type Payee } from "../generate/countries.ts";
import { leastOf, type Declaration } from "./declaration.ts";
import { textOf } from "../target/values.ts";

export type Fields = Record<string, unknown>;

export type Search = {
  /** Returns an ordinary payout with a fresh reference, which every target must accept. */
  ordinary: () => Fields;
  /**
   * Sends an ordinary payout with other values, and returns true if the target accepts it. Equal values are sent once.
   * @param checkout true if the target must accept a checkout with these values too
   */
  attempt: (over: Fields, checkout?: boolean) => Promise<boolean>;
  recipient: string;
  /** A payee in each of `allPairs`, in any order. */
  payees: readonly Payee[];
  /** True if made-up phone numbers and several large amounts do no harm. */
  safe: boolean;
  /** The largest amount to try. All payouts above the ordinary amount together have at most twice this sum. */
  largest: number;
};

export const allPairs: readonly Pair[] = [...commonPairs, dollars, ...otherPairs];

/** The sizes up to which every target must accept amounts and references, because merchants use them every day. */
export const ordinaryAmount = leastOf("largestAmount");
const ordinaryLength = leastOf("longestReference");
/** References up to this length are tried. No requirement of profile core needs a longer reference. */
const longestTried = 1024;

/** Kinds of characters that a target may refuse in a reference. */
export const kinds = [
  { range: "_", sample: "_a_" },
  { range: ".", sample: "a.b." },
  { range: " ", sample: "  a  b  " },
  { range: String.raw`!-,/:-@[-\^${"`"}{-~`, sample: String.raw`"'\/&<>%+#` },
  { range: String.raw`\u{80}-\u{ffff}`, sample: "Zoë–支付a\u0301" },
  { range: String.raw`\u{10000}-\u{10ffff}`, sample: "💸" },
];

/** Returns the round numbers 1, 2 and 5 times a power of ten below `limit`, the largest first. */
function roundNumbers(limit: number): number[] {
  const powers = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
  return powers
    .flatMap((power) => [power, 2 * power, 5 * power])
    .filter((each) => each >= ordinaryAmount && each < limit)
    .toSorted((a, b) => b - a);
}

/** Returns the largest whole number from `low` that is accepted. `low` is accepted and `high` is refused. */
async function bisect(low: number, high: number, accepts: (value: number) => Promise<boolean>): Promise<number> {
  let [best, worst] = [low, high];
  while (worst - best > 1) {
    const middle = best + Math.floor((worst - best) / 2);
    if (await accepts(middle)) best = middle;
    else worst = middle;
  }
  return best;
}

/** Returns the smallest amount that the target accepts, if it is not 1. */
export async function smallestAmount({ ordinary, attempt }: Search): Promise<number | undefined> {
  // An ordinary amount is this round number, which the target accepts, or somewhat larger.
  const usual = Math.floor(Number(ordinary()["amount"]) / 100) * 100;
  const accepts = (less: number) => attempt({ amount: usual - less });
  return (await accepts(usual - 1)) ? undefined : usual - (await bisect(0, usual - 1, accepts));
}

/** Returns the largest amount that the target accepts. It is exact if the budget suffices. */
export async function largestAmount({ attempt, safe, largest }: Search): Promise<number | undefined> {
  let spent = 0;
  const accepts = async (amount: number) => {
    if (spent + amount > largest) return false;
    const ok = await attempt({ amount });
    if (ok) spent += amount;
    return ok;
  };
  if (largest <= ordinaryAmount || (await accepts(largest))) return undefined;
  let least = largest;
  for (const amount of roundNumbers(largest)) {
    if (!(await accepts(amount))) {
      least = amount;
      continue;
    }
    // Limits are usually round numbers, so that one refused request proves where the limit is.
    if (!safe || !(await accepts(amount + 1))) return amount;
    return bisect(amount + 1, least, accepts);
  }
  return undefined;
}

const padded = (reference: unknown, length: number) => textOf(reference).padEnd(length, textOf(reference));

/** Returns a reference of this length. */
export const ofLength = ({ ordinary }: Search, length: number) => padded(ordinary()["reference"], length);

/**
 * Returns true if the target accepts an ordinary reference with capitals. If it does not, the target is broken, and not
 * limited.
 */
const acceptsOrdinary = ({ ordinary, attempt }: Search) =>
  attempt({ reference: padded(`${textOf(ordinary()["reference"])}-Aa`, ordinaryLength) });

/** Returns the length of the longest reference that the target accepts, if it is a limit. */
export async function longestReference(search: Search): Promise<number | undefined> {
  const accepts = (length: number) => search.attempt({ reference: ofLength(search, length) });
  if ((await accepts(longestTried)) || !(await acceptsOrdinary(search))) return undefined;
  return bisect(ordinaryLength, longestTried, accepts);
}

/** Returns a fresh reference after these characters; only the end of the reference if the whole is too long. */
export function spelled({ ordinary }: Search, text: string, longest = ordinaryLength): string {
  const reference = textOf(ordinary()["reference"]);
  const whole = `${text}-${reference}`;
  if ([...whole].length <= longest) return whole;
  return text + reference.slice(-Math.max(10, ordinaryLength - [...text].length));
}

/** Returns the characters of references that the target accepts, if it refuses some. */
export async function referenceCharacters(search: Search, known: Declaration): Promise<string | undefined> {
  const longest = known.longestReference ?? longestTried;
  const all = spelled(search, kinds.map(({ sample }) => sample).join(""), longest);
  const fits = [...all].length <= longest;
  if (fits && (await search.attempt({ reference: all }))) return undefined;
  if (!(await acceptsOrdinary(search))) return undefined;
  const allowed: string[] = [];
  for (const { range, sample } of kinds)
    if (await search.attempt({ reference: spelled(search, sample, longest) })) allowed.push(range);
  return allowed.length < kinds.length ? `A-Za-z0-9${allowed.join("")}-` : undefined;
}

/** Returns the values of `field` in the pairs that the target serves, if it refuses a pair because of this field. */
export async function places(
  { attempt, payees, recipient }: Search,
  field: "country" | "currency",
): Promise<string[] | undefined> {
  const home = pairOf(recipient);
  const served = { country: new Set([home.country]), currency: new Set([home.currency]) };
  const refused: Payee[] = [];
  // The checks create checkouts in the common countries only.
  const accepts = (payee: Payee, over: Partial<Payee>) =>
    attempt(
      over,
      commonPairs.some(({ country }) => country === payee.country),
    );
  for (const payee of payees) {
    if (await accepts(payee, payee)) {
      served.country.add(payee.country);
      served.currency.add(payee.currency);
    } else refused.push(payee);
  }
  // The country or currency of a refused pair is served if the target accepts it alone.
  for (const payee of refused) {
    const { country, currency } = payee;
    if (!served.country.has(country) && (await accepts(payee, { ...payee, currency: home.currency })))
      served.country.add(country);
    if (!served.currency.has(currency) && (await accepts(payee, { currency }))) served.currency.add(currency);
  }
  return refused.some((payee) => !served[field].has(payee[field]))
    ? [...new Set(allPairs.map((pair) => pair[field]))].filter((code) => served[field].has(code))
    : undefined;
}

/** Returns the phone number with other digits after the first `kept`. */
const changed = (phoneNumber: string, kept: number) =>
  phoneNumber.slice(0, kept) + phoneNumber.slice(kept).replaceAll(/\d/g, (digit) => String((Number(digit) + 5) % 10));

/**
 * Returns every phone number that a search derives from a recipient's number, and as the last the recipient's own
 * number.
 */
export const numbersLike = (recipient: string): string[] =>
  Array.from({ length: recipient.length + 1 }, (_, kept) => changed(recipient, kept));

/** Returns a phone number in the recipient's country with other digits. */
export function otherNumber({ recipient }: Pick<Search, "recipient">): string {
  const { code } = pairOf(recipient);
  return changed(recipient, recipient.startsWith(code) ? code.length : 0);
}

/**
 * Returns the numbers that the target serves: leading digits in the recipient's country, and the calling codes of other
 * countries.
 */
export async function numberRanges(search: Search, { countries }: Declaration): Promise<string[] | undefined> {
  const { recipient, attempt } = search;
  if (await attempt({ phoneNumber: otherNumber(search) })) return undefined;
  const least = await bisect(
    0,
    recipient.length,
    async (kept) => !(await attempt({ phoneNumber: changed(recipient, kept) })),
  );
  const abroad = allPairs.filter((pair) => pair.code !== pairOf(recipient).code);
  const served = abroad.filter(({ country }) => countries?.includes(country) ?? true);
  return [recipient.slice(0, least + 1), ...served.map(({ code }) => code)];
}

const host = "merchant.example/hooks";
export const [plainAddress, secureAddress] = [`http://${host}`, `https://${host}`];

/** Returns true if the target accepts an https address, but not the same address with http. */
export async function httpsWebhooks({ attempt }: Search): Promise<true | undefined> {
  const accepts = (webhookURL: string) => attempt({ webhookURL }, true);
  return !(await accepts(plainAddress)) && (await accepts(secureAddress)) ? true : undefined;
}
