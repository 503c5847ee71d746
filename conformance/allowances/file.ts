// Renders certify.yaml: each field with its meaning, what the target showed about it and its value, or an example.
import { fieldNames, meaningOf, type Declaration } from "./declaration.ts";
import { oneLine } from "../report/visible.ts";

/** What was found out about a field: its value if it has a limit, and the requests that show this. */
export type Answer = { value?: unknown; text: string };
export type Answers = { [Name in keyof Declaration]?: Answer };

const width = 100;

/** The values that a commented field shows. */
const examples: Required<Declaration> = {
  largestAmount: 1_000_000,
  smallestAmount: 100,
  longestReference: 20,
  referenceCharacters: "A-Za-z0-9_-",
  countries: ["CI", "GH"],
  currencies: ["XOF", "GHS"],
  numberRanges: ["22507", "233xxxxxxxxx"],
  httpsWebhooks: true,
  velocity: [{ payouts: 10, seconds: 60, per: "recipient" }],
  readAfterWriteMs: 300,
  settlementSeconds: 20,
};

/** Renders a text as comment lines. A long word keeps a line of its own. */
export function comment(text: string): string[] {
  const lines: string[] = [];
  for (const word of oneLine(text).split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`# ${word}`);
  }
  return lines;
}

/** Renders a value as JSON, which is also YAML, with a space after each comma and colon. */
const rendered = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(rendered).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${rendered(each)}`)
    .join(", ")} }`;
};

function section(field: keyof Declaration, { value, text }: Answer): string {
  const shown = value === undefined ? `# ${field}: ${rendered(examples[field])}` : `${field}: ${rendered(value)}`;
  return [...comment(meaningOf(field)), ...comment(text), shown, ""].join("\n");
}

/**
 * Renders a declaration.
 * @param introduction paragraphs about the whole file
 * @param untried says why a field without an answer has none
 */
export function renderDeclaration(introduction: readonly string[], answers: Answers, untried: string): string {
  const fields = fieldNames as (keyof Declaration)[];
  const sections = fields.map((field) => section(field, answers[field] ?? { text: untried }));
  return [...introduction.flatMap(comment), "", ...sections].join("\n");
}
