import { breaks, RULES, type Change, type Verdict } from "./verdicts.ts";

const TITLES: Record<Verdict, string> = {
  breaking: "Breaking",
  unclear: "Unclear, treated as breaking",
  compatible: "Not breaking",
};

const WRITERS = { merchant: "written by merchants", service: "written by the service" };

/** A change with a sentence for people. */
export const withText = (change: Change): Change & { text: string } => ({ ...change, text: textOf(change) });

function textOf({ rule, writer, before, after }: Change): string {
  const values = [before, after].map(short);
  const told = rule !== "text" && values.some(Boolean) ? ` (${values[0] ?? "none"} → ${values[1] ?? "none"})` : "";
  return `${RULES[rule].says}${told}, ${WRITERS[writer]}`;
}

/** A value that fits into a line. */
function short(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text && text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** The changes as text, breaking changes first. Changes of texts are only counted. */
export function summary(changes: readonly Change[]): string {
  const texts = changes.filter(({ rule }) => rule === "text").length;
  const sections = (Object.keys(TITLES) as Verdict[]).flatMap((verdict) => {
    const listed = changes.filter((change) => change.verdict === verdict && change.rule !== "text");
    if (listed.length === 0) return [];
    return [`${TITLES[verdict]}:`, ...listed.map((change) => `  ${change.where}: ${textOf(change)}`), ""];
  });
  const count = changes.filter(breaks).length;
  return [...sections, `${changes.length} changes, ${texts} of them to texts and examples; ${count} break.`].join("\n");
}

/** What is wrong with the declared places: breaking changes that are missing, and places where nothing breaks. */
export function undeclared(changes: readonly Change[], declared: readonly string[]): string[] {
  const breaking = changes.filter(breaks);
  return [
    ...breaking
      .filter(({ where }) => !declared.includes(where))
      .map((change) => `\`${change.where}\` breaks merchants' programs: ${textOf(change)}.`),
    ...declared
      .filter((place) => !breaking.some(({ where }) => where === place))
      .map((place) => `\`${place}\` is declared as breaking, but nothing breaks there.`),
  ];
}
