// Removes secrets from the parts of a check's report that may quote the target. Exchanges, findings and observations are
// redacted when they are made.
import type { Redact } from "../target/redact.ts";
import type { CreatedRecord } from "../results.ts";
import type { CheckReport } from "./verdicts.ts";

const mapped = <T>(record: Readonly<Record<string, T>>, change: (value: T) => T) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));

export function redactedReport(report: CheckReport, redact: Redact): CheckReport {
  const { results, notApplicable, created, error, falseDeclaration, secondOpinion } = report;
  const known = (text: string | undefined) => (text === undefined ? undefined : redact(text));
  const withoutSecrets = ({ reference, merchantsReference, currency, ...record }: CreatedRecord): CreatedRecord => ({
    ...record,
    reference: known(reference),
    merchantsReference: known(merchantsReference),
    currency: known(currency),
  });
  return {
    ...report,
    results: mapped(results, (result) => ({
      ...result,
      expected: redact(result.expected),
      actual: redact(result.actual),
    })),
    notApplicable: mapped(notApplicable, (reason) => ({ ...reason, text: redact(reason.text) })),
    created: created.map(withoutSecrets),
    error: known(error),
    falseDeclaration: known(falseDeclaration),
    secondOpinion: secondOpinion && {
      ...secondOpinion,
      disagreements: secondOpinion.disagreements.map((each) => ({
        ...each,
        suite: each.suite.map(redact),
        prism: each.prism.map(redact),
      })),
    },
  };
}
