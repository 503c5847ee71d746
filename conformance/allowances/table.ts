// The limits that a deployment may add to the interface (§8, D45): one entry for each field of certify.yaml. An entry
// says how people read the limit, which requests exceed it, and with which payouts it is found and proved. The schema
// says how a limit is declared, and limits.ts keeps requests inside it.
import { oneLine, wrapped } from "../report/visible.ts";
import { fieldNames, meaningOf, type Declaration, type Velocity } from "./declaration.ts";
import * as find from "./search.ts";
import type { Fields, Search } from "./search.ts";
import { textOf } from "../target/values.ts";

/** How payouts prove a limit. The fields replace the fields of an ordinary payout. */
type Proof<Value> = {
  label: (fields: Fields, recipient: string) => string;
  /** What a reader must know about a limit that was found. */
  note?: string;
  /** Set if checkouts prove the limit, and not payouts. */
  isOfCheckouts?: true;
  /** Says why there was nothing to try, if `find` sends nothing because the target has no such limit. */
  whyNotTried?: string;
  /** Set if the proof needs payouts to made-up phone numbers. */
  needsSafety?: true;
  /** Returns the limit that the target has; undefined if it has none. `known` has the limits found before. */
  find: (search: Search, known: Declaration) => Promise<Value | undefined>;
  /** Returns payouts that are inside a limit, at its edge. An ordinary payout is always inside the limit. */
  inside?: (limit: Value, search: Search) => Fields[];
  /** Returns payouts beyond the limit, each of which the target must refuse. */
  beyond: (limit: Value, search: Search, known: Declaration) => Fields[];
};

type Limit<Value> = {
  phrase: (limit: Value) => string;
  example: Value;
  /** Says what the target refuses if a request with valid values exceeds the limit, such as "amounts above 1000000". */
  exceeded?: (limit: Value, fields: Fields) => string | undefined;
  proof?: Proof<Value>;
};

/** A limit that is the largest size of a value, or the smallest one. */
type Sized = Omit<Proof<number>, "find" | "inside" | "beyond"> &
  Pick<Limit<number>, "phrase" | "example"> & {
    isSmallest?: true;
    /** The size of the value in a request; no number if the limit does not concern the request. */
    size: (fields: Fields) => unknown;
    exceeds: (limit: number) => string;
    /** False if a value at the edge may be refused for another reason. */
    provesEdge?: boolean;
    /** Returns a payout with a value of this size; undefined if there is none, or if the budget does not cover it. */
    of: (size: number, search: Search, known: Declaration) => Fields | undefined;
    /** The sizes between which to search: one that every target accepts, and the last one to try. */
    range?: (search: Search, known: Declaration) => [usual: number, last: number];
    acceptsUsual?: (search: Search) => Promise<boolean>;
    /** Replaces the search between the sizes of `range`. */
    find?: Proof<number>["find"];
  };

const amountLabel = ({ amount }: Fields) => `amount ${textOf(amount)}`;

/** Returns true if the fields are those of a checkout, which has no phone number. */
const isCheckout = (fields: Fields) => "country" in fields && !("phoneNumber" in fields);

export const inRanges = (ranges: readonly string[], phoneNumber: string): boolean =>
  ranges.some((range) => {
    const digits = range.replace(/x+$/, "");
    return phoneNumber.startsWith(digits) && (digits === range || phoneNumber.length === range.length);
  });

/** Returns how many leading digits the payee shares with the recipient. */
function shared({ phoneNumber }: Fields, recipient: string): number {
  const digits = [...recipient].findIndex((digit, index) => digit !== textOf(phoneNumber)[index]);
  return digits < 0 ? recipient.length : digits;
}

