// The example programs, and the table of what each of them fails.
import { join } from "node:path";
import { requirementsOf } from "../contract/requirements.ts";
import type { Report, Side, Verdict } from "../results.ts";

export type Example = {
  side: Side;
  /** The path of the program in this folder. */
  file: string;
  /** The program that runs it. */
  interpreter: "node" | "python3";
  about: string;
};

const of =
  (side: Side) =>
  (file: string, interpreter: Example["interpreter"], about: string): Example => ({
    side,
    file: `${side}s/${file}`,
    interpreter,
    about,
  });
const client = of("client");
const receiver = of("receiver");

export const examples: readonly Example[] = [
  client("our-client.ts", "node", "this repository's client, with its journal"),
  client("careful.py", "python3", "Python's standard library, with the care that payments need"),
  client("ordinary.py", "python3", "Python's standard library, as it is often used"),
  client("naive.mjs", "node", "`fetch`, with a new reference for each attempt"),
  receiver("express.ts", "node", "Express with this repository's client"),
  receiver("hono.ts", "node", "Hono with this repository's client"),
  receiver("standard.py", "python3", "Python's standard library"),
  receiver(
    "naive.mjs",
    "node",
    "Express, with a body that was parsed before it is verified, and a memory in a variable",
  ),
];

/** Returns the command that starts an example. */
export const commandOf = ({ interpreter, file }: Example) =>
  `${interpreter === "node" ? process.execPath : interpreter} ${join(import.meta.dirname, file)}`;

const cells: Partial<Record<Verdict, string>> = { pass: "✓", fail: "✗", warn: "(✗)" };

/** Renders the table of the examples of a side, as Markdown. */
export function tableOf(side: Side, reports: ReadonlyMap<string, Report>): string {
  const files = examples
    .filter((example) => example.side === side && reports.has(example.file))
    .map(({ file }) => file);
  const verdictIn = (file: string, id: string) =>
    reports.get(file)!.requirements.find((requirement) => requirement.id === id)!.verdict;
  const rows = requirementsOf(side).map(({ id, level }) => {
    const verdicts = files.map((file) => cells[verdictIn(file, id)] ?? "?");
    return [`\`${id}\``, level, ...verdicts];
  });
  const head = ["requirement", "level", ...files.map((file) => `[${file.split("/").at(-1)}](${file})`)];
  const last = ["**verdict**", "", ...files.map((file) => reports.get(file)!.verdict)];
  return [head, head.map(() => "---"), ...rows, last].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Says in how many scenarios an example violated a requirement. */
export function violations({ requirements }: Report, id: string): number {
  const { checks } = requirements.find((requirement) => requirement.id === id)!;
  return checks.filter(({ verdict }) => verdict === "fail").length;
}
