// Renders certify.yaml. Each field has its meaning, what the target showed about it, and its value or an example.
import { fieldNames, meaningOf, type Declaration } from "./declaration.ts";
import { oneLine, wrapped } from "../report/visible.ts";
import { table } from "./table.ts";

/** What the run found out about a field: its value if there is a limit, and the requests that prove it. */
export type Finding = { value?: unknown; text: string };
export type Findings = { [Name in keyof Declaration]?: Finding };

const width = 100;

const comment = (text: string) => wrapped(oneLine(text), width - 2).map((line) => `# ${line}`);

/** Renders a value as JSON, which is also YAML, with a space after each comma and colon. */
export const rendered = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(rendered).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${rendered(each)}`)
    .join(", ")} }`;
};

function section(field: keyof Declaration, { value, text }: Finding): string {
  const shown = value === undefined ? `# ${field}: ${rendered(table[field].example)}` : `${field}: ${rendered(value)}`;
  return [...comment(meaningOf(field)), ...comment(text), shown, ""].join("\n");
}

/**
 * Renders a declaration.
 * @param introduction paragraphs about the whole file
 * @param untried says why nothing was found out about a field
 */
export function renderDeclaration(introduction: readonly string[], findings: Findings, untried: string): string {
  const fields = fieldNames as (keyof Declaration)[];
  const sections = fields.map((field) => section(field, findings[field] ?? { text: untried }));
  return [...introduction.flatMap(comment), "", ...sections].join("\n");
}
