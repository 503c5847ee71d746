// The limits that a deployment may add to the interface (§8, D45): one entry for each field of certify.yaml. An entry
// says how people read the limit, which requests exceed it, and with which payouts it is found and proved. The schema
// says how a limit is declared, and fit.ts keeps requests inside it.
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
  needless?: string;
  /** Set if this needs payouts to made-up phone numbers. */
  needsSafety?: true;
  /** Returns the limit that the target has; undefined if it has none. `known` has the limits found before. */
  find: (search: Search, known: Declaration) => Promise<Value | undefined>;
  /** Returns payouts that are inside a limit, at its edge. An ordinary payout is always inside the limit. */
  inside?: (limit: Value, search: Search) => Fields[];
  /** Returns payouts beyond the limit, each of which the target must refuse. */
  beyond: (limit: Value, search: Search) => Fields[];
};

type Limit<Value> = {
  phrase: (limit: Value) => string;
  example: Value;
  /** Says what the target refuses if a request with valid values exceeds the limit, such as "amounts above 1000000". */
  exceeded?: (limit: Value, fields: Fields) => string | undefined;
  proof?: Proof<Value>;
};

/** A limit that is the largest size of a value. */
type Sized = Omit<Proof<number>, "inside" | "beyond"> &
  Pick<Limit<number>, "phrase" | "example"> & {
    /** The size of the value in a request; no number if the request has no such value. */
    size: (fields: Fields) => unknown;
    beyond: (limit: number) => string;
    /** False if a value at the edge may be refused for another reason. */
    provesEdge?: boolean;
    /** Returns a payout with a value of this size; undefined if the budget does not cover it. */
    of: (size: number, search: Search) => Fields | undefined;
  };

const amountLabel = ({ amount }: Fields) => `amount ${textOf(amount)}`;

/** Returns a test whether a text has only characters of the class, such as `a-z0-9`. */
const madeOf = (characters: string) => {
  const allowed = new RegExp(`^[${characters}]*$`, "u");
  return (text: string) => allowed.test(text);
};

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

/** The entry of a limit that is the largest size of a value. */
const sized = ({ phrase, example, size, beyond, of, provesEdge = true, ...proof }: Sized): Limit<number> => {
  const payouts = (limit: number, search: Search) => [of(limit, search)].filter((fields) => fields !== undefined);
  return {
    phrase,
    example,
    exceeded(most, fields) {
      const value = size(fields);
      return typeof value === "number" && value > most ? beyond(most) : undefined;
    },
    proof: {
      ...proof,
      ...(provesEdge ? { inside: payouts } : {}),
      beyond: (most, search) => payouts(most + 1, search),
    },
  };
};

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
    beyond: (most) => `amounts above ${most}`,
    label: amountLabel,
    find: find.largestAmount,
    of: (amount, { largest }) => (amount <= largest ? { amount } : undefined),
  }),
  smallestAmount: {
    phrase: (amount) => `amounts from ${amount}`,
    example: 100,
    // The interface demands that an amount of 1 is accepted, so a smallest amount excuses no refusal.
    exceeded: (least, { amount }) =>
      typeof amount === "number" && amount > 1 && amount < least ? `amounts below ${least}` : undefined,
    proof: {
      label: amountLabel,
      find: find.smallestAmount,
      inside: (least, { largest }) => (least <= largest ? [{ amount: least }] : []),
      beyond: (least) => (least > 1 ? [{ amount: least - 1 }] : []),
    },
  },
  largestCheckout: sized({
    phrase: (amount) => `checkouts of amounts up to ${amount}`,
    example: 500_000,
    size: (fields) => (isCheckout(fields) ? fields["amount"] : undefined),
    beyond: (most) => `checkouts of amounts above ${most}`,
    label: amountLabel,
    find: find.largestCheckout,
    isOfCheckouts: true,
    of: (amount) => ({ amount }),
  }),
  longestReference: sized({
    phrase: (length) => `references of at most ${length} characters`,
    example: 20,
    size: ({ reference }) => (typeof reference === "string" ? [...reference].length : undefined),
    beyond: (most) => `references of more than ${most} characters`,
    label: ({ reference }) => `a reference of ${[...textOf(reference)].length} characters`,
    find: find.longestReference,
    of: (length, search) => ({ reference: find.ofLength(search, length) }),
  }),
  referenceCharacters: {
    phrase: (characters) => `references made of ${characters}`,
    example: "A-Za-z0-9_-",
    exceeded: (characters, { reference }) =>
      typeof reference === "string" && !madeOf(characters)(reference)
        ? `references with characters other than ${characters}`
        : undefined,
    proof: {
      label: ({ reference }) => `reference ${JSON.stringify(reference)}`,
      find: find.referenceCharacters,
      beyond(characters, search) {
        const isAllowed = madeOf(characters);
        const refused = find.kinds.map(({ sample }) => [...sample].filter((each) => !isAllowed(each)).join(""));
        return refused.filter((text) => text !== "").map((text) => ({ reference: find.spelled(search, text) }));
      },
    },
  },
  longestReferenceBytes: sized({
    phrase: (bytes) => `references of at most ${bytes} bytes`,
    example: 40,
    size: ({ reference }) => (typeof reference === "string" ? Buffer.byteLength(reference) : undefined),
    beyond: (most) => `references of more than ${most} bytes`,
    label: ({ reference }) => `a reference of ${Buffer.byteLength(textOf(reference))} bytes`,
    needless: "Not tried, because the target accepts no character that has several bytes.",
    find: find.longestReferenceBytes,
    provesEdge: false,
    of: (bytes, search) => ({ reference: find.ofBytes(search, bytes) }),
  }),
  referenceEnds: {
    phrase: (characters) => `references that begin and end with ${characters}`,
    example: "A-Za-z0-9",
    exceeded: (characters, { reference }) =>
      typeof reference === "string" && reference !== "" && !find.endsOf(reference).every(madeOf(characters))
        ? `references that begin or end with characters other than ${characters}`
        : undefined,
    proof: {
      label: ({ reference }) => `reference ${JSON.stringify(reference)}`,
      find: find.referenceEnds,
      beyond: (characters, search) =>
        find.signs
          .filter(({ sign }) => !madeOf(characters)(sign))
          .map(({ sign }) => ({ reference: find.between(search, sign) })),
    },
  },
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
      find: find.httpsWebhooks,
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
const each = (limits: Declaration, text: (limit: Limit<unknown>, value: unknown) => string | undefined) =>
  entries.flatMap(([field, limit]) => (limits[field] === undefined ? [] : (text(limit, limits[field]) ?? [])));

export const limitPhrases = (limits: Declaration = {}): string[] => each(limits, ({ phrase }, value) => phrase(value));

/** Returns the limit that a request's values exceed, in words, such as "amounts above 1000000". */
export const exceeded = (limits: Declaration, fields: Fields): string | undefined =>
  each(limits, (limit, value) => limit.exceeded?.(value, fields))[0];

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
