// The ways to search for the limits that a deployment adds (D45), with payouts that differ from an ordinary payout in one
// value.
import { commonPairs, dollars, otherPairs, pairOf, type Pair, type Payee } from "../generate/countries.ts";
import { leastOf, type Declaration } from "./declaration.ts";
import { textOf } from "../target/values.ts";

export type Fields = Record<string, unknown>;

export type Search = {
  ordinary: () => Fields;
  /**
   * Sends an ordinary payout, or checkout for a limit of checkouts, with other values, and returns true if the target
   * accepts it. Equal values are sent once.
   * @param withCheckout true if the target must accept a checkout with these values too
   */
  attempt: (over: Fields, withCheckout?: boolean) => Promise<boolean>;
  recipient: string;
  /** A payee in each of `allPairs`, in any order. */
  payees: readonly Payee[];
  /** True if made-up phone numbers and several large amounts do no harm. */
  safe: boolean;
  /** The largest amount to try. All payouts above the ordinary amount together have at most twice this sum. */
  maxAmountTried: number;
  /** True if the budget covers `maxAmountTried` once more in every currency. */
  reachesCurrencies: boolean;
};

export const allPairs: readonly Pair[] = [...commonPairs, dollars, ...otherPairs];

/** The sizes up to which every target must accept amounts and references, because merchants use them every day. */
export const ordinaryAmount = leastOf("largestAmount");
export const ordinaryLength = leastOf("longestReference");
/** References up to this length are tried. No requirement of profile core needs a longer reference. */
export const longestTried = 1024;

