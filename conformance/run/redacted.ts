// Removes secrets from the parts of a check's report that may quote the target. Exchanges, findings and observations are
// redacted when they are made.
import type { Redact } from "../target/redact.ts";
import type { CheckReport } from "./verdicts.ts";

/** The fields, on any level, that may quote the target. */
const quoting = new Set(
  "expected actual text reference merchantsReference currency error falseDeclaration suite prism".split(" "),
);
const redactedBefore = new Set(["exchanges", "exchange", "observed"]);

function within(value: unknown, name: string, redact: Redact): unknown {
  if (typeof value === "string") return quoting.has(name) ? redact(value) : value;
  if (Array.isArray(value)) return value.map((each) => within(each, name, redact));
  if (typeof value !== "object" || value === null || redactedBefore.has(name)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, within(each, key, redact)]));
}

/** Returns a JSON value with its texts and the names of its fields changed. Numbers and the structure stay. */
export function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => withTexts(each, change));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [change(name), withTexts(each, change)]));
}

export const redactedReport = (report: CheckReport, redact: Redact) => within(report, "", redact) as CheckReport;
