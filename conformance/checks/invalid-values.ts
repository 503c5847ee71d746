// Values that break one rule of §2.1 for one field. Each goes into an otherwise valid disbursement.

type Case = readonly [what: string, value: unknown];
export type Kind = "required" | "type" | "value";
export type Rule = { id: string; field: string; kind: Kind; cases: readonly Case[] };

const missing = (field: string, id: string): Rule => ({
  id,
  field,
  kind: "required",
  cases: [["left out", undefined]],
});

const required: Rule[] = [
  missing("reference", "create.reference-required"),
  missing("amount", "create.amount-required"),
  missing("phoneNumber", "create.phone-required"),
  missing("country", "create.country-required"),
  missing("currency", "create.currency-required"),
];

/** Types that no text field has. */
const noText: readonly Case[] = [
  ["null", null],
  ["true", true],
  ["an object", { value: "x" }],
  ["an array", ["x"]],
];

const types: Rule[] = [
  { id: "create.reference-type", field: "reference", kind: "type", cases: [["a number", 12345], ...noText] },
  {
    id: "create.amount-type",
    field: "amount",
    kind: "type",
    cases: [
      ["null", null],
      ["a fraction", 1.5],
      ["a numeric string", "100"],
      ["text", "abc"],
      ["an empty string", ""],
      ["true", true],
      ["an object", {}],
      ["an array", [100]],
    ],
  },
  { id: "create.phone-type", field: "phoneNumber", kind: "type", cases: [["a number", 2257038102473], ...noText] },
  { id: "create.country-type", field: "country", kind: "type", cases: [["a number", 12], ...noText] },
  { id: "create.currency-type", field: "currency", kind: "type", cases: [["a number", 952], ...noText] },
  // Null may stand for an address that was not given.
  { id: "create.webhook-type", field: "webhookURL", kind: "type", cases: [["a number", 1], ...noText.slice(1)] },
];

const values: Rule[] = [
  {
    id: "create.amount-minimum",
    field: "amount",
    kind: "value",
    cases: [
      ["0", 0],
      ["-1", -1],
      ["-10000", -10_000],
    ],
  },
  {
    id: "create.phone-pattern",
    field: "phoneNumber",
    kind: "value",
    cases: [
      ["empty", ""],
      ["9 digits", "225703810"],
      ["16 digits", "2257038102473000"],
      ["a plus sign", "+2257038102473"],
      ["spaces", "225 70 38 10 24 73"],
      ["a letter", "22570381O2473"],
      ["a line break at the end", "2257038102473\n"],
      ["digits of another script", "٢٢٥٧٠٣٨١٠٢٤٧٣"],
    ],
  },
  {
    id: "create.country-pattern",
    field: "country",
    kind: "value",
    cases: [
      ["empty", ""],
      ["one letter", "C"],
      ["three letters", "CIV"],
      ["small letters", "ci"],
      ["a digit", "C1"],
      ["a space after it", "CI "],
      ["a letter with an accent", "CÍ"],
    ],
  },
  {
    id: "create.currency-pattern",
    field: "currency",
    kind: "value",
    cases: [
      ["empty", ""],
      ["two letters", "XO"],
      ["four letters", "XOFF"],
      ["small letters", "xof"],
      ["a digit", "X0F"],
      ["a space before it", " XOF"],
    ],
  },
  {
    id: "create.webhook-format",
    field: "webhookURL",
    kind: "value",
    cases: [
      ["text", "not a url"],
      ["without a scheme", "merchant.example/hooks"],
      ["an address with a space in its host", "https://merchant example/hooks"],
    ],
  },
];

export const rules: readonly Rule[] = [...required, ...types, ...values];
