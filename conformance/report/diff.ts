import type { Report } from "../results.ts";
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
  /** Why the two runs cannot be compared in full. */
  notes: string[];
  /** How many verdicts and observations were compared. */
  compared: number;
};

/** Every key of either, in order of appearance, with what each of the two has under it. */
function pairs<T>(a: Map<string, T>, b: Map<string, T>): [string, T | undefined, T | undefined][] {
  return [...new Set([...a.keys(), ...b.keys()])].map((key) => [key, a.get(key), b.get(key)]);
}

const settings: [keyof Report, string][] = [
  ["profile", "The profiles differ"],
  ["effects", "The effects allowed differ"],
  ["specSha256", "The contracts differ"],
  ["suiteVersion", "The versions of the suite differ"],
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

/** Compares what two runs found: verdicts of requirements, and what the targets do where the interface is open. */
export function compareReports(a: Report, b: Report): Comparison {
  const judged = pairs(verdictsOf(a), verdictsOf(b));
  const seen = pairs(observationsIn(a), observationsIn(b));
  const notes = settings
    .filter(([key]) => a[key] !== b[key])
    .map(([key, text]) => `${text}: ${String(a[key])} and ${String(b[key])}.`);
  return {
    differences: [
      ...judged
        .filter(([, one, other]) => one !== other)
        .map(([requirement, one, other]) => ({ kind: "verdict" as const, requirement, a: one, b: other })),
      ...seen
        .filter(([, one, other]) => one !== other)
        .map(([key, one, other]) => {
          const [requirement, name] = JSON.parse(key) as [string, string];
          return { kind: "observed" as const, requirement, name, a: one, b: other };
        }),
    ],
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
export function renderComparison(a: Report, b: Report, { differences, notes, compared }: Comparison): string {
  const of = (kind: Difference["kind"]) => differences.filter((difference) => difference.kind === kind);
  const result = differences.length === 0 ? "No differences" : counted(differences.length, "difference");
  return [
    `A  ${oneLine(a.baseUrl)}`,
    `B  ${oneLine(b.baseUrl)}`,
    ...notes.map((note) => `!  ${oneLine(note)}`),
    ...section("Verdicts that differ", of("verdict")),
    ...section("Behaviour that differs where the interface is open", of("observed")),
    "",
    `${result}; ${compared} verdicts and observations compared.`,
    "",
  ].join("\n");
}
