// Renders certify.yaml: each field with its meaning, what the target showed about it and its value, or an example.
import { fieldNames, meaningOf, type Declaration } from "./declaration.ts";
import { oneLine } from "../report/visible.ts";
import type { BudgetExceeded } from "../target/budget.ts";
import { table } from "./table.ts";

/** The finding about a field: its value if there is a limit, and the requests that show it. */
export type Answer = { value?: unknown; text: string };
export type Answers = { [Name in keyof Declaration]?: Answer };

/** Says that the budget does not cover the payouts that show a field's limit. */
export const notAfforded = ({ message }: BudgetExceeded): Answer => ({
  text: `Not asked: ${message} (--max-payouts, --max-total).`,
});

const width = 100;

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
export const rendered = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(rendered).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${rendered(each)}`)
    .join(", ")} }`;
};

function section(field: keyof Declaration, { value, text }: Answer): string {
  const shown = value === undefined ? `# ${field}: ${rendered(table[field].example)}` : `${field}: ${rendered(value)}`;
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
