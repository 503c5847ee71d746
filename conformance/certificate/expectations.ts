// What the reader of a certificate expects of it. A signature proves only who made the statements of the certificate.
import { limitPhrases } from "../allowances/table.ts";
import type { Declaration } from "../allowances/declaration.ts";
import { duration } from "../report/words.ts";
import { seedOf } from "./challenge.ts";
import type { Certificate } from "./sign.ts";

/** What a reader expects. An expectation that is undefined is not checked. */
export type Expectations = {
  target?: string;
  kind?: Certificate["kind"];
  profile?: Certificate["profile"];
  /** The SHA-256 hash of the bundled OpenAPI document. */
  contract?: string;
  /** The version of the suite, or its SHA-256 hash. */
  suite?: string;
  /** How long ago the run may have ended, in milliseconds. */
  maxAge?: number;
  challenge?: string;
  /** Names of `strictness`. */
  require?: readonly string[];
};

/** The waits of a run without options that prolong them, in milliseconds. */
export const usualWaits: Record<Certificate["kind"], { responseMs: number; settleMs: number }> = {
  service: { responseMs: 10_000, settleMs: 90_000 },
  client: { responseMs: 2000, settleMs: 0 },
  receiver: { responseMs: 15_000, settleMs: 5000 },
};

const waitFields = ["readAfterWriteMs", "replicas", "notificationSeconds", "settlementSeconds"] as const;

/** Returns the limits that apply. Leaves out fields that state the absence of a limit. */
function limitsOf({ declared, foundLimits }: Certificate): Declaration {
  const entries = Object.entries({ ...declared, ...foundLimits }).filter(([, value]) => value !== false);
  return Object.fromEntries(entries);
}

function longWaits({ kind, waits }: Certificate): string[] {
  const usual = usualWaits[kind];
  return [
    ...(waits.responseMs > usual.responseMs ? [`${duration(waits.responseMs)} for a response`] : []),
    ...((waits.settleMs ?? 0) > usual.settleMs ? [`${duration(waits.settleMs ?? 0)} for a final status`] : []),
  ];
}

function declaredWaits(certificate: Certificate): string[] {
  const limits = limitsOf(certificate);
  return limitPhrases(Object.fromEntries(waitFields.map((field) => [field, limits[field]])));
}

/** What `--require` can ask for: the meaning, and what in the certificate contradicts it. */
export const strictness: Record<string, { meaning: string; against: (certificate: Certificate) => string[] }> = {
  "no-limits": {
    meaning: "the target limits nothing that the interface leaves open",
    against: (certificate) => limitPhrases(limitsOf(certificate)),
  },
  "no-waits": {
    meaning: "nothing was waited for longer than usual",
    against: (certificate) => [...declaredWaits(certificate), ...longWaits(certificate)],
  },
  "no-replicas": {
    meaning: "reads never go back",
    against: ({ declared }) => (declared.replicas === true ? ["the deployment declares replicas"] : []),
  },
  "no-rate": {
    meaning: "requests were not slowed down",
    against: ({ rate }) => (rate === null ? [] : [`--rate ${rate}`]),
  },
  "no-headers": {
    meaning: "the caller added no headers to requests",
    against: ({ headers }) => (headers.length === 0 ? [] : [`added to every request: ${headers.join(", ")}`]),
  },
  "all-amounts": {
    meaning: "the budget covered every amount",
    against: ({ untriedAmounts, budget }) =>
      untriedAmounts === 0 ? [] : [`${untriedAmounts} amounts above ${budget.largestAmount} were not tried`],
  },
  "all-events": {
    meaning: "the receiver gets every type of event",
    against: ({ events }) => (events === null ? [] : [`only ${events.join(", ")}`]),
  },
  "all-musts": {
    meaning: "every must was judged",
    against: ({ notApplicable }) =>
      notApplicable.filter(({ level }) => level === "must").map(({ id }) => `${id} was not judged`),
  },
  sandbox: {
    meaning: "the target has all sandbox operations",
    against: ({ kind, sandbox }) =>
      kind === "service" ? sandbox.missing.map((operation) => `without ${operation}`) : [`it is about a ${kind}`],
  },
};

type Check = {
  /** The option that asks for this check, with its value. */
  option: string;
  /** What the certificate states. */
  stated: string;
  /** What the reader expected; undefined if the certificate may state anything. */
  expected?: string;
  ok: boolean;
};

const withoutSlash = (url: string) => url.replace(/\/+$/, "");
const most = 5;

function listed(texts: readonly string[]): string {
  const more = texts.length - most;
  return texts.slice(0, most).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

function suiteStated({ suiteVersion, hashes }: Certificate, expected?: string): string {
  return expected !== undefined && /^[0-9a-f]{64}$/.test(expected) ? hashes.suite : suiteVersion;
}

function challengeCheck({ challenge, seed }: Certificate, expected: string | undefined): Check {
  const option = "--challenge TEXT";
  if (challenge === null) return { option, stated: "no challenge", expected, ok: false };
  if (expected !== challenge) return { option, stated: `the challenge ${challenge}`, expected, ok: false };
  const derived = seedOf(challenge);
  return {
    option,
    stated: `the seed ${seed}`,
    expected: `${derived}, derived from the challenge`,
    ok: seed === derived,
  };
}

const same = (option: string, stated: string, expected: string | undefined): Check => ({
  option,
  stated,
  expected,
  ok: stated === expected,
});

/** Compares a certificate with every expectation that a reader can have. */
function checksOf(certificate: Certificate, expected: Expectations, now: Date): Check[] {
  const { sub, kind, profile, hashes, finishedAt } = certificate;
  const age = now.getTime() - Date.parse(finishedAt);
  const { maxAge } = expected;
  const suite = suiteStated(certificate, expected.suite);
  return [
    same("--target URL", withoutSlash(sub), expected.target === undefined ? undefined : withoutSlash(expected.target)),
    same("--kind service|client|receiver", kind, expected.kind),
    same("--profile NAME", profile, expected.profile),
    same("--contract FILE|SHA256", hashes.spec, expected.contract),
    same("--suite VERSION|SHA256", suite, expected.suite),
    {
      option: "--max-age DURATION",
      stated: `a run that ended at ${finishedAt}, ${duration(age)} ago`,
      expected: maxAge === undefined ? undefined : `at most ${duration(maxAge)} ago`,
      ok: maxAge !== undefined && age <= maxAge,
    },
    challengeCheck(certificate, expected.challenge),
    ...Object.entries(strictness).map(([name, { meaning, against }]): Check => {
      const found = against(certificate);
      const wanted = expected.require?.includes(name) ?? false;
      return {
        option: `--require ${name}`,
        stated: listed(found) || meaning,
        expected: wanted ? meaning : undefined,
        ok: found.length === 0,
      };
    }),
  ];
}

/**
 * Describes the differences between the certificate and what its reader expects; an empty array if there is no
 * difference.
 */
export const differences = (certificate: Certificate, expected: Expectations, now: Date): string[] =>
  checksOf(certificate, expected, now)
    .filter((check) => check.expected !== undefined && !check.ok)
    .map(({ option, stated, expected: wanted }) => `${option.split(" ")[0]}: it states ${stated}; expected: ${wanted}`);

/** Lists what the reader did not ask for: the option that would check it, and what the certificate states. */
export const notChecked = (certificate: Certificate, expected: Expectations, now: Date): [string, string][] =>
  checksOf(certificate, expected, now)
    .filter((check) => check.expected === undefined)
    .map(({ option, stated }) => [option, stated]);
