// The limits for which a target can be asked, and the payouts that show each of them.
import { commonPairs, dollars, fieldsFor, otherPairs, pairOf, payeeIn, type Pair } from "../generate/countries.ts";
import type { Declaration } from "./declaration.ts";
import { bisect, limitsBehind, otherDigit, type Search } from "./search.ts";

type Fields = Record<string, unknown>;
type Answered = { [Name in keyof Declaration]?: { value?: unknown } };

export type Question = {
  fields: readonly (keyof Declaration)[];
  /** Describes the value of a payout that matters for the question. */
  label: (fields: Fields, recipient: string) => string;
  /** The size of that value, if the question is where accepted values end. */
  size?: (fields: Fields, recipient: string) => number;
  /** What a reader must know about a limit that was found. */
  note?: string;
  /** Set if the question needs payouts to made-up phone numbers. */
  needsSafety?: true;
  /** Returns the limits that the target has. */
  ask: (search: Search, answered: Answered) => Promise<Declaration>;
};

/** References of this length are tried. No requirement of profile core needs longer ones. */
const longestTried = 1024;
const allPairs: readonly Pair[] = [...commonPairs, dollars, ...otherPairs];
const lengthOf = ({ reference }: Fields) => [...String(reference)].length;
const amountOf = ({ amount }: Fields) => Number(amount);

/** Returns how many leading digits the payee shares with the recipient. */
function shared({ phoneNumber }: Fields, recipient: string): number {
  const digits = [...recipient].findIndex((digit, index) => digit !== String(phoneNumber)[index]);
  return digits < 0 ? recipient.length : digits;
}

/** Searches with a payout whose other values are ordinary. */
const behind = (search: Search, change: (usual: Fields) => Fields) => {
  const usual = search.ordinary();
  return limitsBehind(search, { ...usual, ...change(usual) });
};

async function smallestAmount(search: Search): Promise<Declaration> {
  const usual = amountOf(search.ordinary());
  const accepts = (less: number) => search.attempt({ ...search.ordinary(), amount: usual - less });
  if (await accepts(usual - 1)) return {};
  return { smallestAmount: usual - (await bisect(0, usual - 1, accepts)) };
}

/** Returns the countries and currencies of the pairs that are served, if some pair is not. */
async function places(search: Search): Promise<Declaration> {
  const home = pairOf(search.recipient);
  const accepts = (over: Fields) => search.attempt({ ...search.ordinary(), ...over });
  const [countries, currencies] = [new Set([home.country]), new Set([home.currency])];
  const refused: Pair[] = [];
  for (const pair of allPairs) {
    if (await accepts(fieldsFor(pair, search.recipient, search.random))) {
      countries.add(pair.country);
      currencies.add(pair.currency);
    } else refused.push(pair);
  }
  // A refused pair whose country or currency alone is accepted does not limit that one.
  for (const pair of refused) {
    const abroad = { ...payeeIn(pair, search.recipient, search.random), currency: home.currency };
    if (!countries.has(pair.country) && (await accepts(abroad))) countries.add(pair.country);
    if (!currencies.has(pair.currency) && (await accepts({ currency: pair.currency }))) currencies.add(pair.currency);
  }
  return {
    ...(refused.some(({ country }) => !countries.has(country)) ? { countries: [...countries] } : {}),
    ...(refused.some(({ currency }) => !currencies.has(currency)) ? { currencies: [...currencies] } : {}),
  };
}

/** Returns the served numbers: leading digits in the recipient's country, and the calling codes of other countries. */
async function numberRanges(search: Search, { countries }: Answered): Promise<Declaration> {
  const { recipient } = search;
  const { code } = pairOf(recipient);
  const kept = recipient.startsWith(code) ? code.length : 0;
  const phoneNumber = recipient.slice(0, kept) + recipient.slice(kept).replaceAll(/\d/g, otherDigit);
  const found = await behind(search, () => ({ phoneNumber }));
  if (!found.numberRanges) return {};
  const served = (countries?.value ?? allPairs.map(({ country }) => country)) as string[];
  const abroad = allPairs.filter((pair) => pair.code !== code && served.includes(pair.country));
  return { numberRanges: [...found.numberRanges, ...abroad.map((pair) => pair.code)] };
}

const oddReference = (usual: Fields) => ({ reference: `a_b. c/é💸${String(usual["reference"]).slice(-10)}` });
const longReference = (usual: Fields) => ({ reference: String(usual["reference"]).padEnd(longestTried, "x") });
const plainWebhook = () => ({ webhookURL: "http://merchant.example/hooks" });

/** All questions. The smallest amount is not one of the interface, which sets 1. */
export const questions: readonly Question[] = [
  {
    fields: ["smallestAmount"],
    label: ({ amount }) => `amount ${String(amount)}`,
    size: (fields) => -amountOf(fields),
    ask: smallestAmount,
  },
  {
    fields: ["largestAmount"],
    label: ({ amount }) => `amount ${String(amount)}`,
    size: amountOf,
    ask: (search) =>
      behind(search, () => ({ amount: Math.floor(Math.min(Number.MAX_SAFE_INTEGER, search.affordable())) })),
  },
  {
    fields: ["longestReference"],
    label: (fields) => `a reference of ${lengthOf(fields)} characters`,
    size: lengthOf,
    ask: (search) => behind(search, longReference),
  },
  {
    fields: ["referenceCharacters"],
    label: ({ reference }) => `reference ${JSON.stringify(reference)}`,
    ask: (search) => behind(search, oddReference),
  },
  {
    fields: ["countries", "currencies"],
    label: ({ country, currency }) => `${String(country)} and ${String(currency)}`,
    needsSafety: true,
    note: "No others were tried: add those that the deployment serves.",
    ask: places,
  },
  {
    fields: ["numberRanges"],
    // The numbers themselves would show that of a real recipient.
    label: (fields, recipient) =>
      `a phone number that shares ${shared(fields, recipient)} leading digits with --recipient`,
    size: (fields, recipient) => -shared(fields, recipient),
    note: "Only one range in this country was searched for: add the others.",
    needsSafety: true,
    ask: numberRanges,
  },
  {
    fields: ["httpsWebhooks"],
    label: ({ webhookURL }) => `webhookURL ${String(webhookURL)}`,
    ask: (search) => behind(search, plainWebhook),
  },
];