/** The entry of a limit that is the largest, or smallest, size of a value. */
function sized({ phrase, example, size, exceeds, of, range, acceptsUsual, isSmallest, ...more }: Sized): Limit<number> {
  const { provesEdge = true, ...proof } = more;
  const step = isSmallest ? -1 : 1;
  const payouts = (limit: number, search: Search, known: Declaration = {}) =>
    [of(limit, search, known)].filter((fields) => fields !== undefined);
  return {
    phrase,
    example,
    exceeded(limit, fields) {
      const value = size(fields);
      return typeof value === "number" && (value - limit) * step > 0 ? exceeds(limit) : undefined;
    },
    proof: {
      async find(search, known) {
        const ends = range!(search, known);
        const isEmpty = payouts(ends[1], search, known).length === 0;
        const accepts = (tried: number) => search.attempt(of(tried, search, known)!);
        return isEmpty ? undefined : find.lastSize(ends, accepts, acceptsUsual && (() => acceptsUsual(search)));
      },
      ...proof,
      ...(provesEdge ? { inside: payouts } : {}),
      beyond: (limit, search, known) => payouts(limit + step, search, known),
    },
  };
}

/**
 * The entry of a limit to the characters of references.
 * @param seen returns the texts in a reference to which the limit applies
 */
const spelling = (
  [phrase, exceeding]: [string, string],
  example: string,
  seen: (reference: string) => string[],
  proof: Pick<Proof<string>, "find"> & { beyond: (isAllowed: (text: string) => boolean, search: Search) => string[] },
): Limit<string> => ({
  phrase: (characters) => `references ${phrase} ${characters}`,
  example,
  exceeded: (characters, { reference }) =>
    typeof reference === "string" && !seen(reference).every(find.madeOf(characters))
      ? `references ${exceeding} characters other than ${characters}`
      : undefined,
  proof: {
    label: ({ reference }) => `reference ${JSON.stringify(reference)}`,
    find: proof.find,
    beyond: (characters, search) => proof.beyond(find.madeOf(characters), search).map((reference) => ({ reference })),
  },
});

const place = (field: "country" | "currency", plural: string, valid: RegExp, example: string[]): Limit<string[]> => ({
  phrase: (codes) => `${plural}: ${codes.join(", ")}`,
  example,
  exceeded: (codes, fields) =>
    valid.test(textOf(fields[field])) && !codes.includes(textOf(fields[field]))
      ? `${plural} other than ${codes.join(", ")}`
      : undefined,
  proof: {
    label: ({ country, currency }) => `${textOf(country)} and ${textOf(currency)}`,
    needsSafety: true,
    note: "No other countries and currencies were tried: add the values that the deployment serves.",
    find: (search) => find.places(search, field),
    beyond: (codes, { payees }) => payees.filter((payee) => !codes.includes(payee[field])),
  },
});

const rule = ({ payouts, seconds, per }: Velocity) => `at most ${payouts} payouts per ${per} in ${seconds} s`;

type Table = { [Field in keyof Declaration]-?: Limit<NonNullable<Declaration[Field]>> };

