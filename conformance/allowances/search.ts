// Searches for the limits that a deployment adds (D45), with payouts that differ from an ordinary payout in one value.
import { commonPairs, dollars, otherPairs, pairOf, type Pair, type Payee } from "../generate/countries.ts";
import { leastOf, type Declaration } from "./declaration.ts";
import { textOf } from "../target/values.ts";

export type Fields = Record<string, unknown>;

export type Search = {
  ordinary: () => Fields;
  /**
   * Sends an ordinary payout with other values, and returns true if the target accepts it. Equal values are sent once.
   * @param checkout true if the target must accept a checkout with these values too
   */
  attempt: (over: Fields, checkout?: boolean) => Promise<boolean>;
  /** Sends an ordinary checkout with other values, and returns true if the target accepts it. */
  checkout: (over: Fields) => Promise<boolean>;
  recipient: string;
  /** A payee in each of `allPairs`, in any order. */
  payees: readonly Payee[];
  /** True if made-up phone numbers and several large amounts do no harm. */
  safe: boolean;
  /** The largest amount to try. All payouts above the ordinary amount together have at most twice this sum. */
  largest: number;
  /** True if the budget covers that amount once more in every currency. */
  reachesCurrencies: boolean;
};

export const allPairs: readonly Pair[] = [...commonPairs, dollars, ...otherPairs];

/** The sizes up to which every target must accept amounts and references, because merchants use them every day. */
export const ordinaryAmount = leastOf("largestAmount");
const ordinaryLength = leastOf("longestReference");
/** References up to this length are tried. No requirement of profile core needs a longer reference. */
const longestTried = 1024;

