import type { KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import type { Declaration } from "../allowances/declaration.ts";
import { isSide, type Conditions, type Level, type Profile, type Report, type Side } from "../results.ts";
import { scopeLine } from "../report/scope.ts";
import { tallyOf } from "../report/tally.ts";
import { sourceOf } from "../report/words.ts";
import { resultsSha256, sha256, suiteSha256 } from "./hashes.ts";
import { thumbprint } from "./keys.ts";

/**
 * The `typ` header of a certificate. Because of this header, no other token that is signed with the key counts as a
 * certificate.
 */
export const certificateType = "conformance-certificate+jwt";
export const algorithm = "Ed25519";

/** How many musts of a part of the catalogue there are, how many passed, and how many are not applicable. */
export type Judged = { musts: number; passed: number; notApplicable: number };

/** The claims of a certificate. Hashes are SHA-256 in hexadecimal. `iat`, `nbf` and `exp` are seconds since 1970. */
export type Certificate = Conditions & {
  /** The id of the certificate, by which it is revoked. */
  jti: string;
  /** What was judged. */
  kind: "service" | Side;
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
  profile: Report["profile"];
  effects: Report["effects"];
  startedAt: string;
  finishedAt: string;
  suiteVersion: string;
  seed: number;
  /** The text of a partner from which the seed and the references were derived; null without `--challenge`. */
  challenge: string | null;
  budget: Report["budget"];
  counts: Report["counts"];
  /**
   * How many of all musts were judged, by the profile of the requirements. `core` has what the interface states, and
   * `extended` the decisions where the interface is silent.
   */
  judged: Partial<Record<Profile | Side, Judged>>;
  /** The limits that the deployment declared, and the limits that the run found (§8). */
  declared: Declaration;
  foundLimits: Declaration;
  /** The requirements that were not judged, because they are not applicable to the target. */
  notApplicable: { id: string; source: string; level: Level; profile: Profile | Side; why: string }[];
  hashes: { spec: string; suite: string; results: string; report: string; exchanges?: string };
};

/** Describes everything that prevents a certificate; an empty array if the report passes its profile in full. */
function obstacles(report: Report): string[] {
  const found: string[] = [];
  if (report.verdict !== "certified") found.push(`the verdict is ${report.verdict}, not certified`);
  if (report.only) found.push("only some requirements were selected (--only)");
  if (report.errors.length > 0) found.push("the suite reported errors");
  if (report.exchangesSha256 === undefined && !isSide(report.profile))
    found.push("the exchanges were not recorded, because a key is so short or ordinary that it occurs in other texts");
  if (report.baselineProblems?.length) found.push("the list of known failures is out of date");
  for (const { id, level, verdict, reason, knownFailure } of report.requirements) {
    if (knownFailure) found.push(`${id} is a tolerated failure`);
    else if (verdict === "fail" || verdict === "could-not-run") found.push(`${id}: ${verdict}`);
    else if (level === "must" && verdict === "warn") found.push(`${id}: ${verdict}`);
    else if (reason && reason.code !== "target") found.push(`${id} was not fully judged`);
    else if (verdict === "not-applicable" && !reason) found.push(`${id} was not judged, without a reason`);
  }
  return found;
}

const shown = 5;

/** Thrown for a report that does not earn a certificate. `obstacles` lists the reasons. */
export class NotCertified extends Error {
  override name = "NotCertified";
  readonly obstacles: string[];
  constructor(found: string[]) {
    const more = found.length - shown;
    super(`No certificate: ${found.slice(0, shown).join("; ")}${more > 0 ? `; and ${more} more` : ""}.`);
    this.obstacles = found;
  }
}

/** Counts how many of all musts were judged, by the profile of the requirements. */
function judgedOf({ requirements }: Report): Certificate["judged"] {
  const groups = Map.groupBy(requirements, ({ profile }) => profile);
  return Object.fromEntries(
    [...groups].map(([profile, members]): [string, Judged] => {
      const { total: musts, passed, notApplicable } = tallyOf({ requirements: members }).must;
      return [profile, { musts, passed, notApplicable }];
    }),
  );
}

export type SignOptions = { key: KeyObject; now: Date; validDays: number };

/**
 * Signs a certificate for a report. Returns a compact JWS, signed with Ed25519, whose claims are a `Certificate`.
 * @param reportJson the exact content of report.json
 * @throws NotCertified if the report does not pass its profile in full
 */
export async function signCertificate(report: Report, reportJson: string, options: SignOptions): Promise<string> {
  const found = obstacles(report);
  if (found.length > 0) throw new NotCertified(found);
  const issued = Math.floor(options.now.getTime() / 1000);
  const reportSha256 = sha256(reportJson);
  const certificate: Certificate = {
    ...report.conditions,
    jti: sha256(`${reportSha256} ${issued}`).slice(0, 32),
    kind: isSide(report.profile) ? report.profile : "service",
    sub: report.baseUrl,
    iat: issued,
    // The certificate is valid from the end of the run, so that verifiers whose clocks are slightly behind accept it.
    nbf: Math.min(issued, Math.floor(Date.parse(report.finishedAt) / 1000)),
    exp: issued + options.validDays * 86_400,
    verdict: "certified",
    scope: scopeLine(report, Number.POSITIVE_INFINITY),
    profile: report.profile,
    effects: report.effects,
    startedAt: report.startedAt,
    finishedAt: report.finishedAt,
    suiteVersion: report.suiteVersion,
    seed: report.seed,
    challenge: report.challenge ?? null,
    budget: report.budget,
    counts: report.counts,
    judged: judgedOf(report),
    declared: report.declared ?? {},
    foundLimits: report.foundLimits ?? {},
    notApplicable: report.requirements
      .filter(({ verdict }) => verdict === "not-applicable")
      .map((result) => {
        const { id, level, profile, reason } = result;
        return { id, source: sourceOf(result), level, profile, why: reason?.text ?? "" };
      }),
    hashes: {
      spec: report.specSha256,
      suite: suiteSha256(),
      results: resultsSha256(report),
      report: reportSha256,
      ...(report.exchangesSha256 === undefined ? {} : { exchanges: report.exchangesSha256 }),
    },
  };
  return new SignJWT(certificate)
    .setProtectedHeader({ alg: algorithm, typ: certificateType, kid: await thumbprint(options.key) })
    .sign(options.key);
}
