import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { parse } from "yaml";
import { declaredPlaces, HEADING } from "./changelog.ts";
import type { Contract } from "./comparison.ts";
import { compareContracts } from "./diff.ts";
import { undeclared } from "./report.ts";

/** Reads an OpenAPI document, YAML or JSON. @throws Error that says what is wrong with the file */
export async function readContract(file: string | URL): Promise<Contract> {
  const text = await readFile(file, "utf8").catch(({ message }: Error) =>
    fail(`Cannot read ${String(file)}: ${message}`),
  );
  const document: unknown = parse(text);
  const isContract = typeof document === "object" && document !== null && "openapi" in document;
  return isContract ? document : fail(`${String(file)} is no OpenAPI document: it has no field \`openapi\`.`);
}

function fail(message: string): never {
  throw new Error(message);
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
  const changes = compareContracts(
    await readContract(new URL(last, released)),
    await readContract(new URL("spec/openapi.yaml", root)),
  );
  const changelog = await readFile(new URL("CHANGELOG.md", root), "utf8");
  const faults = undeclared(changes, declaredPlaces(changelog, last.replace(".yaml", "")));
  return faults.length > 0 ? [...faults, `CHANGELOG.md declares such changes under "${HEADING}".`] : [];
}