/** Kinds of characters that a target may refuse in a reference, each with one at which a reference may begin or end. */
export const kinds = [
  { range: "_", sample: "a_b", sign: "_" },
  { range: ".", sample: "a.b", sign: "." },
  { range: " ", sample: "a  b c", sign: " " },
  { range: String.raw`!-,/:-@[-\^${"`"}{-~`, sample: String.raw`a"'\/&<%+#`, sign: "#" },
  { range: String.raw`\u{80}-\u{ffff}`, sample: "Zoë–支付a\u0301", sign: "\u00eb" },
  { range: String.raw`\u{10000}-\u{10ffff}`, sample: "a💸", sign: "💸" },
];
export const signs = [{ range: "-", sign: "-" }, ...kinds];

/** Returns the round numbers 1, 2 and 5 times a power of ten below `limit`, the largest first. */
function roundNumbers(limit: number): number[] {
  const powers = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
  return powers
    .flatMap((power) => [power, 2 * power, 5 * power])
    .filter((each) => each >= ordinaryAmount && each < limit)
    .toSorted((a, b) => b - a);
}

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

/**
 * Returns the largest size that the target accepts; undefined if it accepts `most`, or refuses what every target accepts,
 * so that it is broken and not limited.
 */
async function largestSize(
  [least, most]: [number, number],
  accepts: (size: number) => Promise<boolean>,
  acceptsUsual: () => Promise<boolean>,
): Promise<number | undefined> {
  return (await accepts(most)) || !(await acceptsUsual()) ? undefined : bisect(least, most, accepts);
}

/** Returns the largest amount of a checkout, if it is smaller than that of a payout. Checkouts cost nothing. */
export function largestCheckout({ checkout }: Search, { largestAmount: most = Number.MAX_SAFE_INTEGER }: Declaration) {
  const accepts = (amount: number) => checkout({ amount });
  return largestSize([ordinaryAmount, most], accepts, () => accepts(ordinaryAmount));
}

/** Returns a payee in each currency but the recipient's. */
const inOtherCurrencies = ({ payees, recipient }: Search): Payee[] => {
  const byCurrency = new Map(payees.map((payee) => [payee.currency, payee]));
  byCurrency.delete(pairOf(recipient).currency);
  return [...byCurrency.values()];
};

/** Returns payouts with these amounts, or as much more, in their currencies. */
export const inCurrencies = (search: Search, amounts: Record<string, number>, more: number): Fields[] =>
  inOtherCurrencies(search).flatMap((payee) => {
    const amount = amounts[payee.currency];
    return amount === undefined || amount + more > search.largest ? [] : [{ ...payee, amount: amount + more }];
  });

/** Returns the largest amounts in other currencies than the recipient's, where they are smaller. */
export async function largestByCurrency(
  search: Search,
  known: Declaration,
): Promise<Record<string, number> | undefined> {
  const most = Math.min(known.largestAmount ?? Infinity, search.largest);
  const found: Record<string, number> = {};
  for (const payee of search.reachesCurrencies && most > ordinaryAmount ? inOtherCurrencies(search) : []) {
    const accepts = (amount: number) => search.attempt({ ...payee, amount });
    if ((await accepts(most)) || !(await accepts(ordinaryAmount))) continue;
    for (const amount of roundNumbers(most)) {
      if (!(await accepts(amount))) continue;
      found[payee.currency] = amount;
      break;
    }
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

const padded = (reference: unknown, length: number) => textOf(reference).padEnd(length, textOf(reference));

export const ofLength = ({ ordinary }: Search, length: number) => padded(ordinary()["reference"], length);

/** Returns true if the target accepts an ordinary reference with capitals, as every target must. */
const acceptsOrdinary = ({ ordinary, attempt }: Search) =>
  attempt({ reference: padded(`${textOf(ordinary()["reference"])}-Aa`, ordinaryLength) });

/** Returns the length of the longest reference that the target accepts, if it is a limit. */
export const longestReference = (search: Search) =>
  largestSize(
    [ordinaryLength, longestTried],
    (length) => search.attempt({ reference: ofLength(search, length) }),
    () => acceptsOrdinary(search),
  );

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

/** Matches a character that references may contain. */
const allowedIn = ({ referenceCharacters: characters }: Declaration): RegExp =>
  characters === undefined ? /./u : new RegExp(`[${characters}]`, "u");

/** The character with most bytes that references may contain; undefined if all have one byte. */
const widest = (known: Declaration): string | undefined => {
  const allowed = allowedIn(known);
  return ["💸", "\u652f", "\u00eb"].find((character) => allowed.test(character));
};

/** Returns a reference of this many bytes, with as many characters of several bytes as possible. */
export function ofBytes({ ordinary }: Search, bytes: number, character = "💸"): string {
  const tail = `-${textOf(ordinary()["reference"]).slice(-10)}`;
  const size = Buffer.byteLength(character);
  const left = bytes - tail.length - 1;
  return `a${"b".repeat(Math.max(0, left % size))}${character.repeat(Math.max(0, Math.floor(left / size)))}${tail}`;
}

/** Returns the number of bytes of the longest reference, if references with longer characters must be shorter. */
export async function longestReferenceBytes(search: Search, known: Declaration): Promise<number | undefined> {
  const character = widest(known);
  if (character === undefined) return undefined;
  const longest = known.longestReference ?? longestTried;
  const most = 12 + (longest - 12) * Buffer.byteLength(character);
  const accepts = (bytes: number) => search.attempt({ reference: ofBytes(search, bytes, character) });
  return largestSize([ordinaryLength, most], accepts, () => acceptsOrdinary(search));
}

export const endsOf = (reference: string): string[] => [[...reference][0]!, [...reference].at(-1)!];

/** Returns an ordinary reference between two signs. */
export const between = ({ ordinary }: Search, first: string, last = first): string =>
  `${first}${textOf(ordinary()["reference"]).slice(-12)}${last}`;

/** Returns the characters with which references may begin and end, if only other characters are permitted there. */
export async function referenceEnds(search: Search, known: Declaration): Promise<string | undefined> {
  const allowed = allowedIn(known);
  const tried = signs.filter(({ sign }) => allowed.test(sign));
  const accepts = (first: string, last: string) => search.attempt({ reference: between(search, first, last) });
  let isFree = true;
  for (let index = 0; isFree && index < tried.length; index += 2)
    isFree = await accepts(tried[index]!.sign, (tried[index + 1] ?? tried[index]!).sign);
  if (isFree || !(await acceptsOrdinary(search))) return undefined;
  const free: string[] = [];
  for (const { range, sign } of tried) if (await accepts(sign, sign)) free.unshift(range);
  // A hyphen is last, because it would otherwise make a range.
  return `A-Za-z0-9${free.join("")}`;
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

/** Returns every phone number that a search derives from a recipient's number, whose own number comes last. */
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
