import { readFile } from "node:fs/promises";

export interface Package {
  name: string;
  version: string;
  /** An SPDX expression, or what the package itself calls its licence. */
  licence: string | undefined;
}

interface LockFile {
  packages: Record<string, { version?: string; license?: unknown; dev?: boolean; link?: boolean }>;
}

/** Licences that allow use in closed and open software, and only require that their text is kept. */
const ACCEPTED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "LicenseRef-public-domain",
  "MIT",
  "Python-2.0",
  "Unlicense",
  "WTFPL",
]);

/** The licences of packages with a missing or outdated declaration, as found in their files. */
const READ_BY_HAND: Record<string, string> = {
  "cycle 1.0.3": "LicenseRef-public-domain",
  "html 1.0.0": "MIT",
  "optimist 0.6.1": "MIT",
};

/**
 * Finds every package of the lock file, except packages for development only. The licence is from the package's own
 * package.json, or from the lock file if the package is not installed on this platform.
 * @param root the folder of the project
 */
export function packagesOf({ packages }: LockFile, root: URL): Promise<Package[]> {
  const used = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link,
  );
  return Promise.all(
    used.map(async ([path, { version = "", license }]) => {
      const name = path.split("node_modules/").at(-1)!;
      const manifest = await readFile(new URL(`${path}/package.json`, root), "utf8").then(JSON.parse, () => ({}));
      const declared = manifest.license ?? manifest.licenses ?? license;
      return { name, version, licence: READ_BY_HAND[`${name} ${version}`] ?? expressionOf(declared) };
    }),
  );
}

/** Some old packages have, instead of an SPDX expression, a list of licences to choose from. */
function expressionOf(declared: unknown): string | undefined {
  if (typeof declared === "string") return declared;
  if (!Array.isArray(declared)) return undefined;
  return declared.map((each) => (typeof each === "string" ? each : String(each?.type))).join(" OR ");
}

/** Returns what is wrong with a package's licence, if anything is. */
export function problemWith({ name, version, licence }: Package): string | undefined {
  if (licence === undefined) return `${name} ${version} names no licence: read its files and add it to READ_BY_HAND.`;
  return isAccepted(licence) ? undefined : `${name} ${version} has the licence ${licence}, which is not accepted.`;
}

/**
 * One accepted licence is enough in an expression with OR. In an expression with AND, all licences must be accepted.
 */
function isAccepted(expression: string): boolean {
  const names = expression.replaceAll(/[()]/g, "").split(/ (?:OR|AND) /);
  const accepted = names.filter((name) => ACCEPTED.has(name));
  return expression.includes(" AND ") ? accepted.length === names.length : accepted.length > 0;
}
