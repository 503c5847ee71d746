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

export const redactedReport = (report: CheckReport, redact: Redact) => within(report, "", redact) as CheckReport;
