// Searches for a limit behind a refused request (D45). A value that the interface leaves open is replaced by an ordinary
// one, one field at a time. If only that field makes the difference, a bisection finds where the limit is.
import { commonPairs, dollars, fieldsFor, pairOf } from "../generate/countries.ts";
import type { Random } from "../generate/random.ts";
import type { Declaration } from "./declaration.ts";

type Fields = Record<string, unknown>;

/** Sends a valid request and returns true if the target accepts it. */
export type Attempt = (fields: Fields) => Promise<boolean>;

export type Search = {
  /** Returns an ordinary request with a fresh reference, which every target must accept. */
  ordinary: () => Fields;
  attempt: Attempt;
  recipient: string;
  random: Random;
  /** True if made-up phone numbers and large amounts do no harm. */
  safe: boolean;
  /** The largest amount that a search may pay, given what is left of the budget. */
  affordable: () => number;
};

/** What every target must accept, because merchants use it every day: amounts and references up to these sizes. */
const ordinaryAmount = 10_000;
export const ordinaryLength = 20;
const ordinaryCharacters = /^[A-Za-z0-9-]*$/;

/** Kinds of characters that a target may refuse in a reference. */
const kinds = [
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
export async function bisect(low: number, high: number, accepts: (value: number) => Promise<boolean>): Promise<number> {
  let [best, worst] = [low, high];
  while (worst - best > 1) {
    const middle = best + Math.floor((worst - best) / 2);
    if (await accepts(middle)) best = middle;
    else worst = middle;
  }
  return best;
}

/** Returns the largest amount that the target accepts below a refused one. It is exact if the budget suffices. */
export async function largestAmount(search: Search, refused: number): Promise<number | undefined> {
  let spent = 0;
  const accepts = async (amount: number) => {
    if (spent + amount > search.affordable()) return false;
    const ok = await search.attempt({ ...search.ordinary(), amount });
    if (ok) spent += amount;
    return ok;
  };
  let least = refused;
  for (const amount of roundNumbers(refused)) {
    if (!(await accepts(amount))) {
      least = amount;
      continue;
    }
    // Limits are usually round numbers, so that one refused request proves where the limit is.
    if (!search.safe || !(await accepts(amount + 1))) return amount;
    return bisect(amount + 1, least, accepts);
  }
  return undefined;
}

const padded = (reference: unknown, length: number) => String(reference).padEnd(length, "x");

/** Returns the limits on references that explain why this one was refused; undefined if none does. */
async function references(search: Search, refused: string): Promise<Declaration | undefined> {
  const withReference = (change: (fresh: unknown) => string) => {
    const fields = search.ordinary();
    return search.attempt({ ...fields, reference: change(fields["reference"]) });
  };
  if (!(await withReference((fresh) => padded(`Aa${String(fresh).slice(2)}`, ordinaryLength)))) return undefined;
  const length = [...refused].length;
  const accepts = (size: number) => withReference((fresh) => padded(fresh, size));
  const found: Declaration = {};
  if (length > ordinaryLength && !(await accepts(length)))
    found.longestReference = await bisect(ordinaryLength, length, accepts);
  if (ordinaryCharacters.test(refused)) return found;
  const allowed: string[] = [];
  for (const { range, sample } of kinds) {
    // The sample replaces the end of the reference, so that it fits into the shortest limit.
    const room = ordinaryLength - [...sample].length;
    const ok = await withReference((fresh) => sample + String(fresh).slice(-room));
    if (ok) allowed.push(range);
  }
  if (allowed.length < kinds.length) found.referenceCharacters = `A-Za-z0-9${allowed.join("")}-`;
  return found;
}

/** Returns the countries and currencies that the target serves. */
async function pairs(search: Search): Promise<Declaration> {
  const home = pairOf(search.recipient);
  const served = [home];
  for (const pair of search.safe ? [...commonPairs, dollars] : []) {
    if (pair === home) continue;
    if (await search.attempt({ ...search.ordinary(), ...fieldsFor(pair, search.recipient, search.random) }))
      served.push(pair);
  }
  return { countries: served.map(({ country }) => country), currencies: served.map(({ currency }) => currency) };
}

/** Returns a digit that differs from this one. */
export const otherDigit = (digit: string) => String((Number(digit) + 5) % 10);

/** Returns the leading digits that a phone number must share with the recipient's. */
async function numberRange({ recipient, ...search }: Search): Promise<Declaration> {
  const refusesSharing = async (digits: number) => {
    const phoneNumber = recipient.slice(0, digits) + recipient.slice(digits).replaceAll(/\d/g, otherDigit);
    return !(await search.attempt({ ...search.ordinary(), phoneNumber }));
  };
  const least = search.safe ? await bisect(0, recipient.length, refusesSharing) : recipient.length - 1;
  return { numberRanges: [recipient.slice(0, least + 1)] };
}

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * Searches for the limits that explain why a valid request was refused. A refusal is explained by a field only if the
 * request with an ordinary value in all other fields is refused too.
 */
export async function limitsBehind(search: Search, refused: Fields): Promise<Declaration> {
  const usual = search.ordinary();
  const { amount, reference, phoneNumber, country, currency, webhookURL } = refused;
  const found: Declaration = {};
  const only = async (fields: Fields) => !(await search.attempt({ ...search.ordinary(), ...fields }));
  if (typeof amount === "number" && amount > ordinaryAmount && (await only({ amount })))
    found.largestAmount = await largestAmount(search, amount);
  const isOdd = isText(reference) && ([...reference].length > ordinaryLength || !ordinaryCharacters.test(reference));
  if (isOdd) Object.assign(found, await references(search, reference));
  const abroad = country !== usual["country"] || currency !== usual["currency"];
  const to = { country, currency, ...(phoneNumber === undefined ? {} : { phoneNumber }) };
  if (abroad && (await only(to))) Object.assign(found, await pairs(search));
  // The interface states the lengths of phone numbers, so a number of another length is no matter of ranges.
  const sameLength = isText(phoneNumber) && phoneNumber.length === search.recipient.length;
  if (!abroad && sameLength && phoneNumber !== search.recipient && (await only({ phoneNumber })))
    Object.assign(found, await numberRange(search));
  if (isText(webhookURL) && /^http:/i.test(webhookURL) && (await only({ webhookURL }))) {
    const secure = webhookURL.replace(/^http:\/\/[^/?#]+/i, "https://merchant.example");
    if (!(await only({ webhookURL: secure }))) found.httpsWebhooks = true;
  }
  return found;
}
