// The forms of a key, in one list. Checks send the forms to a target that must refuse them, and commands compute them
// in the shell. Reports hide all forms, because a target may return what it was sent. A check cannot read the key, so
// it cannot send a form that is not in this list.
import { contractText } from "../contract/contract.ts";

const defined: KeyForm[] = [];

/** A form of a key. Only this module makes forms, and each form adds itself to the list. */
class KeyForm {
  readonly what: string;
  readonly of: (key: string) => string;
  /** Returns the shell expression for the form of the key in a variable; undefined for a form that contains the key. */
  readonly shell: ((variable: string, key: string) => string) | undefined;
  // A private field, so that no other object has this type.
  readonly #place: number;
  constructor(what: string, of: KeyForm["of"], shell?: KeyForm["shell"]) {
    [this.what, this.of, this.shell] = [what, of, shell];
    this.#place = defined.push(this);
  }
  get place() {
    return this.#place;
  }
}
export type { KeyForm };

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");
const isUpper = (key: string) => key === key.toUpperCase();
const inBase64 = (text: string) => `$(printf %s ${text} | base64 | tr -d '\\n')`;
/** Any character that differs from the last character. */
const otherLast = (key: string) => (key.endsWith("A") ? "B" : "A");

export const whole = new KeyForm("the key", (key) => key);
export const inUrl = new KeyForm("the key in a URL", encodeURIComponent);
export const withSuffix = new KeyForm("the key with an extra character", (key) => `${key}x`);
export const withPrefix = new KeyForm("the key after another character", (key) => `x${key}`);
export const withWord = new KeyForm("the key and another word", (key) => `${key} x`);
export const quoted = new KeyForm("the key in quotes", (key) => `"${key}"`);
export const bearer = new KeyForm("the key prefixed with Bearer", (key) => `Bearer ${key}`);
export const withoutLast = new KeyForm(
  "the key without its last character",
  (key) => key.slice(0, -1),
  (variable) => `\${${variable}%?}`,
);
export const lastReplaced = new KeyForm(
  "the key with its last character replaced",
  (key) => key.slice(0, -1) + otherLast(key),
  (variable, key) => `\${${variable}%?}${otherLast(key)}`,
);
export const firstHalf = new KeyForm(
  "the first half of the key",
  (key) => key.slice(0, key.length / 2),
  (variable, key) => `$(printf %s "\${${variable}}" | cut -c1-${Math.floor(key.length / 2)})`,
);
export const oppositeCase = new KeyForm(
  "the key in the opposite case",
  (key) => (isUpper(key) ? key.toLowerCase() : key.toUpperCase()),
  (variable, key) => `$(printf %s "\${${variable}}" | ${isUpper(key) ? "tr A-Z a-z" : "tr a-z A-Z"})`,
);
export const base64 = new KeyForm(
  "the key in Base64",
  (key) => btoa(key),
  (variable) => inBase64(`"\${${variable}}"`),
);
export const percentEncoded = new KeyForm(
  "the key with every character percent-encoded",
  (key) => key.replaceAll(/[^]/g, (character) => `%${hex(character.charCodeAt(0), 2)}`),
  (variable) => `$(printf %s "\${${variable}}" | od -An -v -tx1 | tr -d ' \\n' | sed 's/../%&/g')`,
);
export const basic = new KeyForm(
  "the key as the user of Basic authentication",
  (key) => btoa(`${key}:`),
  (variable) => inBase64(`"\${${variable}}:"`),
);

/** All forms. */
export const keyForms: readonly KeyForm[] = defined;

/** Half of a secret of this length is hidden, and shorter secrets without their first or last character. */
const shortestCut = 16;
/** Shorter parts are ordinary words. */
const shortestPart = 8;
/** Shorter digits are ordinary numbers: timestamps, phone numbers. */
const shortestNumber = 14;
/** Fewer digits of a key may be the digits of an amount, which JSON represents exactly. */
const shortestPartOfNumber = 17;
const fewestCharacters = 4;
const vocabulary = contractText.toLowerCase();

/**
 * Returns true if a text may occur in a run by chance: a short text, digits, the same few characters again and again, or
 * words of the contract.
 */
export const isOrdinary = (text: string, leastDigits = shortestNumber): boolean =>
  text.length < shortestPart ||
  (text.length < leastDigits && /^\d+$/.test(text)) ||
  new Set(text).size < fewestCharacters ||
  vocabulary.includes(text.toLowerCase());

