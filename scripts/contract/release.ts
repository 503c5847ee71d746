import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { parse } from "yaml";
import { compareContracts } from "./compare.ts";
import type { Contract } from "./comparison.ts";
import { breaks, textOf } from "./verdicts.ts";

/** The heading under which the changelog names the breaking changes of the contract. */
const HEADING = "### Breaking changes of the contract";

/** Reads an OpenAPI document, YAML or JSON. @throws Error that says what is wrong with the file */
export async function readContract(file: string | URL): Promise<Contract> {
  const document: unknown = parse(await readFile(file, "utf8"));
  if (typeof document === "object" && document !== null && "openapi" in document) return document;
  throw new Error(`${String(file)} is no OpenAPI document: it has no field \`openapi\`.`);
}

/**
 * Compares spec/openapi.yaml with the last contract in spec/released. Returns the breaking changes that CHANGELOG.md
 * does not declare, and the declared changes that do not exist. Undefined if no contract was released.
 * @param root the folder of the project
 */
export async function releaseFaults(root: URL): Promise<string[] | undefined> {
  const released = new URL("spec/released/", root);
  if (!existsSync(released)) return undefined;
  const files = await readdir(released);
  const last = files.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1)!;
  const breaking = compareContracts(
    await readContract(new URL(last, released)),
    await readContract(new URL("spec/openapi.yaml", root)),
  ).filter(breaks);
  const declared = declaredPlaces(await readFile(new URL("CHANGELOG.md", root), "utf8"), last.replace(".yaml", ""));
  const faults = [
    ...breaking
      .filter(({ where }) => !declared.includes(where))
      .map((change) => `\`${change.where}\` breaks merchants' programs: ${textOf(change)}.`),
    ...declared
      .filter((place) => !breaking.some(({ where }) => where === place))
      .map((place) => `\`${place}\` is declared as breaking, but nothing breaks there.`),
  ];
  return faults.length > 0 ? [...faults, `CHANGELOG.md declares such changes under "${HEADING}".`] : [];
}

/** The places that the changelog declares for the versions after a release. An entry begins with its place in backticks. */
function declaredPlaces(changelog: string, release: string): string[] {
  const [unreleased] = changelog.split(`\n## ${release}\n`);
  const sections = unreleased!.split(/^(?=##)/m).filter((section) => section.startsWith(`${HEADING}\n`));
  return sections.flatMap((section) => [...section.matchAll(/^- `([^`]+)`/gm)].map(([, place]) => place!));
}
