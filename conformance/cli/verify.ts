// Implements `certify verify`: checks a certificate, and says what it states and what was not checked.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { sha256 } from "../certificate/hashes.ts";
import { readPublicKey } from "../certificate/keys.ts";
import type { Certificate } from "../certificate/sign.ts";
import { comparisonsOf, verifyCertificate, type Expectations } from "../certificate/verify.ts";
import { oneLine, visible } from "../report/visible.ts";
import { effects } from "../report/words.ts";
import { CannotRun, isSide, profiles } from "../results.ts";
import { InvalidValue, oneOf, readFlags, refuse, type CommandResult, type Options } from "./flags.ts";

/** Reads a file that the caller named. */
export function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CannotRun(`Cannot read ${file}: ${(error as Error).message}`);
  }
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationMs(value: string): number {
  const [, count, unit = "d"] = /^(\d+)([mhd])?$/.exec(value) ?? [];
  if (count === undefined) throw new InvalidValue(` must look like 30d, 12h or 90m, not ${JSON.stringify(value)}`);
  return Number(count) * units[unit as keyof typeof units];
}

const contractHash = (value: string) => (/^[0-9a-f]{64}$/.test(value) ? value : sha256(readFileSync(value)));

export const verifyOptions = {
  key: {
    value: "FILE.pub",
    meaning: "public key of the signer",
    required: "give the signer's public key",
    read: readPublicKey,
  },
  report: { value: "FILE", meaning: "the report that the certificate is about; every byte must be the same" },
  target: { value: "URL", meaning: "the base URL, or the command or URL of a merchant's program, that was judged" },
  profile: { value: "NAME", meaning: "the profile that was judged", read: oneOf(...profiles) },
  contract: {
    value: "FILE|SHA256",
    meaning: "the bundled contract (`generated/openapi.json`), or its SHA-256",
    read: contractHash,
  },
  "max-age": {
    value: "DURATION",
    meaning: "how long ago the run may have ended, such as `30d`, `12h` or `90m`",
    read: durationMs,
  },
  challenge: { value: "TEXT", meaning: "the text that you gave the operator" },
  require: { value: "full", meaning: "nothing may have weakened the run", read: oneOf("full") },
} as const satisfies Options;

const moment = (time: number) => new Date(time * 1000).toISOString();

/**
 * Renders what a certificate states as lines of text.
 * @param compared true if the certificate was compared with a report
 */
function statement(certificate: Certificate, compared: boolean): string[] {
  const { counts, hashes, weakenedBy, seed, challenge } = certificate;
  const lines: [label: string, text: string][] = [
    ["Target", certificate.sub],
    ["Scope", certificate.scope],
    ["Profile", certificate.profile],
    ...(isSide(certificate.profile)
      ? []
      : [["Effects", `${certificate.effects} (${effects[certificate.effects]})`] as [string, string]]),
    ["Run", `${certificate.startedAt} to ${certificate.finishedAt}`],
    ["Valid", `${moment(certificate.nbf)} to ${moment(certificate.exp)}`],
    ["Results", `${counts.pass} passed, ${counts.warn} warnings, ${counts.observed} observed, none failed`],
    ...weakenedBy.map((text): [string, string] => ["Weakened by", text]),
    ["Seed", challenge === null ? String(seed) : `${seed}, derived from the challenge ${challenge}`],
    ["Contract", hashes.spec],
    ["Suite", `${certificate.suiteVersion} ${hashes.suite}`],
    ["Report", `${hashes.report}${compared ? " (matches the given report)" : ""}`],
  ];
  return lines.map(([label, value]) => `${label.padEnd(12)}${oneLine(value)}`);
}

/** Names the options that would have checked more, and what the certificate states about each. */
function openLines(certificate: Certificate, expected: Expectations, compared: boolean, now: Date): string[] {
  const open = [
    ...(compared ? [] : [{ option: "--report FILE", stated: "the report was not compared" }]),
    ...comparisonsOf(certificate, expected, now).filter((each) => each.expected === undefined),
  ];
  if (open.length === 0) return [];
  const lines = open.map(({ option, stated }) => `  ${option.padEnd(24)}${oneLine(stated)}`);
  return ["", "Not checked. Each option would check the statement after it:", ...lines];
}

/**
 * Verifies a certificate. The exit code is 1 if it is invalid, or differs from what the reader expects.
 * @throws OptionsError, CannotRun
 */
export async function verify(args: readonly string[], now: Date): Promise<CommandResult> {
  const { values, positionals, faults } = readFlags(args, verifyOptions, 1);
  refuse(faults);
  const { key, report, "max-age": maxAge, ...others } = values;
  const expected: Expectations = { ...others, maxAge };
  const [file = ""] = positionals;
  const verification = await verifyCertificate({
    jws: read(file).toString("utf8").trim(),
    key,
    now,
    expected,
    ...(report === undefined ? {} : { reportJson: read(report) }),
  });
  if (!verification.valid) {
    return { exitCode: 1, text: `INVALID  ${basename(file)}\n${visible(verification.reason)}\n` };
  }
  const { certificate } = verification;
  const compared = report !== undefined;
  const lines = [...statement(certificate, compared), ...openLines(certificate, expected, compared, now)];
  return { exitCode: 0, text: `VALID  ${basename(file)}\n${lines.join("\n")}\n` };
}
