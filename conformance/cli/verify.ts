// Implements `certify verify`: checks a certificate, and says what it states and what was not checked.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { notChecked, type Expectations } from "../certificate/expectations.ts";
import { readPublicKey } from "../certificate/keys.ts";
import { readRevocations } from "../certificate/revocations.ts";
import type { Certificate } from "../certificate/sign.ts";
import { verifyCertificate } from "../certificate/verify.ts";
import { oneLine, visible } from "../report/visible.ts";
import { conditionEntries, effects, limitEntries } from "../report/words.ts";
import { isSide } from "../results.ts";
import { parsed, UsageError, type CommandResult } from "./command.ts";
import { expectedOptions, readExpected } from "./expected.ts";
import { when } from "./options.ts";

/** Reads a file that the caller named. */
export function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`Cannot read ${file}: ${(error as Error).message}`);
  }
}

const moment = (time: number) => new Date(time * 1000).toISOString();

/** A label or an option, and what the certificate states about it. */
type Row = [string, string];

/** Says how many of the musts were judged, in each part of the catalogue. */
const judgedText = ({ judged }: Certificate) =>
  Object.entries(judged)
    .map(([profile, { musts, passed, notApplicable }]) => {
      const rest = notApplicable > 0 ? ` (${notApplicable} not applicable)` : "";
      return `${profile} ${passed} of ${musts} musts${rest}`;
    })
    .join(", ");

function budgetText({ budget, untriedAmounts }: Certificate): string {
  const { payouts, maxPayouts, total, maxTotal, largestAmount } = budget;
  const untried = untriedAmounts > 0 ? `; ${untriedAmounts} larger amounts were not tried` : "";
  const limit = maxTotal === null ? "without a limit" : `of at most ${maxTotal}`;
  return `${payouts} of at most ${maxPayouts} payouts, a total of ${total} ${limit}, the largest ${largestAmount}${untried}`;
}

/**
 * Renders what a certificate states as lines of text.
 * @param compared true if the certificate was compared with a report
 */
function statement(certificate: Certificate, compared: boolean): string[] {
  const { counts, hashes, notApplicable } = certificate;
  const isService = !isSide(certificate.profile);
  const lines: Row[] = [
    ["Target", certificate.sub],
    ["Scope", certificate.scope],
    ["Profile", certificate.profile],
    ["Kind", certificate.kind],
    ...(isService ? [["Effects", `${certificate.effects} (${effects[certificate.effects]})`] as Row] : []),
    ["Run", `${certificate.startedAt} to ${certificate.finishedAt}`],
    ["Valid", `${moment(certificate.nbf)} to ${moment(certificate.exp)}`],
    ["Judged", judgedText(certificate)],
    ["Results", `${counts.pass} passed, ${counts.warn} warnings, ${counts.observed} observed, none failed`],
    ...limitEntries(certificate),
    ...conditionEntries(certificate),
    ...(isService ? [["Budget", budgetText(certificate)] as Row] : []),
    ...notApplicable.map(({ id, source, why }): Row => ["Not judged", `${id} (${source}): ${why}`]),
    ["Contract", hashes.spec],
    ["Suite", `${certificate.suiteVersion} ${hashes.suite}`],
    ["Report", `${hashes.report}${compared ? " (matches the given report)" : ""}`],
    ["Id", certificate.jti],
  ];
  return lines.map(([label, value]) => `${label.padEnd(12)}${oneLine(value)}`);
}

/** Names the options that would have checked more, and what the certificate states about each. */
function openLines(certificate: Certificate, expected: Expectations, given: Given, now: Date): string[] {
  const open = notChecked(certificate, expected, now);
  if (given.revocations === undefined) open.unshift(["--revocations FILE", "the certificate may have been revoked"]);
  if (given.report === undefined) open.unshift(["--report FILE", "the report was not compared"]);
  if (open.length === 0) return [];
  const width = Math.max(...open.map(([option]) => option.length)) + 2;
  const lines = open.map(([option, stated]) => `  ${option.padEnd(width)}${oneLine(stated)}`);
  return ["", "Not checked. Each option would check the statement after it:", ...lines];
}

const options = {
  key: { type: "string" },
  report: { type: "string" },
  revocations: { type: "string" },
  ...expectedOptions,
} as const;

type Given = { report?: string; revocations?: string };

/**
 * Verifies a certificate. The exit code is 1 if it is invalid, or differs from what the reader expects.
 * @throws UsageError, KeyError, RegistryError
 */
export async function verify(args: string[], now: Date): Promise<CommandResult> {
  const { positionals, values } = parsed(args, 1, options);
  const faults: string[] = [];
  const expected = readExpected(values, "--", faults);
  if (faults.length > 0) throw new UsageError(faults.join("\n"));
  if (values.key === undefined) throw new UsageError("--key is missing: give the signer's public key.");
  const [file = ""] = positionals;
  const { report, revocations } = values;
  const verification = await verifyCertificate({
    jws: read(file).toString("utf8").trim(),
    key: readPublicKey(values.key),
    now,
    expected,
    reportJson: when(report, read),
    revocations: when(revocations, readRevocations),
  });
  if (!verification.valid) {
    return { exitCode: 1, text: `INVALID  ${basename(file)}\n${visible(verification.reason)}\n` };
  }
  const { certificate } = verification;
  const lines = [...statement(certificate, report !== undefined), ...openLines(certificate, expected, values, now)];
  return { exitCode: 0, text: `VALID  ${basename(file)}\n${lines.join("\n")}\n` };
}
