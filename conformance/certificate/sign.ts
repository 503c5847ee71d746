import type { KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import type { Report } from "../results.ts";
import { sourceOf } from "../report/words.ts";
import { resultsSha256, sha256, suiteSha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";

/** The kind of a certificate, in its protected header: no other signed token can be taken for one. */
export const certificateType = "conformance-certificate+jwt";
export const algorithm = "Ed25519";

/** What a certificate states. Hashes are SHA-256, hexadecimal; `iat`, `nbf` and `exp` are seconds since 1970. */
export type Certificate = {
  /** The target. */
  sub: string;
  iat: number;
  nbf: number;
  exp: number;
  verdict: "certified";
  profile: Report["profile"];
  effects: Report["effects"];
  startedAt: string;
  finishedAt: string;
  suiteVersion: string;
  counts: Report["counts"];
  /** What the target cannot be made to show, and was therefore not judged. */
  notApplicable: { id: string; source: string; why: string }[];
  hashes: { spec: string; suite: string; results: string; report: string };
};

/** Why a report gets no certificate: everything that keeps it from being a full pass of its profile. Empty for one that is. */
function obstacles(report: Report): string[] {
  const found: string[] = [];
  if (report.verdict !== "certified") found.push(`the verdict is ${report.verdict}, not certified`);
  if (report.only) found.push("only some requirements were selected (--only)");
  if (report.pending.length > 0) found.push(`the suite has no check yet for ${report.pending.join(", ")}`);
  if (report.errors.length > 0) found.push("the suite could not do all of its work");
  if (report.baselineProblems?.length) found.push("the list of known failures is out of date");
  for (const { id, level, verdict, reason, knownFailure } of report.requirements) {
    if (knownFailure) found.push(`${id} fails, which is only tolerated`);
    else if (verdict === "fail" || verdict === "could-not-run") found.push(`${id}: ${verdict}`);
    else if (level === "must" && verdict === "warn") found.push(`${id}: ${verdict}`);
    else if (reason && reason.code !== "target") found.push(`${id} was left out of the run, or judged in part`);
    else if (verdict === "not-applicable" && !reason) found.push(`${id} was not judged, for no reason given`);
  }
  return found;
}

const shown = 5;

/** A report that is no full pass of its profile; `obstacles` says why. */
export class NotCertified extends Error {
  override name = "NotCertified";
  readonly obstacles: string[];
  constructor(found: string[]) {
    const more = found.length - shown;
    super(`No certificate: ${found.slice(0, shown).join("; ")}${more > 0 ? `; and ${more} more` : ""}.`);
    this.obstacles = found;
  }
}

export type SignOptions = { key: KeyObject; now: Date; validDays: number };

/**
 * Signs a certificate for a report: a compact JWS (Ed25519) over `Certificate`.
 * @param reportJson report.json exactly as it was written, byte for byte
 * @throws NotCertified when the report is anything but a full pass of its profile
 */
export async function signCertificate(report: Report, reportJson: string, options: SignOptions): Promise<string> {
  const found = obstacles(report);
  if (found.length > 0) throw new NotCertified(found);
  const issued = Math.floor(options.now.getTime() / 1000);
  const certificate: Certificate = {
    sub: report.baseUrl,
    iat: issued,
    // From the end of the run on, so that a verifier whose clock is a little behind is not told to wait.
    nbf: Math.min(issued, Math.floor(Date.parse(report.finishedAt) / 1000)),
    exp: issued + options.validDays * 86_400,
    verdict: "certified",
    profile: report.profile,
    effects: report.effects,
    startedAt: report.startedAt,
    finishedAt: report.finishedAt,
    suiteVersion: report.suiteVersion,
    counts: report.counts,
    notApplicable: report.requirements
      .filter(({ verdict }) => verdict === "not-applicable")
      .map((result) => ({ id: result.id, source: sourceOf(result), why: result.reason?.text ?? "" })),
    hashes: {
      spec: report.specSha256,
      suite: suiteSha256(),
      results: resultsSha256(report),
      report: sha256(reportJson),
    },
  };
  return new SignJWT(certificate)
    .setProtectedHeader({ alg: algorithm, typ: certificateType, kid: await thumbprint(options.key) })
    .sign(options.key);
}
