import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogueText } from "../contract/contract.ts";
import { sides } from "../results.ts";

/** Returns the SHA-256 hash of the content in hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

const code = /\.(ts|js|eta|css)$/;
/** Folders and files that judge no target: the suite's broken servers, examples, tests, and the build of the package. */
const notJudging = /^(broken|examples|vectors)\/|(^|\/)(node_modules|dist|testing)\/|\.test\.ts$|^(pack\.ts|bin\.js)$/;

const root = join(import.meta.dirname, "..");

/**
 * Returns a hash of what judges targets: code, templates and the catalogues of requirements. A package, which has the
 * compiled code, has another hash than the checkout from which it was built.
 */
export function suiteSha256(): string {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => code.test(file) && !notJudging.test(file))
    .toSorted();
  const lines = files.map((file) => `${file} ${sha256(readFileSync(join(root, file)))}`);
  return sha256([...lines, ...[undefined, ...sides].map((side) => sha256(catalogueText(side)))].join("\n"));
}
