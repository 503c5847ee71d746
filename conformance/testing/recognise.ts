// Tries to distinguish the runs of the suite from the traffic of ordinary merchants, as a service would do that behaves
// well only while it is judged.

/** A request as a service sees it. */
export type Sent = { method: string; path: string; headers: readonly (readonly [string, string])[]; body: string };
type Traffic = readonly Sent[];

/** What two runs have in common, and a test for it. */
type Rule = { what: string; matches: (traffic: Traffic) => boolean };
/** Returns the rules of one kind that both runs follow. */
type Family = (runs: readonly [Traffic, Traffic]) => Rule[];

type Fields = Record<string, unknown>;

function fieldsOf({ body }: Sent): Fields {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}

const matches = (pattern: RegExp, value: unknown): value is string => typeof value === "string" && pattern.test(value);

/** Returns the payouts that look valid, in the order in which they were sent. */
const payoutsIn = (traffic: Traffic) =>
  traffic
    .filter(({ method, path }) => method === "POST" && path === "/v1/disbursements")
    .map(fieldsOf)
    .filter(
      ({ reference, amount, phoneNumber, country, currency }) =>
        matches(/^.{1,64}$/su, reference) &&
        Number.isSafeInteger(amount) &&
        Number(amount) > 0 &&
        matches(/^\d{10,15}$/, phoneNumber) &&
        matches(/^[A-Z]{2}$/, country) &&
        matches(/^[A-Z]{3}$/, currency),
    ) as { reference: string; amount: number; phoneNumber: string; webhookURL?: string }[];

const urlsIn = (traffic: Traffic) =>
  traffic
    .map(fieldsOf)
    .flatMap(({ webhookURL, redirectURL }) => [webhookURL, redirectURL])
    .filter((url) => typeof url === "string" && URL.canParse(url))
    // The system chooses the port, and two runs may get neighbours.
    .map((url) => String(url).replace(/^(\w+:\/\/[^/]*):\d+/, "$1"));

const distinct = <T>(values: readonly T[]) => [...new Set(values)];

/** Returns how often each value occurs. */
function counts<T>(values: readonly T[]): Map<T, number> {
  const found = new Map<T, number>();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return found;
}

/** Returns the values that occur at least `least` times in both lists. */
function shared<T>([one, other]: readonly [readonly T[], readonly T[]], least: number): T[] {
  const [first, second] = [counts(one), counts(other)];
  return [...first]
    .filter(([value, count]) => count >= least && (second.get(value) ?? 0) >= least)
    .map(([value]) => value);
}

const ofBoth = <T>([one, other]: readonly [Traffic, Traffic], read: (traffic: Traffic) => T): [T, T] => [
  read(one),
  read(other),
];

/** Values that two runs share, each in at least three requests. */
const sharedValues =
  (what: string, read: (traffic: Traffic) => readonly string[]): Family =>
  (runs) =>
    shared(ofBoth(runs, read), 3).map((value) => ({
      what: `${what} ${value}`,
      matches: (traffic) => read(traffic).includes(value),
    }));

/** Headers whose values differ from request to request, or contain the key in a wrong place. */
const ofEachRequest = new Set(["host", "content-length", "x-api-key", "authorization", "cookie"]);
const headerValues = (traffic: Traffic) =>
  traffic.flatMap(({ headers }) =>
    headers
      .filter(([name]) => !ofEachRequest.has(name.toLowerCase()))
      .map(([name, value]) => `${name.toLowerCase()}: ${value}`),
  );

const usual =
  /^(host|connection|accept|accept-(language|encoding)|content-(type|length)|user-agent|x-api-key|sec-fetch-mode)$/i;
const headerOrders = (traffic: Traffic) =>
  traffic
    .filter(({ headers }) => headers.every(([name]) => usual.test(name)))
    .map(({ headers }) => headers.map(([name]) => name).join());

const piece = 5;
const piecesOf = (text: string) =>
  distinct(
    Array.from({ length: Math.max(0, text.length - piece + 1) }, (_, start) => text.slice(start, start + piece)),
  );

