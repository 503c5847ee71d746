// The model of inputs: under which conditions a payout is created and its reference used again. Every pair of values
// occurs in each run, and so does every triple of the values that decide how much money is paid.
import type { RequirementId } from "../../generated/requirement-ids.ts";
import { commonPairs, dollars, type Pair } from "./countries.ts";
import { combinationsIn, covering, pairsOf, type Row } from "./covering.ts";
import { createRandom, shuffled } from "./random.ts";
import { serialisations, type Serialisation } from "./serialisations.ts";

/** A target may refuse a payout with an `optional` value. */
export type Value = {
  what: string;
  optional?: true;
  /** The requirement that payouts with this value are accepted. */
  id?: RequirementId;
};
type Place = Value & { pair?: Pair };
/** `foreign`: of another country than the payout's country. */
type Origin = Value & { foreign: boolean };
type Amount = Value & { least: number; most: number };
/** Merchants pay round amounts, which a service may handle in another unit. */
type Digits = Value & { round: boolean };
/** `spell` makes a reference of an unused text. `other` returns another spelling of it, or the same if it has none. */
type Reference = Value & { spell: (fresh: string) => string; other: (reference: string) => string };
type Address = Value & { write?: (address: string) => string };
type Form = Value & Partial<Serialisation>;
/** `changes` names the fields that differ from the fields of the first request. */
type Repeat = Value & { changes: "none" | "amount" | "phoneNumber" | "country" | "currency" | "webhookURL" | "all" };
/** How the repeat reaches the service. `end` is added to its path. `fresh` is an unused text. */
type Sender = Value & { end?: (fresh: string) => string; headers?: (fresh: string) => Record<string, string> };
/** When the reference is used again: directly after the create, after its outcome, or at the end of the run. */
type Moment = Value & { at: "immediately" | "outcome" | "end" };

/** Puts unusual characters between the characters of the reference, so that no two runs send the same text. */
const mixed = (what: string, characters: string, other: Reference["other"] = String): Reference => ({
  what: `with ${what}`,
  other,
  spell: (fresh) => `${[...characters].map((each, index) => fresh[index]! + each).join("")} ${fresh}`,
});
const amount = (least: number, most: number, id?: RequirementId): Amount => ({
  what: least === most ? `an amount of ${least}` : `an amount from ${least} to ${most}`,
  least,
  most,
  ...(id === undefined ? {} : { id }),
});
/**
 * Inserts a segment before the last segment of an address. The last segment names the mailbox, and replaces each `*` of
 * the inserted segment.
 */
const under = (segment: string): Address => ({
  what: `a webhookURL with /${segment}/`,
  optional: true,
  write: (address) =>
    address.replace(/\/([^/?]+)(?=\?)/, (_, name: string) => `/${segment.replaceAll("*", name.slice(0, 3))}/${name}`),
});
const wordOf = (address: string) => /([^/?]+)\?/.exec(address)?.[1] ?? "";
/** Adds parameters. Each `*` stands for the mailbox's name. */
const followed = (what: string, by: string): Address => ({
  what: `a webhookURL with ${what}`,
  optional: true,
  write: (address) => `${address}&${by.replaceAll("*", wordOf(address))}`,
});
const forms: Form[] = [
  { what: "usual JSON" },
  ...serialisations.map(({ what, ...form }) => ({ what: `JSON ${what}`, ...form })),
];

