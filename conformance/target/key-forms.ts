// The forms of a key other than the key itself, in one list: checks send some of them to a target that must refuse
// them, commands compute them in the shell, and reports hide all of them, because a target may return a key that it was
// sent.

export type KeyForm = {
  what: string;
  of: (key: string) => string;
  /** Returns the shell expression for the form of the key in `$variable`. */
  shell: (variable: string, key: string) => string;
};

const isUpper = (key: string) => key === key.toUpperCase();
const inBase64 = (text: string) => `$(printf %s ${text} | base64 | tr -d '\\n')`;

export const withoutLast: KeyForm = {
  what: "the key without its last character",
  of: (key) => key.slice(0, -1),
  shell: (variable) => `\${${variable}%?}`,
};
export const firstHalf: KeyForm = {
  what: "the first half of the key",
  of: (key) => key.slice(0, key.length / 2),
  shell: (variable, key) => `$(printf %s "$${variable}" | cut -c1-${Math.floor(key.length / 2)})`,
};
export const oppositeCase: KeyForm = {
  what: "the key in the opposite case",
  of: (key) => (isUpper(key) ? key.toLowerCase() : key.toUpperCase()),
  shell: (variable, key) => `$(printf %s "$${variable}" | ${isUpper(key) ? "tr A-Z a-z" : "tr a-z A-Z"})`,
};
export const base64: KeyForm = {
  what: "the key in Base64",
  of: (key) => btoa(key),
  shell: (variable) => inBase64(`"$${variable}"`),
};
export const basic: KeyForm = {
  what: "the key as the user of Basic authentication",
  of: (key) => btoa(`${key}:`),
  shell: (variable) => inBase64(`"$${variable}:"`),
};

/** From the longest to the shortest, so that no form is cut by the replacement of another. */
export const keyForms: readonly KeyForm[] = [basic, base64, oppositeCase, withoutLast, firstHalf];

/** The shortest secret whose parts are hidden, and the shortest part. Parts of shorter secrets are ordinary words. */
const shortestCut = 16;
const shortestPart = 8;

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");
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
  const whole = Math.floor((bytes.length * 8) / 6);
  return bytes.toString("base64").slice(Math.ceil((offset * 8) / 6), whole);
}

/** Patterns for the parts of a text that begin or end where the text does and have this length or more. */
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
  /** Matches a text that may contain a form of the secret. Takes a fraction of the time of `pattern`. */
  hint: RegExp;
  pattern: RegExp;
};

const anyOf = (patterns: readonly string[]) => [...new Set(patterns)].join("|");

function finderOf(forms: readonly (readonly string[])[], least: (length: number) => number, flags: string): Finder {
  const parts = forms.map((texts) => partsOf(texts, least(texts.length)));
  return {
    hint: new RegExp(anyOf(parts.flatMap(({ shortest }) => shortest)), flags),
    pattern: new RegExp(`(?:${anyOf(parts.flatMap(({ all }) => all))})`, `${flags}g`),
  };
}

const base64Character = (each: string) => (each === "+" ? "[+-]" : each === "/" ? String.raw`(?:\\*\/|_)` : each);

/** Returns finders of a secret in every form, whole or cut: in any case, escaped, reversed, in hex or in Base64. */
export function findersOf(secret: string): Finder[] {
  const isCut = secret.length >= shortestCut;
  const least = (length: number) => (isCut ? Math.max(shortestPart, Math.floor(length / 2)) : length);
  const characters = secret.split("").map(written);
  const texts = [characters, characters.toReversed()];
  // The encodings of shorter texts are ordinary words.
  if (secret.length < 4) return [finderOf(texts, least, "i")];
  const inHex = Buffer.from(secret).toString("hex").match(/../g) ?? [];
  const encoded = [secret, secret.toUpperCase(), secret.toLowerCase()].flatMap((text) =>
    [0, 1, 2].map((offset) => base64At(text, offset).split("").map(base64Character)),
  );
  return [finderOf([...texts, inHex], least, "i"), finderOf(encoded, least, "")];
}
