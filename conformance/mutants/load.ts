// Loads copies of the server's modules, each copy with the edits of one or more mutants.
import fs from "node:fs";
import { registerHooks, stripTypeScriptTypes, syncBuiltinESMExports } from "node:module";
import { mutated, serverFolder, type Mutant } from "./mutants.ts";

const parameter = "copy";
const entry = new URL("server.ts", import.meta.url).href;
const copies: (readonly Mutant[])[] = [];

// A module of a copy loads the other modules of the same copy. All copies share `node_modules`.
registerHooks({
  resolve(specifier, context, next) {
    const result = next(specifier, context);
    const copy = new URL(context.parentURL ?? "file:///").searchParams.get(parameter);
    const isOwn = result.url.startsWith(serverFolder.href) && result.url.endsWith(".ts");
    return copy !== null && isOwn ? { ...result, url: `${result.url}?${parameter}=${copy}` } : result;
  },
  load(url, context, next) {
    const [path, query] = url.split("?") as [string, string?];
    const copy = new URLSearchParams(query).get(parameter);
    if (copy === null || !path.startsWith(serverFolder.href)) return next(url, context);
    const file = path.slice(serverFolder.href.length);
    const edited = copies[Number(copy)]!.filter((mutant) => mutant.file === file);
    return { format: "module", source: javascript(file, edited), shortCircuit: true };
  },
});

const unedited = new Map<string, string>();

/** Returns a file without its types, which Node would otherwise remove anew for each copy. */
function javascript(file: string, edited: readonly Mutant[]): string {
  const known = edited.length === 0 ? unedited.get(file) : undefined;
  const text = known ?? stripTypeScriptTypes(mutated(file, edited));
  if (edited.length === 0) unedited.set(file, text);
  return text;
}

/** Runs `work` while reading a migration returns its edited text. Migrations are read, not imported. */
async function withMigrations<T>(mutants: readonly Mutant[], work: () => Promise<T>): Promise<T> {
  const files = mutants.map(({ file }) => file).filter((file) => file.endsWith(".sql"));
  if (files.length === 0) return work();
  const texts = new Map(files.map((file) => [new URL(file, serverFolder).href, mutated(file, mutants)]));
  const original = fs.readFileSync;
  const replace = (by: typeof original) => {
    fs.readFileSync = by;
    syncBuiltinESMExports();
  };
  const read = (path: unknown, ...rest: [never]) =>
    (path instanceof URL ? texts.get(path.href.split("?")[0]!) : undefined) ?? original(path as URL, ...rest);
  replace(read as typeof original);
  try {
    return await work();
  } finally {
    replace(original);
  }
}

/** Imports a new copy of `server.ts` and of the server's modules, with the edits of these mutants. */
export function loadServer(mutants: readonly Mutant[] = []): Promise<typeof import("./server.ts")> {
  const number = copies.push(mutants) - 1;
  return withMigrations(mutants, () => import(`${entry}?${parameter}=${number}`));
}