/** Texts of five characters that occur in many values of both runs. */
const sharedPieces =
  (what: string, read: (traffic: Traffic) => readonly string[]): Family =>
  (runs) => {
    const texts = ofBoth(runs, (traffic) => distinct(read(traffic)));
    const least = Math.max(3, Math.ceil(0.02 * Math.min(...texts.map(({ length }) => length))));
    return shared([texts[0].flatMap(piecesOf), texts[1].flatMap(piecesOf)], least).map((part) => ({
      what: `${what} with "${part}"`,
      matches: (traffic) => read(traffic).some((text) => text.includes(part)),
    }));
  };

/** Returns a text's length, and which kinds of characters it has in which order. */
const shapeOf = (text: string) =>
  `${text.length} ${text
    .replaceAll(/[a-z0-9]+/g, (part) => (/^[a-z]+$/.test(part) ? "a" : /^\d+$/.test(part) ? "0" : "x"))
    .replaceAll(/[A-Z]+/g, "A")}`;

/** Returns the shape that most references have; undefined if there is no such shape. */
function commonShape(traffic: Traffic) {
  const all = payoutsIn(traffic).map(({ reference }) => shapeOf(reference));
  return [...counts(all)].filter(([, count]) => count > all.length / 2).map(([shape]) => shape)[0];
}

/** A shape that most references of both runs have. */
const shapes: Family = (runs) => {
  const [one, other] = ofBoth(runs, commonShape);
  if (one === undefined || one !== other) return [];
  return [{ what: `references of shape ${one}`, matches: (traffic) => commonShape(traffic) === one }];
};

/** Returns true if most of the texts end in numbers that count from the beginning. */
function areCounted(texts: readonly string[]): boolean {
  const ends = distinct(texts).map((text) => Number(/(\d{1,6})(?=\?|$)/.exec(text)?.[1]));
  const steps = ends.slice(1).filter((end, index) => end - ends[index]! >= 1 && end - ends[index]! <= 20);
  return (
    ends.length > 9 && Math.min(...ends.filter((end) => !Number.isNaN(end))) < 10 && steps.length > 0.7 * ends.length
  );
}
const counters =
  (what: string, read: (traffic: Traffic) => readonly string[]): Family =>
  (runs) =>
    runs.every((run) => areCounted(read(run)))
      ? [{ what: `${what} that count from 1`, matches: (traffic) => areCounted(read(traffic)) }]
      : [];

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const commonestShare = (values: readonly unknown[]) => Math.max(0, ...counts(values).values()) / values.length;
function entropyOf(text: string): number {
  const shares = [...counts([...text]).values()].map((count) => count / [...text].length);
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}

/** Payouts that a sandbox is told to fail (D17) end in the same digits, whoever sends them. */
const isForced = (phoneNumber: string) => phoneNumber.endsWith("089");
type Payouts = ReturnType<typeof payoutsIn>;
const features: Record<string, (payouts: Payouts) => number> = {
  "mean length of references": (all) => mean(all.map(({ reference }) => reference.length)),
  "entropy of a reference": (all) => mean(all.map(({ reference }) => entropyOf(reference))),
  "entropy of all references": (all) => entropyOf(all.map(({ reference }) => reference).join("")),
  "share of digits in references": (all) =>
    mean(all.map(({ reference }) => reference.replaceAll(/\D/g, "").length / reference.length)),
  "share of the commonest amount": (all) => commonestShare(all.map(({ amount }) => amount)),
  "share of the commonest phone number": (all) => commonestShare(all.map(({ phoneNumber }) => phoneNumber)),
  "different last three digits for each different phone number": (all) => {
    const numbers = distinct(all.map(({ phoneNumber }) => phoneNumber)).filter((number) => !isForced(number));
    return distinct(numbers.map((number) => number.slice(-3))).length / numbers.length;
  },
  "share with a webhookURL": (all) => mean(all.map(({ webhookURL }) => (webhookURL === undefined ? 0 : 1))),
};