const literally = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);

/** A pattern for one character in either case: as it is, or escaped for JSON, a URL or HTML. */
function written(character: string): string {
  const cases = [...new Set([character.toLowerCase(), character.toUpperCase()])].filter((each) => each.length === 1);
  const codes = cases.map((each) => each.charCodeAt(0));
  const escapes = codes.flatMap((code) => [
    String.raw`\\+u${hex(code, 4)}`,
    ...(code < 128 ? [`%${hex(code, 2)}`] : []),
    `&#0*${code};`,
    `&#x0*${hex(code, 1)};`,
  ]);
  return `(?:${[String.raw`\\*${literally(character)}`, ...escapes].join("|")})`;
}

/** The characters of a text's Base64 that do not depend on what surrounds the text, which begins at this byte of three. */
function base64At(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const end = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(Math.ceil((offset * 8) / 6), end);
}

/** Returns the length from which beginnings and ends of a secret are hidden. */
function leastHidden(secret: string): number {
  const half = secret.length < shortestCut ? secret.length - 1 : Math.floor(secret.length / 2);
  for (let least = Math.max(shortestPart, half); least < secret.length; least += 1)
    if ([secret.slice(0, least), secret.slice(-least)].every((part) => !isOrdinary(part, shortestPartOfNumber)))
      return least;
  return secret.length;
}

/** Patterns for the beginnings and the ends of a text that have this length or more. */
function partsOf(texts: readonly string[], least: number) {
  const split = texts.length - least;
  const after = texts.slice(least).reduceRight((rest, each) => `(?:${each}${rest})?`, "");
  const begin = texts.slice(0, least).join("");
  const end = texts.slice(split).join("");
  const before = texts.slice(0, split).reduce((rest, each) => `(?:${rest}${each})?`, "");
  return { shortest: [begin, end], all: [begin + after, before + end] };
}

/** Finds the forms of a secret. */
export type Finder = {
  /** Returns whether a text may contain a form of the secret. Takes a fraction of the time of `pattern`. */
  hint: (text: string) => boolean;
  pattern: () => RegExp;
};

const anyOf = (patterns: readonly string[]) => [...new Set(patterns)].join("|");
const withoutBackslashes = (text: string) => text.replaceAll("\\", "");
const escapes = /\\u|%[0-9a-f]{2}|&#/i;

/** Creates an object when it is needed first. */
function lazy<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => (created ??= create());
}

function finderOf(forms: () => string[][], least: (length: number) => number, flags: string): Finder {
  const parts = lazy(() => forms().map((texts) => partsOf(texts, least(texts.length))));
  const hint = lazy(() => new RegExp(anyOf(parts().flatMap(({ shortest }) => shortest)), flags));
  return {
    hint: (text) => hint().test(text),
    pattern: lazy(() => new RegExp(`(?:${anyOf(parts().flatMap(({ all }) => all))})`, `${flags}g`)),
  };
}

const base64Character = (each: string) => (each === "+" ? "[+-]" : each === "/" ? String.raw`(?:\\*\/|_)` : each);

/** Returns finders of a secret in every form, whole or cut: in any case, escaped, reversed, in hex or in Base64. */
export function findersOf(secret: string): Finder[] {
  const share = leastHidden(secret) / secret.length;
  const least = (length: number) => Math.round(length * share);
  const texts = [secret.split(""), secret.split("").toReversed()];
  // The encodings of shorter texts are ordinary words.
  const inHex = secret.length < 4 ? [] : [Buffer.from(secret).toString("hex").match(/../g) ?? []];
  const escaped = finderOf(() => [...texts.map((text) => text.map(written)), ...inHex], least, "i");
  const literal = () => texts.map((text) => text.map((each) => literally(withoutBackslashes(each))));
  const unescaped = finderOf(() => [...literal(), ...inHex], least, "i");
  // It takes milliseconds to compile patterns for escapes, so a text without escapes is searched without them.
  const hint = (text: string) => (escapes.test(text) || unescaped.hint(withoutBackslashes(text))) && escaped.hint(text);
  const plain = { hint, pattern: escaped.pattern };
  if (secret.length < 4) return [plain];
  const encoded = () =>
    [secret, secret.toUpperCase(), secret.toLowerCase()].flatMap((text) =>
      [0, 1, 2].map((offset) => base64At(text, offset).split("").map(base64Character)),
    );
  return [plain, finderOf(encoded, least, "")];
}
