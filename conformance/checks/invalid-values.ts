// Lists values that each violate one rule of §2.1. Checks send each value in an otherwise valid disbursement.

type Case = readonly [what: string, value: unknown];
export type Kind = "required" | "type" | "value";
export type Rule = {
  id: string;
  field: string;
  kind: Kind;
  cases: readonly Case[];
  /** Further cases, which the interface leaves open and D1 declares invalid. */
  strict?: readonly Case[];
};

const missing = (field: string, id: string): Rule => ({
  id,
  field,
  kind: "required",
  cases: [["missing", undefined]],
});

const required: Rule[] = [
  missing("reference", "create.reference-required"),
  missing("amount", "create.amount-required"),
  missing("phoneNumber", "create.phone-required"),
  missing("country", "create.country-required"),
  missing("currency", "create.currency-required"),
];

/** Returns values that are not strings. Programs that convert them may find a valid string inside. */
const nonStrings = (valid: string): readonly Case[] => [
  ["null", null],
  ["true", true],
  ["an object", { value: valid }],
  ["an array", [valid]],
];

const types: Rule[] = [
  {
    id: "create.reference-type",
    field: "reference",
    kind: "type",
    cases: [["a number", 12345], ...nonStrings("text")],
  },
  {
    id: "create.amount-type",
    field: "amount",
    kind: "type",
    cases: [
      ["null", null],
      ["a fraction", 1.5],
      ["a numeric string", "100"],
      ["a word", "abc"],
      ["an empty string", ""],
      ["true", true],
      ["an object", {}],
      ["an array", [100]],
    ],
  },
  {
    id: "create.phone-type",
    field: "phoneNumber",
    kind: "type",
    cases: [["a number", 2257038102473], ...nonStrings("2257038102473")],
  },
  { id: "create.country-type", field: "country", kind: "type", cases: [["a number", 12], ...nonStrings("CI")] },
  { id: "create.currency-type", field: "currency", kind: "type", cases: [["a number", 952], ...nonStrings("XOF")] },
  {
    id: "create.webhook-type",
    field: "webhookURL",
    kind: "type",
    cases: [["a number", 1], ...nonStrings("https://merchant.example/hooks").slice(1)],
    // The interface does not say whether null counts as a missing address.
    strict: [["null", null]],
  },
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
      ["with a plus sign", "+2257038102473"],
      ["with spaces", "225 70 38 10 24 73"],
      ["with a letter", "22570381O2473"],
      ["with a trailing line break", "2257038102473\n"],
      ["in Arabic-Indic digits", "٢٢٥٧٠٣٨١٠٢٤٧٣"],
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
      ["lower case", "ci"],
      ["with a digit", "C1"],
      ["with a trailing space", "CI "],
      ["with an accented letter", "CÍ"],
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
      ["lower case", "xof"],
      ["with a digit", "X0F"],
      ["with a leading space", " XOF"],
    ],
  },
  {
    id: "create.webhook-format",
    field: "webhookURL",
    kind: "value",
    cases: [
      ["plain text", "not a url"],
      ["without a scheme", "merchant.example/hooks"],
      ["with a space in the host", "https://merchant example/hooks"],
    ],
  },
];

export const rules: readonly Rule[] = [...required, ...types, ...values];