/** The first value of each dimension is the usual value, which every target must accept. */
const dimensions = {
  place: [
    ...commonPairs.map((pair): Place => ({ what: `country ${pair.country}`, pair, id: "create.pairs-accepted" })),
    { what: `country ${dollars.country}`, pair: dollars, id: "create.usd-accepted" },
    { what: "a further country" },
  ] as Place[],
  currency: [
    { what: "its currency", foreign: false },
    { what: "another country's currency", optional: true, foreign: true },
  ] as Origin[],
  number: [
    { what: "a phone number of the country", foreign: false },
    { what: "another country's phone number", optional: true, foreign: true },
  ] as Origin[],
  amount: [
    amount(2, 9999),
    amount(1, 1, "create.amount-minimum-accepted"),
    amount(10_000, 999_999),
    amount(1_000_000, 2 ** 31 - 1),
    amount(2 ** 31, 2 ** 53 - 1),
  ],
  digits: [
    { what: "any digits in the amount", round: false },
    { what: "a round amount", round: true },
  ] as Digits[],
  form: forms,
  reference: [
    { what: "a usual reference", spell: (fresh) => fresh, other: (own) => own.toUpperCase() },
    { what: "in capitals", spell: (fresh) => `${fresh}-A`.toUpperCase(), other: (own) => own.toLowerCase() },
    { what: "with spaces around", spell: (fresh) => `  ${fresh.slice(0, 5)}  ${fresh}  `, other: (own) => own.trim() },
    { what: "with upper and lower case", spell: (fresh) => `${fresh.toUpperCase()} ${fresh}`, other: String },
    mixed("letters outside of ASCII", "ëÜï–支付💸", (own) => own.normalize("NFD")),
    mixed("quotes and punctuation", "\"'\\/&<>%+#"),
    mixed("signs of other notations", "=:$@{}[]|~;,"),
    mixed("combining characters", "\u0301\u0308", (own) => own.normalize("NFC")),
  ] as Reference[],
  address: [
    { what: "a webhookURL", write: (address) => address, id: "create.webhook-optional" },
    { what: "no webhookURL", id: "create.webhook-optional" },
    under("*%2F*%20*"),
    under("*+*"),
    under("H*"),
    { what: "a webhookURL with /?", optional: true, write: (address) => address.replace(/\/?\?/, "/?") },
    { what: "a webhookURL with a fragment", optional: true, write: (address) => `${address}#${wordOf(address)}` },
    followed("an encoded URL in its query", "*=https%3A%2F%2F*.example%2F%3Fa%3Db"),
    followed("empty and repeated parameters and an apostrophe", "*=&p*=*+b&r*=1&r*=2&s*=O'*"),
    followed("more than 1,024 characters", "*".repeat(100)),
  ] as Address[],
  ending: [
    { what: "success", fails: false },
    { what: "failure", fails: true },
  ] as (Value & { fails: boolean })[],
  repeat: [
    { what: "no difference", changes: "none" },
    { what: "a different amount", changes: "amount" },
    { what: "a different phone number", changes: "phoneNumber" },
    { what: "a different country", changes: "country" },
    { what: "a different currency", changes: "currency" },
    { what: "a different webhookURL", changes: "webhookURL" },
    { what: "a different value of every other field", changes: "all" },
  ] as Repeat[],
  repeatForm: forms,
  sender: [
    { what: "by the same program" },
    {
      what: "by another program",
      optional: true,
      headers: (fresh) => ({
        "user-agent": fresh,
        accept: `text/html, application/xml, application/${fresh}+json, application/json`,
        "accept-language": "*",
        "idempotency-key": fresh,
        "x-request-id": fresh,
      }),
    },
    { what: "with Expect: 100-continue", optional: true, headers: () => ({ expect: "100-continue" }) },
    { what: "with a query in its URL", optional: true, end: (fresh) => `?${encodeURIComponent(fresh)}` },
    { what: "with a slash after its path", optional: true, end: () => "/" },
  ] as Sender[],
  moment: [
    { what: "immediately", at: "immediately" },
    { what: "after its outcome", at: "outcome" },
    { what: "at the end of the run", at: "end" },
  ] as Moment[],
};

/** How many kinds of references there are. */
export const { length: referenceKinds } = dimensions.reference;

export type Name = keyof typeof dimensions;
export type Conditions = { [Each in Name]: (typeof dimensions)[Each][number] };

const names = Object.keys(dimensions) as Name[];
const sizes = names.map((name) => dimensions[name].length);
const groupsOf = (...groups: Name[][]) => groups.map((group) => group.map((name) => names.indexOf(name)));
const money = groupsOf(["place", "currency", "amount"], ["place", "number", "amount"], ["place", "currency", "number"]);
/** Requirements about amounts and addresses judge only payouts with the country's own currency and phone number. */
const home = groupsOf(["currency", "number", "amount"], ["currency", "number", "address"]);
const rows = covering(sizes, [...money, ...home]);
/** The number of payouts that try all combinations. */
export const { length: rowCount } = rows;

/**
 * Returns the conditions of all payouts of a run. The seed decides which values meet in the same payout, and the order
 * of the payouts. Whatever the seed is, every combination occurs.
 */
export function conditionsOf(seed: number): Conditions[] {
  const random = createRandom(seed, "inputs");
  const orders = sizes.map((size) => shuffled([...Array(size).keys()], random));
  return shuffled(rows, random).map((row) => {
    const values = names.map((name, index) => [name, dimensions[name][orders[index]![row[index]!]!]]);
    return Object.fromEntries(values) as Conditions;
  });
}

/** Returns the values of these conditions, each with the name of its dimension. */
export const valuesOf = (conditions: Conditions): [Name, Value][] => names.map((name) => [name, conditions[name]]);

/** Replaces some values by the usual values of their dimensions. */
export const usual = (conditions: Conditions, replaced: readonly Name[]): Conditions => ({
  ...conditions,
  ...Object.fromEntries(replaced.map((name) => [name, dimensions[name][0]])),
});

/** Counts the pairs and the triples of values that occur in these conditions. */
export function coverageOf(tried: readonly Conditions[]) {
  const indices = tried.map((conditions): Row =>
    valuesOf(conditions).map(([name, value]) => (dimensions[name] as readonly Value[]).indexOf(value)),
  );
  const size = (groups: Parameters<typeof combinationsIn>[1]) => combinationsIn(indices, groups).size;
  return { pairs: size(pairsOf(names.length)), triples: size(money) };
}
