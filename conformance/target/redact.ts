// Removes secrets and phone numbers of people from what a run writes. Exchanges are redacted when they are recorded, the
// rest of a check's report when the check ends.
import { numbersLike } from "../allowances/search.ts";
import { contractText } from "../contract/contract.ts";
import { alteredKeys } from "../generate/bypasses.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";

/** Removes secrets from a text and masks the phone numbers of people in it. */
export type Redact = {
  (text: string): string;
  /** Leaves the phone numbers in this request readable from now on, except the numbers of real recipients. */
  learn(request: string): void;
};

export const masked = "[redacted]";

/** Headers whose values are never recorded. A recorder also hides the values of the `--header` options. */
export const secretHeaders: ReadonlySet<string> = new Set([
  "x-api-key",
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "webhook-signature",
]);

export const maskPhone = (phone: string) => phone.replaceAll(/\d(?=\d{3})/g, "*");

export const phoneField = /("phone_?number"\s*:\s*"?\+?)(\d{4,})/gi;

/** The key of a merchant that the target creates during the run. */
export const newKeyField = /("apiKey"\s*:\s*")([^"\\]+)/g;

/** A customer's name in a record. A sandbox's names are made of the last digits of the phone number (D19). */
export const customerName = /("customer"\s*:\s*\{[^{}]*?"name"\s*:\s*")(?!Customer \d{4}")((?:[^"\\]|\\.)+)/g;

const inJson = (secret: string) => JSON.stringify(secret).slice(1, -1);
/** The ways in which a URL and JSON write a secret. */
const encodings: ((secret: string) => string)[] = [
  String,
  encodeURIComponent,
  inJson,
  (secret) => inJson(secret).replaceAll("/", String.raw`\/`),
];
/** Base64 of a secret, as in Basic authentication, without the last group: it may also encode text that follows. */
const base64Of = (secret: string) =>
  Buffer.from(secret.slice(0, secret.length - (secret.length % 3))).toString("base64");
const LAST_GROUP = "[A-Za-z0-9+/=]{0,4}";

/** Numbers with fewer digits are ordinary, such as timestamps and phone numbers. */
const shortestNumber = 14;
/** A part of a key with fewer digits may be an amount: JSON represents such numbers exactly. */
const shortestPartOfNumber = 17;

/** Returns true if a text may occur in a run by chance: a short text, a short number, or a word of the contract. */
const isOrdinary = (text: string, fewestDigits = shortestNumber) =>
  text.length < 8 || (text.length < fewestDigits && /^\d+$/.test(text)) || contractText.includes(text);

/** Returns a function that removes secrets, also as URLs and JSON write them. */
export function secretsRemover(secrets: readonly string[]): (text: string) => string {
  const patterns = new Map(secrets.flatMap((secret) => encodings.map((encode) => [encode(secret), ""])));
  for (const secret of secrets) patterns.set(base64Of(secret), LAST_GROUP);
  patterns.delete("");
  if (patterns.size === 0) return (text) => text;
  const longestFirst = [...patterns].toSorted(([a], [b]) => b.length - a.length);
  const escaped = longestFirst.map(([text, more]) => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`) + more);
  const pattern = new RegExp(escaped.join("|"), "gi");
  return (text) => text.replaceAll(pattern, masked);
}

/**
 * Creates a function that redacts secrets wherever they occur, customers' names, and masks the numbers in `phones`. In `phoneNumber` fields
 * it masks every number that the suite did not send, because the target may return the numbers of other people. Numbers
 * that the suite made up stay readable, because masking the number would change the request. Once a text contains a
 * new merchant's `apiKey`, the function hides that key in this and all later texts.
 * @param secrets API keys, webhook secrets and values of `--header`
 * @param phones phone numbers of real people
 */
export function createRedactor(secrets: readonly string[], phones: readonly string[]): Redact {
  let removeSecrets = secretsRemover(secrets);
  const known = new Set(secrets);
  const madeUp = new Set<string>();
  const redact = (text: string) => {
    for (const [, , key = ""] of text.matchAll(newKeyField))
      if (!known.has(key) && !isOrdinary(key)) removeSecrets = secretsRemover([...known.add(key)]);
    let result = text;
    for (const phone of phones) result = result.replaceAll(phone, maskPhone(phone));
    result = result.replaceAll(customerName, `$1${masked}`);
    result = result.replaceAll(
      phoneField,
      (_, before: string, digits: string) => before + (madeUp.has(digits) ? digits : maskPhone(digits)),
    );
    return removeSecrets(result).replaceAll(/whsec_[A-Za-z0-9+/]+=*/g, masked);
  };
  const learn = (request: string) => {
    for (const [, , digits = ""] of request.matchAll(phoneField)) madeUp.add(digits);
  };
  return Object.assign(redact, { learn });
}

/** Returns headers with their values redacted. Several values of a header are joined with commas. */
export function redactHeaders(
  headers: Record<string, string | string[] | undefined>,
  redact: Redact,
  alsoSecret: readonly string[] = [],
): Record<string, string> {
  const hidden = new Set([...secretHeaders, ...alsoSecret.map((name) => name.toLowerCase())]);
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      redact(name),
      hidden.has(name.toLowerCase()) ? masked : redact([value ?? ""].flat().join(", ")),
    ]),
  );
}

/** The fields of a report, on any level, that may quote the target. */
const quoting = new Set(
  "expected actual text reference merchantsReference currency error falseDeclaration suite prism value".split(" "),
);

/**
 * Redacts the fields of a report that may quote the target: their texts, and the names of the fields inside them.
 * Exchanges are already redacted.
 */
export function redactReport<T>(report: T, redact: Redact): T {
  function within(value: unknown, quotes: boolean): unknown {
    if (typeof value === "string") return quotes ? redact(value) : value;
    if (Array.isArray(value)) return value.map((item) => within(item, quotes));
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).map(([name, field]) =>
      name.startsWith("exchange") && !quotes
        ? [name, field]
        : [quotes ? redact(name) : name, within(field, quotes || quoting.has(name))],
    );
    return Object.fromEntries(fields) as unknown;
  }
  return within(report, false) as T;
}

export type SecretOptions = Pick<
  RunOptions,
  "key" | "secondKey" | "webhookSecret" | "headers" | "recipient" | "failingRecipient" | "assumed"
>;

/** Values of `--header` that are hidden wherever they occur. Ordinary texts are hidden only in their header. */
export const headerSecrets = ({ headers }: Pick<SecretOptions, "headers">): string[] =>
  Object.values(headers).filter((value) => !isOrdinary(value));

/** Returns true if no key of a run may occur in texts by chance. */
export const areUnusual = ({ key, secondKey, webhookSecret }: SecretOptions): boolean =>
  [key, secondKey, webhookSecret].every((secret) => secret === undefined || !isOrdinary(secret));

/**
 * Returns what a redactor must hide: secrets, the altered keys that checks send, which a target may return, and the phone
 * numbers of people with the numbers that reveal them.
 */
export function hiddenIn(options: SecretOptions): { secrets: string[]; phones: string[] } {
  const { key, secondKey, webhookSecret = "" } = options;
  const altered = alteredKeys.map(({ of }) => of(key)).filter((value) => !isOrdinary(value, shortestPartOfNumber));
  return {
    secrets: [
      ...[key, secondKey ?? "", webhookSecret, webhookSecret.replace(/^whsec_/, "")].filter((secret) => secret !== ""),
      ...altered,
      ...headerSecrets(options),
    ],
    phones: Object.values(realRecipients(options)).flatMap(numbersLike),
  };
}
