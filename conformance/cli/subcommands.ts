// Runs the commands that need no target. `list` and `explain` are in catalogue.ts.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { KeyError, publicKeyFile, readPublicKey, writeKeyPair } from "../certificate/keys.ts";
import type { Certificate } from "../certificate/sign.ts";
import { verifyCertificate } from "../certificate/verify.ts";
import { compareReports, renderComparison } from "../report/diff.ts";
import { readReport, ReportError } from "../report/read.ts";
import { oneLine, visible } from "../report/visible.ts";
import { effects, limitEntries } from "../report/words.ts";
import { explain, list } from "./catalogue.ts";
import { isSide } from "../results.ts";
import { parsed, UsageError, type CommandResult } from "./command.ts";
import { didYouMean } from "./nearest.ts";

const usage = {
  list: "certify list [--profile core|extended|client|receiver]",
  explain: "certify explain ID (of a requirement, or of a scenario of a client or receiver)",
  keygen: "certify keygen FILE (writes a private key to FILE, mode 0600, and its public key to FILE.pub)",
  verify: "certify verify CERTIFICATE --key PUBLIC_KEY [--report report.json]",
  diff: "certify diff A/report.json B/report.json",
};

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`Cannot read ${file}: ${(error as Error).message}`);
  }
}

function keygen(args: string[]): CommandResult {
  const [file = ""] = parsed(args, 1, {}).positionals;
  writeKeyPair(file);
  const text = [
    `Private key: ${file}. Keep it secret, and sign with \`certify --sign ${file}\`.`,
    `Public key: ${publicKeyFile(file)}. Give it to everyone who verifies your certificates.`,
  ];
  return { exitCode: 0, text: `${text.join("\n")}\n` };
}

const moment = (time: number) => new Date(time * 1000).toISOString();

/**
 * Renders the content of a certificate as lines of text.
 * @param compared true if the certificate was compared with a report
 */
function statement(certificate: Certificate, compared: boolean): string {
  const { counts, hashes, notApplicable } = certificate;
  const lines: [string, string][] = [
    ["Target", certificate.sub],
    ["Scope", certificate.scope],
    ["Profile", certificate.profile],
    ...(isSide(certificate.profile)
      ? []
      : [["Effects", `${certificate.effects} (${effects[certificate.effects]})`] as [string, string]]),
    ["Run", `${certificate.startedAt} to ${certificate.finishedAt}`],
    ["Valid", `${moment(certificate.nbf)} to ${moment(certificate.exp)}`],
    ["Results", `${counts.pass} passed, ${counts.warn} warnings, ${counts.observed} observed, none failed`],
    ...limitEntries(certificate),
    ...notApplicable.map(({ id, source, why }): [string, string] => ["Not judged", `${id} (${source}): ${why}`]),
    ["Spec", hashes.spec],
    ["Suite", `${certificate.suiteVersion} ${hashes.suite}`],
    [
      "Report",
      `${hashes.report} ${compared ? "(matches the given report)" : "(not compared; pass the report with --report)"}`,
    ],
  ];
  return lines.map(([label, value]) => `${label.padEnd(12)}${oneLine(value)}\n`).join("");
}

async function verify(args: string[], now: Date): Promise<CommandResult> {
  const { positionals, values } = parsed(args, 1, { key: { type: "string" }, report: { type: "string" } });
  if (values.key === undefined) throw new UsageError("--key is missing: give the signer's public key.");
  const [file = ""] = positionals;
  const verification = await verifyCertificate({
    jws: read(file).toString("utf8").trim(),
    key: readPublicKey(values.key),
    now,
    ...(values.report === undefined ? {} : { reportJson: read(values.report) }),
  });
  if (!verification.valid) {
    return { exitCode: 1, text: `INVALID  ${basename(file)}\n${visible(verification.reason)}\n` };
  }
  const text = statement(verification.certificate, values.report !== undefined);
  return { exitCode: 0, text: `VALID  ${basename(file)}\n${text}` };
}

function diff(args: string[]): CommandResult {
  const [a, b] = parsed(args, 2, {}).positionals.map(readReport);
  const comparison = compareReports(a!, b!);
  return { exitCode: comparison.differences.length === 0 ? 0 : 1, text: renderComparison(a!, b!, comparison) };
}

const commands = { list, explain, keygen, verify, diff };

/** Returns true if `name` is one of these commands. */
export const isSubcommand = (name: string | undefined): name is keyof typeof commands =>
  name !== undefined && Object.hasOwn(commands, name);

/**
 * Describes an unknown command.
 * @param more the names of further commands
 */
export const unknownCommand = (name: string, more: readonly string[] = []) =>
  `There is no command ${JSON.stringify(name)}.${didYouMean(name, [...Object.keys(commands), ...more])}`;

/**
 * Runs a command. The exit code is 0 if it succeeded, the certificate is valid, or the reports are equal. It is 1 if
 * the certificate is invalid or the reports differ, and 2 if the input is invalid.
 */
export async function runSubcommand(name: keyof typeof commands, args: string[], now: Date): Promise<CommandResult> {
  try {
    return await commands[name](args, now);
  } catch (error) {
    if (error instanceof UsageError) return { exitCode: 2, text: `${visible(error.message)}\nUsage: ${usage[name]}\n` };
    if (error instanceof KeyError || error instanceof ReportError)
      return { exitCode: 2, text: `${visible(error.message)}\n` };
    throw error;
  }
}
