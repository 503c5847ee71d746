// Implements `certify verify`, which works without a network. A signature proves only who made the statements of a
// certificate. Its reader gives what it must state as options.
import { readFileSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import { basename } from "node:path";
import { decodeProtectedHeader, errors, jwtVerify } from "jose";
import { payoutOf, referencesOf, seedOf } from "../certificate/challenge.ts";
import { sha256 } from "../certificate/hashes.ts";
import { readPublicKey, thumbprint } from "../certificate/keys.ts";
import { algorithm, certificateType, claimForms, type Certificate } from "../certificate/sign.ts";
import { oneLine, visible } from "../report/visible.ts";
import { duration, effects, seedText } from "../report/words.ts";
import { isSide, profiles, type Report } from "../results.ts";
import {
  durationMs,
  labelOf,
  oneOf,
  readFlags,
  refuse,
  type CommandResult,
  type Options,
  type Values,
} from "./flags.ts";

const contractHash = (value: string) => (/^[0-9a-f]{64}$/.test(value) ? value : sha256(readFileSync(value)));

export const verifyOptions = {
  key: {
    value: "FILE.pub",
    meaning: "public key of the signer",
    required: "give the signer's public key",
    read: readPublicKey,
  },
  report: {
    value: "FILE",
    meaning: "the report that the certificate is about; every byte must be the same",
    read: (file: string) => readFileSync(file),
  },
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

type Expected = Values<typeof verifyOptions>;

/** Thrown for a certificate that is invalid, or not as expected. */
class Invalid extends Error {}

const isoTime = (seconds: unknown) => new Date(Number(seconds) * 1000).toISOString();

/** Explains an error of `jwtVerify` to the person who received the certificate. */
async function reasonFor(error: unknown, jws: string, key: KeyObject): Promise<string> {
  if (error instanceof errors.JOSEAlgNotAllowed)
    return `It is signed with algorithm ${decodeProtectedHeader(jws).alg}; only ${algorithm} is allowed.`;
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    const [named, given] = [decodeProtectedHeader(jws).kid, await thumbprint(key)];
    return named === given
      ? "It was changed after it was signed: the signature does not match its content."
      : `It was signed with a different key: ${named ?? "unnamed"} instead of ${given}.`;
  }
  if (error instanceof errors.JWTExpired) return `It expired on ${isoTime(error.payload.exp)}.`;
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === "typ") return "It is a signed token, but not a conformance certificate.";
    return error.claim === "nbf" && error.reason === "check_failed"
      ? `It is not valid before ${isoTime(error.payload.nbf)}.`
      : `It is not a conformance certificate: "${error.claim}" is missing or invalid.`;
  }
  if (error instanceof errors.JOSEError) return "It is not a certificate: it is not a readable signed token.";
  throw error;
}

/** Returns what a certificate states. @throws Invalid if signature, algorithm, type, validity or a claim is not right */
async function certificateIn(jws: string, key: KeyObject, now: Date): Promise<Certificate> {
  const options = { algorithms: [algorithm], typ: certificateType, currentDate: now };
  const { payload } = await jwtVerify(jws, key, options).catch(async (error: unknown) => {
    throw new Invalid(await reasonFor(error, jws, key));
  });
  const wrong = Object.entries(claimForms).find(([name, isValid]) => !isValid(payload[name]));
  if (wrong)
    throw new Invalid(
      `It is not a certificate of this version: "${wrong[0]}" is missing or invalid. Ask for a new one.`,
    );
  const certificate = payload as unknown as Certificate;
  if (certificate.verdict !== "certified") throw new Invalid(`It states the verdict ${String(certificate.verdict)}.`);
  return certificate;
}

const withoutSlash = (url: string) => url.replace(/\/+$/, "");

const challengeOf = ({ challenge, seed }: Certificate) => {
  if (challenge === null) return "no challenge";
  return seed === seedOf(challenge) ? challenge : `${challenge}, but a seed that was not derived from it`;
};

/** An option of a reader: what the certificate states about it, and what the reader expects. */
type Comparison = { option: keyof Expected; stated: string; expected?: string | undefined; ok: boolean };

const same = (option: keyof Expected, stated: string, expected: string | undefined): Comparison => {
  return { option, stated, expected, ok: stated === expected };
};

