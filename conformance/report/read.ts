import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { CannotRun, sides, type Report } from "../results.ts";

const verdict = { enum: ["pass", "fail", "warn", "observed", "not-applicable", "could-not-run"] };
const text = { type: "string" };
const list = (required: string[], properties: object) => ({
  type: "array",
  items: { type: "object", required, properties },
});

/** The schema of the fields that the readers of report.json rely on. A report may have more fields. */
const schema = {
  type: "object",
  required: ["verdict", "profile", "effects", "baseUrl", "specSha256", "suiteVersion", "requirements", "observed"],
  properties: {
    verdict: { enum: ["certified", "passed-partially", "failed", "error"] },
    profile: { enum: ["core", "extended", ...sides] },
    effects: { enum: ["none", "reject", "money"] },
    baseUrl: text,
    specSha256: text,
    suiteVersion: text,
    requirements: list(["id", "verdict", "checks"], {
      id: text,
      verdict,
      checks: list(["name", "verdict"], { name: text, verdict }),
    }),
    observed: list(["requirement", "name", "value"], { requirement: text, name: text }),
  },
};
/**
 * Reads a report.json.
 * @throws CannotRun if the file cannot be read or is not a report
 */
export function readReport(file: string): Report {
  let report: unknown;
  try {
    report = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new CannotRun(`${file} is not a readable report: ${(error as Error).message}`, { cause: error });
  }
  const ajv = new Ajv({ allErrors: true });
  if (ajv.validate<Report>(schema, report)) return report;
  const faults = (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath || "the document"} ${message}`);
  throw new CannotRun(`${file} is not a report of certify: ${faults.slice(0, 5).join("; ")}.`);
}
