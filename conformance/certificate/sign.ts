import type { KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import { CannotRun, isSide, type Report } from "../results.ts";
import { scopeLine, signingText, trafficLine, weakenedBy } from "../report/scope.ts";
import { joinedFirst } from "../report/words.ts";
import { sha256, suiteSha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";

/**
 * The `typ` header of a certificate. Because of this header, no other token that is signed with the key counts as a
 * certificate.
 */
export const certificateType = "conformance-certificate+jwt";
export const algorithm = "Ed25519";

/** The claims of a certificate. Hashes are SHA-256 in hexadecimal. `iat`, `nbf` and `exp` are seconds since 1970. */
export type Certificate = Pick<
  Report,
  "profile" | "effects" | "startedAt" | "finishedAt" | "suiteVersion" | "seed" | "counts"
> & {
  /**
   * The target's base URL. If a merchant's program was judged: what was judged instead of a service, such as the
   * command of a client.
   */
  sub: string;
  iat: number;
  nbf: number;
  exp: number;
  verdict: "certified";
  /** How far the verdict reaches, in one line for people, with the id of every requirement that is not applicable. */
  scope: string;
  /** What weakened the run, one sentence each. A run that nothing weakened has an empty list. */
  weakenedBy: string[];
  /** The text of a partner from which the seed and the references were derived; null without `--challenge`. */
  challenge: string | null;
  /** The watched traffic that the run was reported with: its exchanges, merchants and time, in words; null without. */
  watched: string | null;
  /** Whether the service signed its webhooks, and whether the run verified the signatures, in words. */
  webhooks: string;
  hashes: { spec: string; suite: string; report: string; exchanges?: string };
};

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isObject = (value: unknown) => typeof value === "object" && value !== null;

/** The form of each claim. A certificate that could leave a claim out could hide what weakened the run. */
export const claimForms: Record<keyof Certificate, (value: unknown) => boolean> = {
  sub: isText,
  iat: isNumber,
  nbf: isNumber,
  exp: isNumber,
  verdict: isText,
  scope: isText,
  weakenedBy: (value) => Array.isArray(value) && value.every(isText),
  profile: isText,
  effects: isText,
  startedAt: isText,
  finishedAt: isText,
  suiteVersion: isText,
  seed: isNumber,
  challenge: (value) => value === null || isText(value),
  watched: (value) => value === null || isText(value),
  webhooks: isText,
  counts: isObject,
  hashes: isObject,
};

/** Describes everything that prevents a certificate; an empty array if the report passes its profile in full. */
function obstacles(report: Report): string[] {
  const found: string[] = [];
  if (report.verdict !== "certified") found.push(`the verdict is ${report.verdict}, not certified`);
  if (report.only) found.push("only some requirements were selected (--only)");
  if (report.errors.length > 0) found.push("the suite reported errors");
  if (report.exchangesSha256 === undefined && !isSide(report.profile))
    found.push("the exchanges were not recorded, because a key is so short or ordinary that it occurs in other texts");
  for (const { id, level, verdict, reason } of report.requirements) {
    if (verdict === "fail" || verdict === "could-not-run") found.push(`${id}: ${verdict}`);
    else if (level === "must" && verdict === "warn") found.push(`${id}: ${verdict}`);
    else if (reason && reason.code !== "target") found.push(`${id} was not fully judged`);
    else if (verdict === "not-applicable" && !reason) found.push(`${id} was not judged, without a reason`);
  }
  return found;
}

const mostShown = 5;

/** How long a certificate is valid. Its reader can ask for less with `--max-age`. */
const validDays = 90;

/**
 * Signs a certificate for a report. Returns a compact JWS, signed with Ed25519, whose claims are a `Certificate`.
 * @param reportJson the exact content of report.json
 * @throws CannotRun if the report does not pass its profile in full
 */
export async function signCertificate(
  report: Report,
  reportJson: string,
  { key, now }: { key: KeyObject; now: Date },
): Promise<string> {
  const found = obstacles(report);
  if (found.length > 0) throw new CannotRun(`No certificate: ${joinedFirst(found, mostShown)}.`);
  const issued = Math.floor(now.getTime() / 1000);
  const { profile, effects, startedAt, finishedAt, suiteVersion, seed, challenge = null, counts } = report;
  const certificate: Certificate = {
    sub: report.baseUrl,
    iat: issued,
    // The certificate is valid from the end of the run, so that verifiers whose clocks are slightly behind accept it.
    nbf: Math.min(issued, Math.floor(Date.parse(finishedAt) / 1000)),
    exp: issued + validDays * 86_400,
    verdict: "certified",
    scope: scopeLine(report, Number.POSITIVE_INFINITY),
    weakenedBy: weakenedBy(report),
    profile,
    effects,
    startedAt,
    finishedAt,
    suiteVersion,
    seed,
    challenge,
    webhooks: signingText(report),
    watched: report.alsoWatched ? trafficLine(report.alsoWatched) : null,
    counts,
    hashes: {
      spec: report.specSha256,
      suite: suiteSha256(),
      report: sha256(reportJson),
      exchanges: report.exchangesSha256,
    },
  };
  return new SignJWT(certificate)
    .setProtectedHeader({ alg: algorithm, typ: certificateType, kid: await thumbprint(key) })
    .sign(key);
}
