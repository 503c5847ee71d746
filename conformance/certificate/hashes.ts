import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { catalogueText } from "../contract/contract.ts";
import { sides, type Report } from "../results.ts";

/** Returns the SHA-256 hash of the content in hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/**
 * Returns a hash of the verdicts on all requirements and checks. Two runs with the same verdicts have the same hash.
 */
export function resultsSha256({ requirements }: Pick<Report, "requirements">): string {
  const results = requirements
    .map(({ id, verdict, checks }) => [id, verdict, checks.map((check) => [check.name, check.verdict])])
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return sha256(JSON.stringify(results));
}

const code = /\.(ts|js|eta|css)$/;
/** Folders and files that judge no target: the proof of the suite, examples, tests, and how the package is built. */
const notJudging = /^(broken|examples|vectors)\/|(^|\/)(node_modules|dist|testing)\/|\.test\.ts$|^(pack\.ts|bin\.js)$/;

const root = join(import.meta.dirname, "..");
/** The file of the package that has the hash of each source, and of what was built from it. */
const manifestFile = "suite.json";
type Manifest = Record<string, { source: string; built: string }>;

const hashOf = (folder: string, file: string) => sha256(readFileSync(join(folder, file)));
/** Returns the name of what is built from a source. */
const builtName = (file: string) => file.replace(/\.ts$/, ".js");

/** Returns the hash of each source that judges targets. */
const sources = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => code.test(file) && !notJudging.test(file))
      .map((file) => [file, hashOf(root, file)]),
  );

/** Writes the manifest into the folder of a package that was built from these sources. */
export function writeManifest(folder: string): void {
  const entries = Object.entries(sources()).map(([file, source]) => [
    file,
    { source, built: hashOf(folder, builtName(file)) },
  ]);
  writeFileSync(join(folder, manifestFile), JSON.stringify(Object.fromEntries(entries)));
}

/** Returns the hash of each source of a package. A file that was edited after the build has another hash. */
function sourcesOfPackage(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(root, manifestFile), "utf8")) as Manifest;
  return Object.fromEntries(
    Object.entries(manifest).map(([file, { source, built }]) => {
      const found = hashOf(root, builtName(file));
      return [file, found === built ? source : found];
    }),
  );
}

/**
 * Returns a hash of what judges targets: code, templates and the catalogues of requirements. It is the same for a
 * checkout and for the package that was built from it.
 */
export function suiteSha256(): string {
  const hashes = existsSync(join(root, manifestFile)) ? sourcesOfPackage() : sources();
  const lines = Object.keys(hashes)
    .toSorted()
    .map((file) => `${file} ${hashes[file]}`);
  return sha256([...lines, ...[undefined, ...sides].map((side) => sha256(catalogueText(side)))].join("\n"));
}
