import type { Report, RequirementResult } from "../results.ts";
import { limitPhrases } from "../allowances/table.ts";
import { leavesOf } from "./observed.ts";
import { oneLine } from "./visible.ts";
import { counted, verdicts } from "./words.ts";

/**
 * One difference between runs A and B. `a` and `b` are their verdicts, or their observed values as JSON; undefined if a
 * run has no such value.
 */
type Difference = {
  kind: "verdict" | "observed";
  requirement: string;
  /** Set for `observed`: the name of the observation and the path of the part that differs. */
  name?: string;
  a?: string;
  b?: string;
};

export type Comparison = {
  differences: Difference[];
  /** The number of requirements that only one of the runs was configured to judge. They do not count as differences. */
  apart: number;
  /** The reasons why the two runs are not fully comparable. */
  notes: string[];
  /** The number of verdicts and observed values that were compared. */
  compared: number;
};

/** Returns every key that occurs in at least one of the maps, in order of appearance, with the values from both. */
function pairs<T>(a: Map<string, T>, b: Map<string, T>): [string, T | undefined, T | undefined][] {
  return [...new Set([...a.keys(), ...b.keys()])].map((key) => [key, a.get(key), b.get(key)]);
}

const settings: [text: string, of: (report: Report) => string][] = [
  ["The profiles differ", ({ profile }) => profile],
  ["The allowed effects differ", ({ effects }) => effects],
  ["The selections (--only) differ", ({ only }) => only?.toSorted().join(", ") ?? "everything"],
  ["The contracts differ", ({ specSha256 }) => specSha256],
  ["The declared limits differ", ({ declared }) => limitPhrases(declared).join("; ") || "none"],
  ["The suite versions differ", ({ suiteVersion }) => suiteVersion],
];

/** Splits observations into single values, so that only the differing parts of a long observation are shown. */
function observationsIn({ observed }: Report) {
  const leaves = observed.flatMap(({ requirement, name, value }) =>
    leavesOf(value).map((leaf): [string, string] => {
      return [JSON.stringify([requirement, leaf.path ? `${name}, ${leaf.path}` : name]), leaf.value];
    }),
  );
  return new Map(leaves);
}

function verdictsOf({ requirements }: Report) {
  return new Map(requirements.map(({ id, verdict }) => [id, verdict]));
}

/**
 * Returns the ids of requirements that only one run was configured to judge, because of profile, effects or `--only`.
 */
function judgedApart(a: Report, b: Report): Set<string> {
  const [ofA, ofB] = [a, b].map((report) => new Map(report.requirements.map((one) => [one.id, one])));
  const leftOut = (requirement?: RequirementResult) =>
    requirement === undefined
      ? a.profile !== b.profile
      : requirement.verdict === "not-applicable" && /^(effects|only)$/.test(requirement.reason?.code ?? "");
  return new Set(
    pairs(ofA!, ofB!)
      .filter(([, one, other]) => one?.verdict !== other?.verdict && (leftOut(one) || leftOut(other)))
      .map(([id]) => id),
  );
}

/** Compares the verdicts of two runs, and the behaviour of their targets where the interface leaves it open. */
export function compareReports(a: Report, b: Report): Comparison {
  const apart = judgedApart(a, b);
  const judged = pairs(verdictsOf(a), verdictsOf(b)).filter(([id]) => !apart.has(id));
  const seen = pairs(observationsIn(a), observationsIn(b))
    .map(([key, one, other]) => {
      const [requirement, name] = JSON.parse(key) as [string, string];
      return { kind: "observed" as const, requirement, name, a: one, b: other };
    })
    .filter(({ requirement }) => !apart.has(requirement));
  const notes = settings.filter(([, of]) => of(a) !== of(b)).map(([text, of]) => `${text}: ${of(a)} and ${of(b)}.`);
  return {
    differences: [
      ...judged
        .filter(([, one, other]) => one !== other)
        .map(([requirement, one, other]) => ({ kind: "verdict" as const, requirement, a: one, b: other })),
      ...seen.filter((each) => each.a !== each.b),
    ],
    apart: apart.size,
    notes,
    compared: judged.length + seen.length,
  };
}

function shown({ kind }: Difference, value: string | undefined): string {
  if (value === undefined) return kind === "verdict" ? "not in this run" : "not observed";
  return oneLine(kind === "verdict" ? verdicts[value as keyof typeof verdicts] : value);
}

function section(title: string, differences: Difference[]): string[] {
  if (differences.length === 0) return [];
  const lines = differences.flatMap((difference) => [
    `  ${oneLine(difference.requirement)}${difference.name === undefined ? "" : `: ${oneLine(difference.name)}`}`,
    `    A  ${shown(difference, difference.a)}`,
    `    B  ${shown(difference, difference.b)}`,
  ]);
  return ["", title, ...lines];
}

/** Renders a comparison for a terminal. Every difference is shown with the values of A and B. */
export function renderComparison(a: Report, b: Report, { differences, apart, notes, compared }: Comparison): string {
  const of = (kind: Difference["kind"]) => differences.filter((difference) => difference.kind === kind);
  const result = differences.length === 0 ? "No differences" : counted(differences.length, "difference");
  return [
    `A  ${oneLine(a.baseUrl)}`,
    `B  ${oneLine(b.baseUrl)}`,
    ...notes.map((note) => `!  ${oneLine(note)}`),
    ...(apart === 0
      ? []
      : [`!  Not compared: ${counted(apart, "requirement")} that only one of the two runs was configured to judge.`]),
    ...section("Verdicts that differ", of("verdict")),
    ...section("Differences where the interface leaves the behaviour open", of("observed")),
    "",
    `${result}; ${compared} verdicts and observations compared.`,
    "",
  ].join("\n");
}