export const table: Table = {
  largestAmount: sized({
    phrase: (amount) => `amounts up to ${amount}`,
    example: 1_000_000,
    size: ({ amount }) => amount,
    exceeds: (most) => `amounts above ${most}`,
    label: amountLabel,
    find: find.largestAmount,
    of: (amount, { maxAmountTried: most }) => (amount <= most ? { amount } : undefined),
  }),
  smallestAmount: sized({
    phrase: (amount) => `amounts from ${amount}`,
    example: 100,
    isSmallest: true,
    // The interface demands that an amount of 1 is accepted, so no limit excuses the refusal of this amount.
    size: ({ amount }) => (Number(amount) > 1 ? amount : undefined),
    exceeds: (least) => `amounts below ${least}`,
    label: amountLabel,
    // An ordinary amount is up to 99 above a round number. The target accepted that number before the search.
    range: ({ ordinary }) => [Math.floor(Number(ordinary()["amount"]) / 100) * 100, 1],
    of: (amount, { maxAmountTried: most }) => (amount >= 1 && amount <= most ? { amount } : undefined),
  }),
  largestCheckout: sized({
    phrase: (amount) => `checkouts of amounts up to ${amount}`,
    example: 500_000,
    size: (fields) => (isCheckout(fields) ? fields["amount"] : undefined),
    exceeds: (most) => `checkouts of amounts above ${most}`,
    label: amountLabel,
    // Checkouts cost nothing, so the budget does not bound the search.
    range: (_, { largestAmount = Number.MAX_SAFE_INTEGER }) => [find.ordinaryAmount, largestAmount],
    isOfCheckouts: true,
    of: (amount) => ({ amount }),
  }),
  longestReference: sized({
    phrase: (length) => `references of at most ${length} characters`,
    example: 20,
    size: ({ reference }) => (typeof reference === "string" ? [...reference].length : undefined),
    exceeds: (most) => `references of more than ${most} characters`,
    label: ({ reference }) => `a reference of ${[...textOf(reference)].length} characters`,
    range: () => [find.ordinaryLength, find.longestTried],
    acceptsUsual: find.acceptsOrdinary,
    of: (length, search) => ({ reference: find.ofLength(search, length) }),
  }),
  referenceCharacters: spelling(["made of", "with"], "A-Za-z0-9_-", (reference) => [reference], {
    find: find.referenceCharacters,
    beyond: (isAllowed, search) =>
      find.kinds
        .map(({ sample }) => [...sample].filter((each) => !isAllowed(each)).join(""))
        .flatMap((text) => (text === "" ? [] : find.spelled(search, text))),
  }),
  longestReferenceBytes: sized({
    phrase: (bytes) => `references of at most ${bytes} bytes`,
    example: 40,
    size: ({ reference }) => (typeof reference === "string" ? Buffer.byteLength(reference) : undefined),
    exceeds: (most) => `references of more than ${most} bytes`,
    label: ({ reference }) => `a reference of ${Buffer.byteLength(textOf(reference))} bytes`,
    whyNotTried: "Not tried, because the target accepts no character that has several bytes.",
    range: (_, known) => {
      const { longestReference: longest = find.longestTried } = known;
      // `ofBytes` puts 12 characters of one byte around the others.
      return [find.ordinaryLength, 12 + (longest - 12) * Buffer.byteLength(find.widest(known) ?? "")];
    },
    acceptsUsual: find.acceptsOrdinary,
    provesEdge: false,
    of(bytes, search, known) {
      const character = find.widest(known);
      return character === undefined ? undefined : { reference: find.ofBytes(search, bytes, character) };
    },
  }),
  referenceEnds: spelling(
    ["that begin and end with", "that begin or end with"],
    "A-Za-z0-9",
    (reference) => (reference === "" ? [] : [[...reference][0]!, [...reference].at(-1)!]),
    {
      find: find.referenceEnds,
      beyond: (isAllowed, search) =>
        find.signs.filter(({ sign }) => !isAllowed(sign)).map(({ sign }) => find.between(search, sign)),
    },
  ),
  countries: place("country", "countries", /^[A-Z]{2}$/, ["CI", "GH"]),
  currencies: place("currency", "currencies", /^[A-Z]{3}$/, ["XOF", "GHS"]),
  numberRanges: {
    phrase: (ranges) => `phone numbers: ${ranges.map((range) => range.replace(/[0-9]$/, "$&…")).join(", ")}`,
    example: ["22507", "233xxxxxxxxx"],
    exceeded: (ranges, { phoneNumber }) =>
      /^[0-9]{10,15}$/.test(textOf(phoneNumber)) && !inRanges(ranges, textOf(phoneNumber))
        ? `phone numbers other than ${ranges.join(", ")}`
        : undefined,
    proof: {
      // The numbers themselves would reveal a real recipient's number.
      label: (fields, recipient) =>
        `a phone number that shares ${shared(fields, recipient)} leading digits with --recipient`,
      note: "Only one range in this country was searched for: add the others.",
      needsSafety: true,
      find: find.numberRanges,
      beyond: (ranges, search) => {
        const numbers: Fields[] = [{ phoneNumber: find.otherNumber(search) }, ...search.payees];
        return numbers.filter(({ phoneNumber }) => !inRanges(ranges, textOf(phoneNumber)));
      },
    },
  },
  largestByCurrency: {
    phrase: (amounts) =>
      Object.entries(amounts)
        .map(([currency, amount]) => `amounts up to ${amount} in ${currency}`)
        .join(", "),
    example: { KES: 1_000_000 },
    exceeded: (amounts, { amount, currency }) => {
      const most = amounts[textOf(currency)] ?? Infinity;
      return typeof amount === "number" && amount > most ? `amounts above ${most} in ${textOf(currency)}` : undefined;
    },
    proof: {
      label: ({ amount, currency }) => `amount ${textOf(amount)} in ${textOf(currency)}`,
      needsSafety: true,
      find: find.largestByCurrency,
      inside: (amounts, search) => find.inCurrencies(search, amounts, 0),
      beyond: (amounts, search) => find.inCurrencies(search, amounts, 1),
    },
  },
  httpsWebhooks: {
    phrase: (only) => (only ? "webhooks only to https addresses" : "webhooks to http addresses too"),
    example: true,
    exceeded: (only, { webhookURL }) =>
      only && typeof webhookURL === "string" && /^http:\/\//i.test(webhookURL)
        ? "webhook addresses without https"
        : undefined,
    proof: {
      label: ({ webhookURL }) => `webhookURL ${textOf(webhookURL)}`,
      async find({ attempt }) {
        const accepts = (webhookURL: string) => attempt({ webhookURL }, true);
        return !(await accepts(find.plainAddress)) && (await accepts(find.secureAddress)) ? true : undefined;
      },
      inside: (only) => [{ webhookURL: only ? find.secureAddress : find.plainAddress }],
      beyond: (only) => (only ? [{ webhookURL: find.plainAddress }] : []),
    },
  },
  velocity: {
    phrase: (rules) => rules.map(rule).join(", "),
    example: [{ payouts: 10, seconds: 60, per: "recipient" }],
  },
  readAfterWriteMs: {
    phrase: (ms) => `a new record can be read after at most ${ms} ms`,
    example: 300,
  },
  replicas: {
    phrase: (several) => (several ? "until then a read may return an older state of a record" : "reads never go back"),
    example: true,
  },
  notificationSeconds: {
    phrase: (seconds) => `a notification comes after at most ${seconds} s`,
    example: 30,
  },
  settlementSeconds: {
    phrase: (seconds) => `a disbursement is final after at most ${seconds} s`,
    example: 20,
  },
};