/** A measure that is about the same in both runs. */
const measures: Family = (runs) =>
  Object.entries(features).map(([what, measure]) => {
    const values = ofBoth(runs, (traffic) => measure(payoutsIn(traffic)));
    const [least, most] = [0.9 * Math.min(...values), 1.1 * Math.max(...values)];
    return {
      what: `${what} from ${least.toFixed(2)} to ${most.toFixed(2)}`,
      matches: (traffic) => {
        const value = measure(payoutsIn(traffic));
        return value >= least && value <= most;
      },
    };
  });

/** Returns every list of so many consecutive values, as text. */
const windows = (values: readonly unknown[], size: number) =>
  values.slice(size - 1).map((_, start) => values.slice(start, start + size).join(" "));
/** Returns every list of five consecutive amounts. A repeated request counts once. */
const amountsIn = (traffic: Traffic) => {
  const amounts = payoutsIn(traffic).map(({ amount }) => amount);
  return windows(
    amounts.filter((amount, index) => amount !== amounts[index - 1]),
    5,
  );
};

/** The same amounts in the same order. */
const sameAmounts: Family = (runs) =>
  shared(ofBoth(runs, amountsIn), 1).map((amounts) => ({
    what: `amounts ${amounts}`,
    matches: (traffic) => amountsIn(traffic).includes(amounts),
  }));

/** Returns the first requests, without what identifies a record. */
const opening = (traffic: Traffic) =>
  traffic
    .slice(0, 8)
    .map(
      ({ method, path }) => `${method} ${path.replace(/^(\/v1\/\w+\/|\/sandbox\/(checkouts|deliveries)\/).*/, "$1…")}`,
    )
    .join(", ");
const openings: Family = (runs) => {
  const [one, other] = ofBoth(runs, opening);
  return one === other ? [{ what: `the first requests ${one}`, matches: (traffic) => opening(traffic) === one }] : [];
};

const ownName = /certify|conformance|disbursement-checkout/i;
const namesItself = (traffic: Traffic) => traffic.some((sent) => ownName.test(JSON.stringify(sent)));
const names: Family = (runs) => (runs.every(namesItself) ? [{ what: "the suite's name", matches: namesItself }] : []);

const references = (traffic: Traffic) => payoutsIn(traffic).map(({ reference }) => reference);
/** Paths of requests that merchants send too. The suite also sends invalid paths, which merchants never send. */
const ordinaryPath = /^\/(healthz|v1\/(disbursements|checkouts)(\/[\w-]+)?|sandbox\/[\w/-]+)(\?[\w&=:.-]*)?$/;
/** Returns the ordinary paths, without the references that the service made. */
const paths = (traffic: Traffic) =>
  traffic
    .map(({ path }) => path.replaceAll(/(DSB|CHK)\w+/g, "DSB"))
    .filter((path) => ordinaryPath.test(path) && !/key=/.test(path));
const phones = (traffic: Traffic) => payoutsIn(traffic).map(({ phoneNumber }) => phoneNumber);

export const families: Readonly<Record<string, Family>> = {
  "header values": sharedValues("header", headerValues),
  "order of headers": sharedValues("headers in the order", headerOrders),
  "parts of references": sharedPieces("reference", references),
  "parts of addresses": sharedPieces("address", urlsIn),
  "parts of phone numbers": sharedPieces("phone number", phones),
  "parts of paths": sharedPieces("path", paths),
  shapes,
  "counted references": counters("references", references),
  "counted addresses": counters("addresses", urlsIn),
  measures,
  amounts: sameAmounts,
  openings,
  names,
};

/** Returns the rules of a family that both runs follow, but no merchant. */
export const separating = (
  family: Family,
  runs: readonly [Traffic, Traffic],
  merchants: readonly Traffic[],
): string[] =>
  family(runs)
    .filter((rule) => !merchants.some(rule.matches))
    .map(({ what }) => what);
