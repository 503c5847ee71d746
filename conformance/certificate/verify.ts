// Verifies a certificate, without a network. A signature proves only who made its statements, so a reader says what it
// must state.
import type { KeyObject } from "node:crypto";
import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from "jose";
import { duration } from "../report/words.ts";
import { isSide, type Report } from "../results.ts";
import { payoutOf, referencesOf, seedOf } from "./challenge.ts";
import { sha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";
import { algorithm, certificateType, claimForms, type Certificate } from "./sign.ts";

/** What a reader expects. An expectation that is undefined is not checked. */
export type Expectations = {
  target?: string;
  profile?: Certificate["profile"];
  /** The SHA-256 hash of the bundled OpenAPI document. */
  contract?: string;
  /** How long ago the run may have ended, in milliseconds. */
  maxAge?: number;
  challenge?: string;
  /** `full` if nothing may have weakened the run. */
  require?: "full";
};

export type Verification = { valid: true; certificate: Certificate } | { valid: false; reason: string };

const invalid = (reason: string): Verification => ({ valid: false, reason });
const day = (seconds: unknown) => new Date(Number(seconds) * 1000).toISOString();

/** Explains an error of `jwtVerify` to the person who received the certificate. */
async function reasonFor(error: unknown, jws: string, key: KeyObject): Promise<string> {
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `It is signed with algorithm ${decodeProtectedHeader(jws).alg}; only ${algorithm} is allowed.`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    const [named, given] = [decodeProtectedHeader(jws).kid, await thumbprint(key)];
    return named === given
      ? "It was changed after it was signed: the signature does not match its content."
      : `It was signed with a different key: ${named ?? "unnamed"} instead of ${given}.`;
  }
  if (error instanceof errors.JWTExpired) return `It expired on ${day(error.payload.exp)}.`;
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === "nbf" && error.reason === "check_failed") {
      return `It is not valid before ${day(error.payload.nbf)}.`;
    }
    if (error.claim === "typ") return "It is a signed token, but not a conformance certificate.";
    return `It is not a conformance certificate: "${error.claim}" is missing or invalid.`;
  }
  if (error instanceof errors.JOSEError) return "It is not a certificate: it is not a readable signed token.";
  throw error;
}

const withoutSlash = (url: string) => url.replace(/\/+$/, "");

const challengeOf = ({ challenge, seed }: Certificate) => {
  if (challenge === null) return "no challenge";
  return seed === seedOf(challenge) ? challenge : `${challenge}, but a seed that was not derived from it`;
};

/** An option of a reader: what the certificate states about it, and what the reader expects. */
type Comparison = { option: string; stated: string; expected?: string; ok: boolean };

const same = (option: string, stated: string, expected: string | undefined): Comparison => ({
  option,
  stated,
  expected,
  ok: stated === expected,
});

/** Compares a certificate with everything that a reader can expect. */
export function comparisonsOf(certificate: Certificate, expected: Expectations, now: Date): Comparison[] {
  const { sub, profile, hashes, finishedAt, weakenedBy } = certificate;
  const { target, maxAge } = expected;
  const age = now.getTime() - Date.parse(finishedAt);
  return [
    same("--target URL", withoutSlash(sub), target === undefined ? undefined : withoutSlash(target)),
    same("--profile NAME", profile, expected.profile),
    same("--contract FILE|SHA256", hashes.spec, expected.contract),
    {
      option: "--max-age DURATION",
      stated: `a run that ended at ${finishedAt}, ${duration(age)} ago`,
      expected: maxAge === undefined ? undefined : `at most ${duration(maxAge)} ago`,
      ok: maxAge !== undefined && age <= maxAge,
    },
    same("--challenge TEXT", challengeOf(certificate), expected.challenge),
    {
      option: "--require full",
      stated: weakenedBy.join("; ") || "nothing weakened the run",
      expected: expected.require && "that nothing weakened the run",
      ok: weakenedBy.length === 0,
    },
  ];
}

/** Says why a certified report does not have the payouts of a challenge. */
function payoutFault({ challenge, profile }: Certificate, reportJson: Uint8Array): string | undefined {
  if (challenge === null || isSide(profile)) return undefined;
  const { created } = JSON.parse(new TextDecoder().decode(reportJson)) as Report;
  if (payoutOf(challenge, { created }) !== undefined) return undefined;
  return `--challenge: the report has no payout with a reference derived from it, such as ${referencesOf(challenge)[0]}`;
}

/**
 * Verifies the signature, algorithm, type and validity period of a certificate. If the report is given, also verifies
 * that the certificate was issued for it. If expectations are given, the certificate must meet them.
 * @param input.reportJson the exact bytes of report.json
 */
export async function verifyCertificate(input: {
  jws: string;
  key: KeyObject;
  now: Date;
  reportJson?: Uint8Array;
  expected?: Expectations;
}): Promise<Verification> {
  const { jws, key, now, reportJson, expected = {} } = input;
  let claims: JWTPayload;
  try {
    const options = { algorithms: [algorithm], typ: certificateType, currentDate: now };
    claims = (await jwtVerify(jws, key, options)).payload;
  } catch (error) {
    return invalid(await reasonFor(error, jws, key));
  }
  const wrong = Object.entries(claimForms).find(([name, isValid]) => !isValid(claims[name]));
  if (wrong) {
    const [name] = wrong;
    return invalid(`It is not a certificate of this version: "${name}" is missing or invalid. Ask for a new one.`);
  }
  const certificate = claims as unknown as Certificate;
  if (certificate.verdict !== "certified") return invalid(`It states the verdict ${String(certificate.verdict)}.`);
  const { report } = certificate.hashes;
  if (reportJson && sha256(reportJson) !== report) {
    return invalid(
      `The report is not the certified report: its SHA-256 is ${sha256(reportJson)} instead of ${report}.`,
    );
  }
  const unmet = comparisonsOf(certificate, expected, now)
    .filter((each) => each.expected !== undefined && !each.ok)
    .map(({ option, stated, expected: wanted }) => `${option.split(" ")[0]}: it states ${stated}; expected: ${wanted}`);
  const unpaid = expected.challenge !== undefined && reportJson && payoutFault(certificate, reportJson);
  if (unpaid) unmet.push(unpaid);
  return unmet.length > 0 ? invalid(unmet.join("\n")) : { valid: true, certificate };
}