const entries = Object.entries(table) as [keyof Declaration, Limit<unknown>][];

/** The limits that can be found by trying payouts, in the order of the search. */
export const provable = entries.flatMap(([field, { proof }]) => (proof ? [{ field, ...proof }] : []));

/** Returns a text for each limit that is set, in the order of the table. */
const texts = (limits: Declaration, text: (limit: Limit<unknown>, value: unknown) => string | undefined) =>
  entries.flatMap(([field, limit]) => (limits[field] === undefined ? [] : (text(limit, limits[field]) ?? [])));

export const limitPhrases = (limits: Declaration = {}): string[] => texts(limits, ({ phrase }, value) => phrase(value));

/** Returns the limit that a request's values exceed, in words, such as "amounts above 1000000". */
export const exceeded = (limits: Declaration, fields: Fields): string | undefined =>
  texts(limits, (limit, value) => limit.exceeded?.(value, fields))[0];

/** What the run found out about a field: its value if there is a limit, and the requests that prove it. */
export type Finding = { value?: unknown; text: string };
export type Findings = { [Name in keyof Declaration]?: Finding };

const width = 100;

const comment = (text: string) => wrapped(oneLine(text), width - 2).map((line) => `# ${line}`);

/** Renders a value as JSON, which is also YAML, with a space after each comma and colon. */
export const rendered = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(rendered).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, inner]) => `${name}: ${rendered(inner)}`)
    .join(", ")} }`;
};

function section(field: keyof Declaration, { value, text }: Finding): string {
  const shown = value === undefined ? `# ${field}: ${rendered(table[field].example)}` : `${field}: ${rendered(value)}`;
  return [...comment(meaningOf(field)), ...comment(text), shown, ""].join("\n");
}

/** @param untried says why nothing was found out about a field */
export function renderDeclaration(introduction: readonly string[], findings: Findings, untried: string): string {
  const fields = fieldNames as (keyof Declaration)[];
  const sections = fields.map((field) => section(field, findings[field] ?? { text: untried }));
  return [...introduction.flatMap(comment), "", ...sections].join("\n");
}