/** Compares a certificate with everything that a reader can expect. An expectation that is undefined is not checked. */
function comparisonsOf(certificate: Certificate, expected: Expected, now: Date): Comparison[] {
  const { sub, profile, hashes, finishedAt, weakenedBy } = certificate;
  const { target, "max-age": maxAge } = expected;
  const age = now.getTime() - Date.parse(finishedAt);
  return [
    same("target", withoutSlash(sub), target && withoutSlash(target)),
    same("profile", profile, expected.profile),
    same("contract", hashes.spec, expected.contract),
    {
      option: "max-age",
      stated: `a run that ended at ${finishedAt}, ${duration(age)} ago`,
      expected: maxAge === undefined ? undefined : `at most ${duration(maxAge)} ago`,
      ok: maxAge !== undefined && age <= maxAge,
    },
    same("challenge", challengeOf(certificate), expected.challenge),
    {
      option: "require",
      stated: weakenedBy.join("; ") || "nothing weakened the run",
      expected: expected.require && "that nothing weakened the run",
      ok: weakenedBy.length === 0,
    },
  ];
}

/** @throws Invalid if the report is not the certified one, or does not have the payouts of a challenge */
function requireReport({ hashes, profile }: Certificate, report: Buffer, challenge: string | undefined): void {
  if (sha256(report) !== hashes.report)
    throw new Invalid(
      `The report is not the certified report: its SHA-256 is ${sha256(report)} instead of ${hashes.report}.`,
    );
  if (challenge === undefined || isSide(profile)) return;
  if (payoutOf(challenge, JSON.parse(report.toString()) as Report) === undefined)
    throw new Invalid(
      `--challenge: the report has no payout with a reference derived from it, such as ${referencesOf(challenge)[0]}`,
    );
}

/** Renders what a certificate states, and the options that would have checked more. */
function statement(certificate: Certificate, unchecked: readonly Comparison[], isCompared: boolean): string[] {
  const { counts, hashes, weakenedBy, profile } = certificate;
  const lines: [label: string, text: string][] = [
    ["Target", certificate.sub],
    ["Scope", certificate.scope],
    ["Profile", profile],
    ["Effects", isSide(profile) ? "none" : `${certificate.effects} (${effects[certificate.effects]})`],
    ["Run", `${certificate.startedAt} to ${certificate.finishedAt}`],
    ["Valid", `${isoTime(certificate.nbf)} to ${isoTime(certificate.exp)}`],
    ["Webhooks", certificate.webhooks],
    ["Watched", certificate.watched ?? "no traffic"],
    ["Results", `${counts.pass} passed, ${counts.warn} warnings, ${counts.observed} observed, none failed`],
    ...weakenedBy.map((text): [string, string] => ["Weakened by", text]),
    ["Seed", seedText(certificate)],
    ["Contract", hashes.spec],
    ["Suite", `${certificate.suiteVersion} ${hashes.suite}`],
    ["Report", `${hashes.report}${isCompared ? " (matches the given report)" : ""}`],
  ];
  const rows = unchecked.map(
    ({ option, stated }) => `  ${labelOf(option, verifyOptions[option]).padEnd(24)}${oneLine(stated)}`,
  );
  return [
    ...lines.map(([label, value]) => `${label.padEnd(12)}${oneLine(value)}`),
    ...(unchecked.length === 0 ? [] : ["", "Not checked. Each option would check the statement after it:", ...rows]),
  ];
}

/**
 * Verifies a certificate. The exit code is 1 if it is invalid, or differs from what the reader expects.
 * @throws OptionsError, CannotRun
 */
export async function verify(args: readonly string[], now: Date): Promise<CommandResult> {
  const { values, positionals, faults } = readFlags(args, verifyOptions, 1);
  refuse(faults);
  const [file = ""] = positionals;
  const jws = readFileSync(file, "utf8").trim();
  const { report } = values;
  try {
    const certificate = await certificateIn(jws, values.key, now);
    const comparisons = comparisonsOf(certificate, values, now);
    const unmet = comparisons.filter(({ expected, ok }) => expected !== undefined && !ok);
    if (unmet.length > 0) {
      const reasons = unmet.map(
        ({ option, stated, expected }) => `--${option}: it states ${stated}; expected: ${expected}`,
      );
      throw new Invalid(reasons.join("\n"));
    }
    if (report) requireReport(certificate, report, values.challenge);
    const unchecked = comparisons.filter(({ expected }) => expected === undefined);
    if (!report) unchecked.unshift({ option: "report", stated: "the report was not compared", ok: false });
    const lines = statement(certificate, unchecked, report !== undefined);
    return { exitCode: 0, text: `VALID  ${basename(file)}\n${lines.join("\n")}\n` };
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    return { exitCode: 1, text: `INVALID  ${basename(file)}\n${visible(error.message)}\n` };
  }
}
