// `npm run contract`: judges what changed between two versions of the contract.
import { compareContracts } from "./contract/compare.ts";
import { readContract, releaseFaults } from "./contract/release.ts";
import { breaks, textOf, type Change, type Verdict } from "./contract/verdicts.ts";

const USAGE = `Usage: npm run contract -- diff OLD NEW
       npm run contract -- check

  diff    prints every change between two OpenAPI documents, YAML or JSON, and whether it breaks a merchant's program
  check   fails if spec/openapi.yaml breaks the last contract in spec/released and CHANGELOG.md does not declare it; with
          no released contract there is nothing to check

Exit code: 0 nothing breaks, 1 something does, 2 the command could not do its work.`;

/** Returns true if something breaks. */
async function diff(before: string, after: string): Promise<boolean> {
  const changes = compareContracts(await readContract(before), await readContract(after));
  console.log(summary(changes));
  return changes.some(breaks);
}

const TITLES: Record<Verdict, string> = {
  breaking: "Breaking",
  unclear: "Unclear, treated as breaking",
  compatible: "Not breaking",
};

/** The changes as text, breaking changes first. Changes of texts are only counted. */
function summary(changes: readonly Change[]): string {
  const told = changes.filter(({ rule }) => rule !== "text");
  const sections = (Object.keys(TITLES) as Verdict[]).flatMap((verdict) => {
    const listed = told.filter((change) => change.verdict === verdict);
    const lines = listed.map((change) => `  ${change.where}: ${textOf(change)}`);
    return lines.length > 0 ? [`${TITLES[verdict]}:`, ...lines, ""] : [];
  });
  const count = changes.filter(breaks).length;
  const texts = changes.length - told.length;
  return [...sections, `${changes.length} changes, ${texts} of them to texts and examples; ${count} break.`].join("\n");
}

/** Prints breaking changes that the changelog does not declare. Returns true if there are any. */
async function check(): Promise<boolean> {
  const faults = await releaseFaults(new URL("../", import.meta.url));
  if (!faults) console.log("No contract has been released, so there is nothing to compare spec/openapi.yaml with.");
  for (const fault of faults ?? []) console.error(fault);
  return faults !== undefined && faults.length > 0;
}

async function main(): Promise<boolean> {
  const [command, before, after, ...others] = process.argv.slice(2);
  if (command === "diff" && before && after && others.length === 0) return diff(before, after);
  if (command === "check" && !before) return check();
  throw new Error(USAGE);
}

try {
  process.exitCode = (await main()) ? 1 : 0;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
