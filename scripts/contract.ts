// `npm run contract`: judges what changed between two versions of the contract.
import { parseArgs } from "node:util";
import { compareContracts } from "./contract/diff.ts";
import { readContract, releaseFaults } from "./contract/release.ts";
import { summary, withText } from "./contract/report.ts";
import { breaks } from "./contract/verdicts.ts";

const USAGE = `Usage: npm run contract -- diff OLD NEW [--json]
       npm run contract -- check

  diff    prints every change between two OpenAPI documents, YAML or JSON, and whether it breaks a merchant's program
  check   fails if spec/openapi.yaml breaks the last contract in spec/released and CHANGELOG.md does not declare it; with
          no released contract there is nothing to check

Exit code: 0 nothing breaks, 1 something does, 2 the command could not do its work.`;

/** Returns true if something breaks. */
async function diff(before: string, after: string, asJson: boolean): Promise<boolean> {
  const changes = compareContracts(await readContract(before), await readContract(after));
  console.log(asJson ? JSON.stringify(changes.map(withText), null, 2) : summary(changes));
  return changes.some(breaks);
}

/** Prints breaking changes that the changelog does not declare. Returns true if there are any. */
async function check(): Promise<boolean> {
  const faults = await releaseFaults(new URL("../", import.meta.url));
  if (!faults) {
    console.log("No contract has been released, so there is nothing to compare spec/openapi.yaml with.");
    return false;
  }
  for (const fault of faults) console.error(fault);
  return faults.length > 0;
}

async function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({ options: { json: { type: "boolean" } }, allowPositionals: true });
  const [command, before, after, ...others] = positionals;
  if (command === "diff" && before && after && others.length === 0) return diff(before, after, values.json === true);
  if (command === "check" && !before) return check();
  throw new Error(USAGE);
}

try {
  process.exitCode = (await main()) ? 1 : 0;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
