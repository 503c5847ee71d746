// Keeps report.json and report.html small, whatever the target sends.
import { isTroubled, type CheckResult, type Exchange, type Report, type RequirementResult } from "../results.ts";

/** The largest size of report.json and of report.html, in bytes. */
const largestFile = 1_000_000;

/** How many exchanges of a requirement are kept, and how many characters of each body. */
type Limit = { exchanges: number; body: number };

/** The limits for checks that need attention and for other checks. Each entry keeps less than the previous entry. */
const limits: { troubled: Limit; other: Limit }[] = [
  { troubled: { exchanges: 60, body: 4096 }, other: { exchanges: 60, body: 4096 } },
  { troubled: { exchanges: 60, body: 4096 }, other: { exchanges: 8, body: 1024 } },
  { troubled: { exchanges: 16, body: 1024 }, other: { exchanges: 4, body: 512 } },
  { troubled: { exchanges: 6, body: 512 }, other: { exchanges: 1, body: 0 } },
  { troubled: { exchanges: 1, body: 256 }, other: { exchanges: 0, body: 0 } },
  { troubled: { exchanges: 1, body: 0 }, other: { exchanges: 0, body: 0 } },
];

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Returns an exchange with its bodies shortened. */
function shortened(exchange: Exchange, length: number): Exchange {
  const { requestBody, responseBody } = exchange;
  return {
    ...exchange,
    ...(requestBody === undefined ? {} : { requestBody: cut(requestBody, length) }),
    ...(responseBody === undefined ? {} : { responseBody: cut(responseBody, length) }),
  };
}

/** Returns what identifies an exchange, and where its full record is. */
function reference({ id, at, method, url, status, failure, durationMs, curl }: Exchange, fullAt: string): Exchange {
  const outcome = status === undefined ? { failure } : { status };
  return { id, at, method, url, requestHeaders: {}, ...outcome, durationMs, curl, fullAt };
}

function compactedTo(report: Report, limit: (typeof limits)[number]): Report {
  const fullAt = new Map<string, string>();
  const compactedRequirement = (requirement: RequirementResult): RequirementResult => {
    const left = { troubled: limit.troubled.exchanges, other: limit.other.exchanges };
    const compactedCheck = (check: CheckResult): CheckResult => {
      const kind = isTroubled(check) ? "troubled" : "other";
      const kept = check.exchanges.slice(0, left[kind]);
      left[kind] -= kept.length;
      const omitted = (check.exchangesLeftOut ?? 0) + check.exchanges.length - kept.length;
      const exchanges = kept.map((exchange) => {
        // Each scenario for a merchant's program counts its requests from 1.
        const key = check.selectFlags ? `${check.name} ${exchange.id}` : `${exchange.id}`;
        const first = fullAt.get(key);
        if (first !== undefined) return reference(exchange, first);
        fullAt.set(key, requirement.id);
        return shortened(exchange, limit[kind].body);
      });
      return { ...check, exchanges, ...(omitted > 0 ? { exchangesLeftOut: omitted } : {}) };
    };
    return { ...requirement, checks: requirement.checks.map(compactedCheck) };
  };
  return { ...report, requirements: report.requirements.map(compactedRequirement) };
}

/**
 * Returns the report with each exchange recorded in full once, and with all the evidence for which the files have room.
 * @param render returns the content of each file whose size is limited
 */
export function compact<T extends string[]>(
  report: Report,
  render: (report: Report) => T,
): { report: Report; files: T } {
  let compacted = report;
  let files: T | undefined;
  for (const limit of limits) {
    compacted = compactedTo(report, limit);
    const isLast = limit === limits.at(-1);
    // Each file contains the results, so do not render files that cannot fit.
    if (!isLast && JSON.stringify(compacted).length > largestFile) continue;
    files = render(compacted);
    if (files.every((file) => Buffer.byteLength(file) < largestFile)) break;
  }
  return { report: compacted, files: files! };
}
