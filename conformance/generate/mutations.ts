// Requests from a schema: a sound one, changed in one place at a time. Which of them are invalid is for ajv to say.
import type { Schema } from "../contract/contract.ts";

export type Mutation = {
  /** What was done, for people. */
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
  ["text", "certify"],
  ["an empty array", []],
  ["an array of the value", ["value"]],
  ["an empty object", {}],
];

/** Near misses of a text: shorter, longer, in another case or script, with what is easily overlooked. */
function nearMisses(text: string): [string, unknown][] {
  const first = text.slice(0, 1);
  return [
    ["its first character", first],
    ["without its first character", text.slice(1)],
    ["without its last character", text.slice(0, -1)],
    ["twice", text + text],
    ["twenty times", text.repeat(20)],
    ["in small letters", text.toLowerCase()],
    ["in capital letters", text.toUpperCase()],
    ["with a space before it", ` ${text}`],
    ["with a space after it", `${text} `],
    ["with a line break after it", `${text}\n`],
    ["with a tab inside", `${first}\t${text.slice(1)}`],
    ["with NUL after it", `${text}\0`],
    ["with a plus sign before it", `+${text}`],
    ["with a minus sign before it", `-${text}`],
    ["with a dot inside", `${first}.${text.slice(1)}`],
    ["with a zero-width space inside", `${first}\u200b${text.slice(1)}`],
    [
      "in full-width characters",
      text.replaceAll(/[!-~]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)),
    ],
    ["with its letters turned to Cyrillic", text.replaceAll(/[A-Z]/g, "\u0421")],
    ["with Arabic digits", text.replaceAll(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)))],
    ["as the text null", "null"],
    ["with an SQL quote", `${text}' OR '1'='1`],
    ["with markup", `<b>${text}</b>`],
  ];
}

const largest = Number.MAX_SAFE_INTEGER;

function numbers({ minimum, maximum }: Schema): [string, unknown][] {
  const bounds = [minimum, maximum].filter((bound) => typeof bound === "number");
  const near = bounds.flatMap((bound) => [bound - 1, bound, bound + 1]);
  return [...near, 0, -1, -0.5, 0.1, 1.0000001, -largest, 1e21, 1e300].map((number) => [String(number), number]);
}

const addresses: [string, unknown][] = [
  "merchant.example/hooks",
  "http:",
  "http://",
  "https:// /",
  "//merchant.example",
  "/hooks",
  "?a=1",
  "http://merchant.example/<>",
  "http://[::1",
  "https://merchant.example/a b",
].map((address) => [address, address]);

function casesOf(schema: Schema, sound: unknown): [string, unknown][] {
  const more = schema.type === "integer" ? numbers(schema) : schema["format"] === "uri" ? addresses : [];
  const text =
    typeof sound === "string" ? nearMisses(sound) : [["the number as text", String(sound)] as [string, unknown]];
  return [...ofEveryType, ...text, ...more];
}

/**
 * Each field of a sound request left out, and given each value that might be a fault.
 * @param schema of the request, without references
 */
export function mutations(schema: Schema, sound: Record<string, unknown>): Mutation[] {
  return Object.entries(schema.properties ?? {}).flatMap(([field, property]) => {
    const { [field]: _, ...without } = sound;
    const given = casesOf(property, sound[field] ?? "https://merchant.example/hooks");
    return [
      { what: `${field} left out`, field, body: without },
      ...given.map(([what, value]) => ({ what: `${field}: ${what}`, field, body: { ...sound, [field]: value } })),
    ];
  });
}
