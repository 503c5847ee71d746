import type { Report, RequirementResult } from "../results.ts";
import { leavesOf } from "./observed.ts";
import { oneLine } from "./visible.ts";
import { counted, verdicts } from "./words.ts";

/** What two environments do not have in common. `a` and `b` are verdicts, or observed values as JSON; left out where there is none. */
type Difference = {
  kind: "verdict" | "observed";
  requirement: string;
  /** What was observed, and where in it the two differ; with `observed`. */
  name?: string;
  a?: string;
  b?: string;
};

export type Comparison = {
  differences: Difference[];
  /** How many requirements only one of the two runs was told to judge; they are no differences. */
  apart: number;
  /** Why the two runs cannot be compared in full. */
  notes: string[];
  /** How many verdicts and observations were compared. */
  compared: number;
};

/** Every key of either, in order of appearance, with what each of the two has under it. */
function pairs<T>(a: Map<string, T>, b: Map<string, T>): [string, T | undefined, T | undefined][] {
  return [...new Set([...a.keys(), ...b.keys()])].map((key) => [key, a.get(key), b.get(key)]);
}

const settings: [text: string, of: (report: Report) => string][] = [
  ["The profiles differ", ({ profile }) => profile],
  ["The effects allowed differ", ({ effects }) => effects],
  ["The selections (--only) differ", ({ only }) => only?.toSorted().join(", ") ?? "everything"],
  ["The contracts differ", ({ specSha256 }) => specSha256],
  ["The versions of the suite differ", ({ suiteVersion }) => suiteVersion],
];

/** Every single thing observed, so that of a long observation only what differs is named. */
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

/** Requirements that one run judged, or tried to, while the other was told not to by profile, effects or `--only`. */
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

/** Compares what two runs found: verdicts of requirements, and what the targets do where the interface is open. */
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
  if (value === undefined) return kind === "verdict" ? "not in this run" : "nothing observed";
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

/** A comparison as text for a terminal: what stands at A and at B for everything in which they differ. */
export function renderComparison(a: Report, b: Report, { differences, apart, notes, compared }: Comparison): string {
  const of = (kind: Difference["kind"]) => differences.filter((difference) => difference.kind === kind);
  const result = differences.length === 0 ? "No differences" : counted(differences.length, "difference");
  return [
    `A  ${oneLine(a.baseUrl)}`,
    `B  ${oneLine(b.baseUrl)}`,
    ...notes.map((note) => `!  ${oneLine(note)}`),
    ...(apart === 0
      ? []
      : [
          `!  ${counted(apart, "requirement")} ${apart === 1 ? "was" : "were"} to be judged in one of the two runs alone, and ${apart === 1 ? "is" : "are"} not compared.`,
        ]),
    ...section("Verdicts that differ", of("verdict")),
    ...section("Behaviour that differs where the interface is open", of("observed")),
    "",
    `${result}; ${compared} verdicts and observations compared.`,
    "",
  ].join("\n");
}
