// Collects what the files of a folder export under one name, so that a new file needs no entry in a list.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Imports every module in a folder, and returns the items of their exported arrays with this name, by file name. */
export async function collect<T>(folder: string, name: string): Promise<readonly T[]> {
  const files = readdirSync(folder).filter((file) => /^(?!index\.|faults\.)[\w-]+\.[jt]s$/.test(file));
  const modules = await Promise.all(
    files
      .toSorted()
      .map((file) => import(pathToFileURL(join(folder, file)).href) as Promise<Record<string, readonly T[]>>),
  );
  return modules.flatMap((module) => module[name] ?? []);
}
