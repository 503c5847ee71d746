// Compares the verdicts of two runs, and the behaviour of their targets where the interface leaves it open.
import type { Report, RequirementResult } from "../results.ts";
import { limitPhrases } from "../allowances/table.ts";
import { oneLine } from "./visible.ts";
import { counted, leavesOf, verdicts } from "./words.ts";

const settings: [text: string, of: (report: Report) => string][] = [
  ["The profiles differ", ({ profile }) => profile],
  ["The allowed effects differ", ({ effects }) => effects],
  ["The selections (--only) differ", ({ only }) => only?.toSorted().join(", ") ?? "everything"],
  ["The contracts differ", ({ specSha256 }) => specSha256],
  ["The declared limits differ", ({ declared }) => limitPhrases(declared).join("; ") || "none"],
  ["The suite versions differ", ({ suiteVersion }) => suiteVersion],
];

/** The verdicts or the observations of a run, by name. An observation with several values is split into them. */
type Values = Map<string, { requirement: string; value: string }>;

const verdictsIn = ({ requirements }: Report): Values =>
  new Map(requirements.map(({ id, verdict }) => [id, { requirement: id, value: verdicts[verdict] }]));

const observationsIn = ({ observed }: Report): Values =>
  new Map(
    observed.flatMap(({ requirement, name, value }) =>
      leavesOf(value).map((leaf) => {
        const place = leaf.path ? `${name}, ${leaf.path}` : name;
        return [`${requirement}: ${place}`, { requirement, value: leaf.value }] as const;
      }),
    ),
  );

/** Returns the ids of requirements that only one run was configured to judge, or that only one watch saw. */
function judgedApart(a: Report, b: Report): Set<string> {
  const [ofA, ofB] = [a, b].map((report) => new Map(report.requirements.map((result) => [result.id, result])));
  const leftOut = (result?: RequirementResult) =>
    result === undefined
      ? a.profile !== b.profile
      : result.verdict === "not-applicable" && /^(effects|only|unseen)$/.test(result.reason?.code ?? "");
  const isApart = (one?: RequirementResult, other?: RequirementResult) =>
    one?.verdict !== other?.verdict && (leftOut(one) || leftOut(other));
  return new Set([...ofA!.keys(), ...ofB!.keys()].filter((id) => isApart(ofA!.get(id), ofB!.get(id))));
}

/** Compares values that both runs were configured to judge. `missing` is shown for a value that one run does not have. */
function differencesOf(a: Values, b: Values, apart: ReadonlySet<string>, missing: string) {
  const all = [...new Map([...a, ...b])].filter(([, { requirement }]) => !apart.has(requirement));
  const different = all.map(([name]) => name).filter((name) => a.get(name)?.value !== b.get(name)?.value);
  const shown = (values: Values, name: string) => oneLine(values.get(name)?.value ?? missing);
  const lines = different.flatMap((name) => [
    `  ${oneLine(name)}`,
    `    A  ${shown(a, name)}`,
    `    B  ${shown(b, name)}`,
  ]);
  return { compared: all.length, count: different.length, lines };
}

/** Compares two reports. Returns the number of differences, and the text that shows each with the values of A and B. */
export function compareReports(a: Report, b: Report): { differences: number; text: string } {
  const apart = judgedApart(a, b);
  const judged = differencesOf(verdictsIn(a), verdictsIn(b), apart, "not in this run");
  const seen = differencesOf(observationsIn(a), observationsIn(b), apart, "not observed");
  const differences = judged.count + seen.count;
  const notes = settings.filter(([, of]) => of(a) !== of(b)).map(([text, of]) => `${text}: ${of(a)} and ${of(b)}.`);
  if (apart.size > 0) {
    notes.push(
      `Not compared: ${counted(apart.size, "requirement")} that only one of the two runs was configured to judge.`,
    );
  }
  const section = (title: string, { lines }: typeof judged) => (lines.length > 0 ? ["", title, ...lines] : []);
  const text = [
    `A  ${oneLine(a.baseUrl)}`,
    `B  ${oneLine(b.baseUrl)}`,
    ...notes.map((note) => `!  ${oneLine(note)}`),
    ...section("Verdicts that differ", judged),
    ...section("Differences where the interface leaves the behaviour open", seen),
    "",
    `${differences === 0 ? "No differences" : counted(differences, "difference")}; ` +
      `${judged.compared + seen.compared} verdicts and observations compared.`,
    "",
  ];
  return { differences, text: text.join("\n") };
}
