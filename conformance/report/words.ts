// Defines the words that reports use for the terms of `results.ts`. Every renderer takes its words from this file.
import {
  verdictOrder,
  type EffectsAllowed,
  type Level,
  type NotJudged,
  type Profile,
  type Report,
  type Requirement,
  type RunVerdict,
  type Side,
  type Verdict,
} from "../results.ts";

export const runVerdicts: Record<RunVerdict, string> = {
  certified: "Certified",
  "passed-partially": "Passed in part",
  failed: "Failed",
  error: "Not completed",
  "no-contradiction": "No contradiction",
  contradicted: "Contradicted",
};

export const verdicts: Record<Verdict, string> = {
  fail: "Failed",
  "could-not-run": "Could not run",
  warn: "Warning",
  pass: "Passed",
  observed: "Observed",
  "not-applicable": "Not judged",
};

/** The words for verdicts on watched traffic. */
export const watchedVerdicts: Record<Verdict, string> = {
  ...verdicts,
  fail: "Contradicted",
  pass: "Held",
  "not-applicable": "Not seen",
};

/** Sorts results by verdict, the worst first. Results with the same verdict stay in their order. */
export const worstFirst = <T extends { verdict: Verdict }>(results: readonly T[]): T[] =>
  results.toSorted((a, b) => verdictOrder.indexOf(a.verdict) - verdictOrder.indexOf(b.verdict));

export const levels: Record<Level, string> = { must: "must", should: "should", observe: "left open by the interface" };

export const profiles: Record<Profile | Side, string> = {
  core: "what the interface document states",
  extended: "what the interface document states, and this project's decisions where it is silent",
  client: "what a program that pays must do, whatever happens to its requests",
  receiver: "what a program that receives webhooks must do, whatever arrives",
};

export const effects: Record<EffectsAllowed, string> = {
  none: "read-only requests",
  reject: "read-only requests, and requests that a conforming service rejects",
  money: "all requests, including payouts and checkouts within the budget",
};

export const whyNotJudged: Record<NotJudged["code"], string> = {
  target: "Not applicable to this target",
  caller: "Not provided",
  effects: "Not allowed by --effects",
  only: "Not selected by --only",
  stopped: "The run ended before these checks",
  unseen: "Never seen in this traffic",
  hidden: "Cannot be seen in traffic",
};

/**
 * Returns what a requirement is based on: a section of the interface document such as "§4.1", or a decision such as
 * "D5".
 */
export function sourceOf({ section, decision }: Requirement): string {
  if (section === undefined) return decision ?? "";
  return section.startsWith("§") ? section : `§${section}`;
}

/** Returns the topic of a requirement: the first part of its id. */
export const topicOf = ({ id }: Pick<Requirement, "id">) => id.split(".")[0] ?? id;

/** Renders a duration in milliseconds, seconds, minutes, hours or days, depending on its length. */
export function duration(milliseconds: number): string {
  const tenths = Math.round(milliseconds / 100);
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

/** Renders the seed of a run, and the challenge from which it was derived. */
export const seedText = ({ seed, challenge }: { seed: number; challenge?: string | null }) =>
  challenge == null ? String(seed) : `${seed}, derived from the challenge ${challenge}`;

/** Says what Dredd judged; undefined if no check of Dredd's ran. */
export function dreddText({ dredd }: Pick<Report, "dredd">): string | undefined {
  if (!dredd) return undefined;
  const { transactions, failed } = dredd;
  const result = failed.length === 0 ? "all as documented" : `${failed.length} not as documented`;
  return `${counted(transactions, "documented response")}, each provoked by a request: ${result}`;
}

const grouped = new Intl.NumberFormat("en");

/** Returns a count with its noun, such as "1 requirement" or "12,431 exchanges". */
export function counted(count: number, noun: string): string {
  return `${grouped.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Names the first few of several things, such as "a, b, c and 4 more". */
export const namedFirst = (names: readonly string[], most = 3) =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");

/** Joins the first few of several findings, such as "a; b; and 4 more". */
export const joinedFirst = (texts: readonly string[], most: number) =>
  texts.slice(0, most).join("; ") + (texts.length > most ? `; and ${texts.length - most} more` : "");

const hundredths = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** Renders an amount for people. Every currency has two decimals (D14): 1000000 becomes "10,000.00". */
export const money = (amount: number, currency = "") => `${hundredths.format(amount / 100)} ${currency}`.trim();

/** Renders sums by currency, such as "82.00 XOF and 4.00 GHS"; "nothing" if there are no sums. */
export function sums(paid: readonly { currency: string; total: number }[]): string {
  return new Intl.ListFormat("en").format(paid.map(({ total, currency }) => money(total, currency))) || "nothing";
}

/** One value in an observation, as JSON, and its path there. */
type Leaf = { path: string; value: string };

/** Splits an observation's value into its leaves. Objects are split by key at any depth. Everything else is a leaf. */
export function leavesOf(value: unknown, path: readonly string[] = []): Leaf[] {
  const entries = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) return [{ path: path.join(" → "), value: JSON.stringify(value) ?? "undefined" }];
  return entries.flatMap(([key, part]) => leavesOf(part, [...path, key]));
}