/** Kinds of characters that a target may refuse in a reference, each with one at which a reference may begin or end. */
export const kinds = [
  { range: "_", sample: "a_b", sign: "_" },
  { range: ".", sample: "a.b", sign: "." },
  { range: " ", sample: "a  b c", sign: " " },
  { range: String.raw`!-,/:-@[-\^${"`"}{-~`, sample: String.raw`a"'\/&<%+#`, sign: "#" },
  { range: String.raw`\u{80}-\u{ffff}`, sample: "Zoë–支付a\u0301", sign: "\u00eb" },
  { range: String.raw`\u{10000}-\u{10ffff}`, sample: "a💸", sign: "💸" },
];
/** A hyphen is last, because it would otherwise make a range. */
export const signs = [...kinds, { range: "-", sign: "-" }];

/** Returns the last size that the target accepts on the way from an accepted size to a refused one. */
async function bisect(accepted: number, refused: number, accepts: (size: number) => Promise<boolean>) {
  let [best, worst] = [accepted, refused];
  while (Math.abs(worst - best) > 1) {
    const middle = best + Math.trunc((worst - best) / 2);
    if (await accepts(middle)) best = middle;
    else worst = middle;
  }
  return best;
}

/**
 * Returns the last size that the target accepts between two sizes; undefined if it accepts all, or refuses what every
 * target accepts, so that it is broken and not limited.
 */
export async function lastSize(
  [usual, last]: [number, number],
  accepts: (size: number) => Promise<boolean>,
  acceptsUsual = () => accepts(usual),
): Promise<number | undefined> {
  return (await accepts(last)) || !(await acceptsUsual()) ? undefined : bisect(usual, last, accepts);
}

/**
 * Returns the first of the numbers 1, 2 and 5 times a power of ten that the target accepts, from the largest one below
 * `refused` down to the ordinary amount, and the smallest number that it refuses.
 */
async function largestRound(refused: number, accepts: (amount: number) => Promise<boolean>) {
  const powers = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
  const all = powers.flatMap((power) => [power, 2 * power, 5 * power]).toReversed();
  let least = refused;
  for (const amount of all.filter((each) => each >= ordinaryAmount && each < refused)) {
    if (await accepts(amount)) return { amount, refused: least };
    least = amount;
  }
  return undefined;
}

/** Returns the largest amount that the target accepts. It is exact if the budget suffices. */
export async function largestAmount({ attempt, safe, maxAmountTried: most }: Search): Promise<number | undefined> {
  let spent = 0;
  const accepts = async (amount: number) => {
    if (spent + amount > most) return false;
    const ok = await attempt({ amount });
    if (ok) spent += amount;
    return ok;
  };
  if (most <= ordinaryAmount || (await accepts(most))) return undefined;
  const round = await largestRound(most, accepts);
  // Limits are usually round numbers, so that one refused request proves where the limit is.
  if (!round || !safe || !(await accepts(round.amount + 1))) return round?.amount;
  return bisect(round.amount + 1, round.refused, accepts);
}

/** Returns a payee in each currency but the recipient's. */
const inOtherCurrencies = ({ payees, recipient }: Search): Payee[] => {
  const byCurrency = new Map(payees.map((payee) => [payee.currency, payee]));
  byCurrency.delete(pairOf(recipient).currency);
  return [...byCurrency.values()];
};

/** Returns a payout for each amount, by currency, with `more` added. Amounts beyond the budget are left out. */
export const inCurrencies = (search: Search, amounts: Record<string, number>, more: number): Fields[] =>
  inOtherCurrencies(search).flatMap((payee) => {
    const amount = amounts[payee.currency];
    return amount === undefined || amount + more > search.maxAmountTried ? [] : [{ ...payee, amount: amount + more }];
  });

/** Returns the largest amounts in other currencies than the recipient's, where they are smaller. */
export async function largestByCurrency(search: Search, known: Declaration) {
  const most = Math.min(known.largestAmount ?? Infinity, search.maxAmountTried);
  const found: Record<string, number> = {};
  for (const payee of search.reachesCurrencies && most > ordinaryAmount ? inOtherCurrencies(search) : []) {
    const accepts = (amount: number) => search.attempt({ ...payee, amount });
    if ((await accepts(most)) || !(await accepts(ordinaryAmount))) continue;
    const round = await largestRound(most, accepts);
    if (round) found[payee.currency] = round.amount;
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Returns a test whether a text has only characters of a class such as `a-z0-9`. Without a class, any text passes. */
export function madeOf(characters?: string): (text: string) => boolean {
  const allowed = characters === undefined ? /^/ : new RegExp(`^[${characters}]*$`, "u");
  return (text) => allowed.test(text);
}

const freshReference = ({ ordinary }: Search) => textOf(ordinary()["reference"]);

export function ofLength(search: Search, length: number, end = ""): string {
  const reference = freshReference(search) + end;
  return reference.padEnd(length, reference);
}

/** Returns true if the target accepts an ordinary reference with capitals, as every target must. */
export const acceptsOrdinary = (search: Search) =>
  search.attempt({ reference: ofLength(search, ordinaryLength, "-Aa") });

/** Returns these characters followed by a fresh reference, or by only its end if the whole is too long. */
export function spelled(search: Search, text: string, longest = ordinaryLength): string {
  const reference = freshReference(search);
  const whole = `${text}-${reference}`;
  if ([...whole].length <= longest) return whole;
  return text + reference.slice(-Math.max(10, ordinaryLength - [...text].length));
}

/** Returns an ordinary reference between two signs. */
export const between = (search: Search, first: string, last = first): string =>
  `${first}${freshReference(search).slice(-12)}${last}`;

/**
 * Returns the ranges of the characters that the target accepts in references; undefined if it accepts all.
 * @param together references that together contain every kind; if all are accepted, no kind is tried alone
 */
async function acceptedRanges<Kind extends { range: string }>(
  search: Search,
  tried: readonly Kind[],
  together: readonly string[],
  referenceWith: (kind: Kind) => string,
): Promise<string | undefined> {
  const accepts = (reference: string) => search.attempt({ reference });
  let isFree = together.length > 0;
  for (const reference of together) isFree &&= await accepts(reference);
  if (isFree || !(await acceptsOrdinary(search))) return undefined;
  const free: string[] = [];
  for (const kind of tried) if (await accepts(referenceWith(kind))) free.push(kind.range);
  return free.length < tried.length ? `A-Za-z0-9${free.join("")}` : undefined;
}

/** Returns the characters of references that the target accepts, if it refuses some. */
export async function referenceCharacters(search: Search, known: Declaration): Promise<string | undefined> {
  const longest = known.longestReference ?? longestTried;
  const all = spelled(search, kinds.map(({ sample }) => sample).join(""), longest);
  const together = [...all].length <= longest ? [all] : [];
  const ranges = await acceptedRanges(search, kinds, together, ({ sample }) => spelled(search, sample, longest));
  return ranges && `${ranges}-`;
}

/** Returns the characters with which references may begin and end, if the target refuses some characters there. */
export async function referenceEnds(search: Search, known: Declaration): Promise<string | undefined> {
  const isAllowed = madeOf(known.referenceCharacters);
  const tried = signs.filter(({ sign }) => isAllowed(sign));
  const pairs = tried.flatMap(({ sign }, index) =>
    index % 2 === 0 ? [between(search, sign, (tried[index + 1] ?? tried[index]!).sign)] : [],
  );
  return tried.length === 0 ? undefined : acceptedRanges(search, tried, pairs, ({ sign }) => between(search, sign));
}

/** The character with most bytes that references may contain; undefined if all have one byte. */
export const widest = ({ referenceCharacters: characters }: Declaration): string | undefined =>
  ["💸", "\u652f", "\u00eb"].find(madeOf(characters));

/** Returns a reference of this many bytes, with as many of this character as possible. */
export function ofBytes(search: Search, bytes: number, character: string): string {
  const tail = `-${freshReference(search).slice(-10)}`;
  const size = Buffer.byteLength(character);
  const left = bytes - tail.length - 1;
  return `a${"b".repeat(Math.max(0, left % size))}${character.repeat(Math.max(0, Math.floor(left / size)))}${tail}`;
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

/** Returns every phone number that a search derives from a recipient's number, and this number last. */
export const numbersLike = (recipient: string): string[] =>
  Array.from({ length: recipient.length + 1 }, (_, kept) => changed(recipient, kept));

/** Returns a phone number in the recipient's country with other digits. */
export function otherNumber({ recipient }: Pick<Search, "recipient">): string {
  const { code } = pairOf(recipient);
  return changed(recipient, recipient.startsWith(code) ? code.length : 0);
}

/** Returns leading digits in the recipient's country, and the calling codes of other countries. */
export async function numberRanges(search: Search, { countries }: Declaration): Promise<string[] | undefined> {
  const { recipient, attempt } = search;
  if (await attempt({ phoneNumber: otherNumber(search) })) return undefined;
  const digits = await bisect(recipient.length, 0, (kept) => attempt({ phoneNumber: changed(recipient, kept) }));
  const abroad = allPairs.filter((pair) => pair.code !== pairOf(recipient).code);
  const served = abroad.filter(({ country }) => countries?.includes(country) ?? true);
  return [recipient.slice(0, digits), ...served.map(({ code }) => code)];
}

const host = "merchant.example/hooks";
export const [plainAddress, secureAddress] = [`http://${host}`, `https://${host}`];
