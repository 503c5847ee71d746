// Defines a mutant of the second implementation, and loads it.
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";

/** A copy of the second implementation with one edit. */
export type Mutant = {
  id: string;
  /** One sentence that describes the defect. */
  defect: string;
  /** The file with the edit. */
  file: string;
  /** The text that is replaced. It must occur exactly once in the file. */
  from: string;
  to: string;
};

/** Returns a function that defines mutants of a file. */
export const editing =
  (file: string) =>
  (id: string, defect: string, from: string, to: string): Mutant => ({ id, defect, file, from, to });

const folder = new URL("./", import.meta.url).href;
const parameter = "mutant";
const loaded = new Map<string, Mutant>();

/** Returns the text of the mutant's edited file. */
export function edited({ id, file, from, to }: Mutant): string {
  const parts = readFileSync(new URL(file, folder), "utf8").split(from);
  if (parts.length !== 2) throw new Error(`${id}: the text to replace occurs ${parts.length - 1} times in ${file}`);
  return parts.join(to);
}

let isHooked = false;

/** Makes every module that a mutant's module imports a module of the same mutant. */
function hook(): void {
  if (isHooked) return;
  isHooked = true;
  registerHooks({
    resolve(specifier, context, next) {
      const result = next(specifier, context);
      const id = new URL(context.parentURL ?? folder).searchParams.get(parameter);
      const isOwn = result.url.startsWith(folder) && !result.url.includes("?");
      return id !== null && isOwn ? { ...result, url: `${result.url}?${parameter}=${id}` } : result;
    },
    load(url, context, next) {
      const { searchParams, pathname } = new URL(url);
      const mutant = url.startsWith(folder) ? loaded.get(searchParams.get(parameter) ?? "") : undefined;
      if (!mutant || !pathname.endsWith(`/${mutant.file}`)) return next(url, context);
      return { format: "module", source: stripTypeScriptTypes(edited(mutant)), shortCircuit: true };
    },
  });
}

/** Imports a copy of `server.ts` and its modules with the mutant's edit. It works in Node, not in a test runner. */
export function loadMutant(mutant: Mutant): Promise<typeof import("./server.ts")> {
  hook();
  loaded.set(mutant.id, mutant);
  return import(`${folder}server.ts?${parameter}=${mutant.id}`);
}
