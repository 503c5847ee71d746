import type { KeyObject } from "node:crypto";
import { decodeProtectedHeader, errors, jwtVerify } from "jose";
import type { Report } from "../results.ts";
import { payoutOf, referencesOf } from "./challenge.ts";
import { differences, type Expectations } from "./expectations.ts";
import { resultsSha256, sha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";
import type { Revocation } from "./revocations.ts";
import { claimsFault } from "./schema.ts";
import { algorithm, certificateType } from "./sign.ts";
import type { Certificate } from "./sign.ts";

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

function compareReport(reportJson: Uint8Array, { hashes }: Certificate): string | undefined {
  if (sha256(reportJson) === hashes.report) return undefined;
  const given = `its SHA-256 is ${sha256(reportJson)} instead of ${hashes.report}`;
  try {
    const same = resultsSha256(JSON.parse(new TextDecoder().decode(reportJson)) as Report) === hashes.results;
    const results = same ? "its verdicts are the same, but other content was changed" : "its verdicts differ";
    return `The report is not the certified report: ${given}; ${results}.`;
  } catch {
    return `The report is not the certified report: ${given}; it is not a readable report.`;
  }
}

const first = (challenge: string) => referencesOf(challenge)[0];

/**
 * Verifies the signature, algorithm, type and validity period of a certificate, without network access. If the report
 * is given, also verifies that the certificate was issued for it. If expectations are given, the certificate must meet
 * them.
 * @param input.reportJson the exact bytes of report.json
 */
export async function verifyCertificate(input: {
  jws: string;
  key: KeyObject;
  now: Date;
  reportJson?: Uint8Array;
  expected?: Expectations;
  revocations?: readonly Revocation[];
}): Promise<Verification> {
  const { jws, key, now, reportJson, expected = {}, revocations = [] } = input;
  let certificate: Certificate;
  try {
    const { payload } = await jwtVerify(jws, key, {
      algorithms: [algorithm],
      typ: certificateType,
      currentDate: now,
      requiredClaims: ["sub", "iat", "nbf", "exp"],
    });
    const fault = claimsFault(payload);
    if (fault !== undefined) return invalid(`It is not a conformance certificate of this version: ${fault}`);
    certificate = payload as unknown as Certificate;
  } catch (error) {
    return invalid(await reasonFor(error, jws, key));
  }
  if (certificate.verdict !== "certified") return invalid(`It states the verdict ${String(certificate.verdict)}.`);
  const difference = reportJson === undefined ? undefined : compareReport(reportJson, certificate);
  if (difference !== undefined) return invalid(difference);
  const revocation = revocations.find(({ id }) => id === certificate.jti);
  if (revocation) return invalid(`It was revoked at ${revocation.revokedAt}: ${revocation.reason}`);
  const unmet = differences(certificate, expected, now);
  const { kind, challenge } = certificate;
  if (expected.challenge !== undefined && challenge !== null && kind === "service" && reportJson !== undefined) {
    const { created } = JSON.parse(new TextDecoder().decode(reportJson)) as Report;
    if (payoutOf(challenge, { created }) === undefined)
      unmet.push(`--challenge: the report has no payout with a reference derived from it, such as ${first(challenge)}`);
  }
  return unmet.length > 0 ? invalid(unmet.join("\n")) : { valid: true, certificate };
}
