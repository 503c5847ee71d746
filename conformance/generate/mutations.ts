// Generates mutations of a valid request, and random values for its fields. Each mutation changes one field. The caller
// decides with a validator which mutations are invalid.
import * as fc from "fast-check";
import type { Schema } from "../contract/contract.ts";

type Mutation = {
  what: string;
  field: string;
  body: Record<string, unknown>;
};

const ofEveryType: [string, unknown][] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["0", 0],
  ["1", 1],
  ["-1", -1],
  ["1.5", 1.5],
  ["an empty string", ""],
  ["a word", "word"],
  ["an empty array", []],
  ["an empty object", {}],
];

function nearMisses(text: string): [string, unknown][] {
  const first = text.slice(0, 1);
  return [
    ["only its first character", first],
    ["without its first character", text.slice(1)],
    ["without its last character", text.slice(0, -1)],
    ["repeated twice", text + text],
    ["repeated 20 times", text.repeat(20)],
    ["in lower case", text.toLowerCase()],
    ["in upper case", text.toUpperCase()],
    ["with only its first letter in upper case", first.toUpperCase() + text.slice(1).toLowerCase()],
    ["with a leading space", ` ${text}`],
    ["with a trailing space", `${text} `],
    ["with a trailing line break", `${text}\n`],
    ["with a space inside", `${first} ${text.slice(1)}`],
    ["with a hyphen inside", `${first}-${text.slice(1)}`],
    ["with a letter inside", `${text.slice(0, -2)}O${text.slice(-1)}`],
    ["with a digit inside", `${first}0${text.slice(2)}`],
    ["with an accented letter", `${text.slice(0, -1)}\u00cd`],
    ["with a tab inside", `${first}\t${text.slice(1)}`],
    ["with a trailing NUL", `${text}\0`],
    ["with a leading plus sign", `+${text}`],
    ["with a leading minus sign", `-${text}`],
    ["with a dot inside", `${first}.${text.slice(1)}`],
    ["with a zero-width space inside", `${first}\u200b${text.slice(1)}`],
    ["in full-width letters", text.replaceAll(/[!-~]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0))],
    ["with Cyrillic letters", text.replaceAll(/[A-Z]/g, "\u0421")],
    ["with Arabic digits", text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)))],
    ["the string null", "null"],
    ["with an SQL injection", `${text}' OR '1'='1`],
    ["with HTML markup", `<b>${text}</b>`],
  ];
}

/** Texts that a program may take for a number. */
const texts = ["1000000", "1,000", "1 000", "1.000", "100.00", "1e3"];
const largest = Number.MAX_SAFE_INTEGER;

function numbers({ minimum, maximum }: Schema): [string, unknown][] {
  const bounds = [minimum, maximum].filter((bound) => typeof bound === "number");
  const near = bounds.flatMap((bound) => [bound - 1, bound, bound + 1]);
  return [...near, 0, -1, -0.5, 0.1, 1.0000001, 435.5, 1_000_000.25, -largest, 1e21, 1e300].map((number) => [
    String(number),
    number,
  ]);
}

/** Returns the text one character shorter and one longer than a pattern permits. */
function lengths({ pattern }: Schema, text: string): [string, unknown][] {
  const [, least, most = least] = /\{(\d+)(?:,(\d+))?\}\$$/.exec(String(pattern)) ?? [];
  if (least === undefined) return [];
  const wrong = [Number(least) - 1, Number(most) + 1];
  return wrong.map((length) => [`of length ${length}`, text.padEnd(length, text).slice(0, length)]);
}

/** Returns values of other types that a program may convert to the valid value. */
const converted = (valid: unknown): [string, unknown][] => [
  ["an array of a valid value", [valid]],
  ["an object with a valid value", { value: valid }],
  ...(Number(valid) >= 1 && typeof valid === "string" ? [["as a number", Number(valid)] as [string, unknown]] : []),
];

const addresses = (host: string): [string, unknown][] =>
  [
    `${host}/hooks`,
    "http:",
    "http://",
    "https:// /",
    `//${host}`,
    "/hooks",
    "?a=1",
    `http://${host}/<>`,
    "http://[::1",
    `https://${host}/a b`,
    `https://a ${host}/hooks`,
  ].map((address) => [address, address]);

function casesOf(schema: Schema, valid: unknown, host: string): [string, unknown][] {
  const more = schema.type === "integer" ? numbers(schema) : schema["format"] === "uri" ? addresses(host) : [];
  const text =
    typeof valid === "string"
      ? [...nearMisses(valid), ...lengths(schema, valid)]
      : [...texts, String(valid)].map((each): [string, unknown] => [`the text ${each}`, each]);
  return [...ofEveryType, ...converted(valid), ...text, ...more];
}

/** Returns requests that each omit one field of a valid request, or have another value for it, which may be valid. */
export function mutations(schema: Schema, valid: Record<string, unknown>, host: string): Mutation[] {
  return Object.entries(schema.properties ?? {}).flatMap(([field, property]) => {
    const { [field]: _, ...without } = valid;
    const given = casesOf(property, valid[field] ?? `https://${host}/hooks`, host);
    return [
      { what: `${field} missing`, field, body: without },
      {
        what: `${field} missing, but in __proto__`,
        field,
        body: { ...without, ...(JSON.parse(`{"__proto__":${JSON.stringify({ [field]: valid[field] })}}`) as object) },
      },
      ...given.map(([what, value]) => ({ what: `${field}: ${what}`, field, body: { ...valid, [field]: value } })),
    ];
  });
}

/** Generates pairs of one of the fields and an arbitrary value for it. */
export const anyValueFor = (fields: readonly string[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.double(), fc.integer()));

/** Values are never shrunk, because that would send more requests. */
export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] =>
  fc.sample(arbitrary, { numRuns: count, seed });
