// Pins the base images of server/deploy to a digest. A tag can be moved to another image, a digest cannot.
//
//   npm run images              asks the registries, through Docker, and writes the digests into the files
//   npm run images -- --check   exits with 1 and lists the images that have no digest
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const files = ["Dockerfile", "compose.yaml"].map((name) => join(import.meta.dirname, "../server/deploy", name));

/** An image in a Dockerfile's ARG or in `compose.yaml`. The image that the Dockerfile builds has no tag. */
const image = /^((?:ARG \w+_IMAGE=|\s+image: ))([^\s:@]+:[^\s@]+)(?:@(\S+))?$/gm;

/** Returns the images that a file names with a tag, and the digest of each pinned image. */
export const imagesIn = (text: string) =>
  [...text.matchAll(image)].map(([, , tag, digest]) => ({ tag: tag!, pinned: digest !== undefined }));

/**
 * Returns the text with the current digest behind each tag.
 * @throws Error if a digest is no SHA-256
 */
export function pinned(text: string, digestOf: (tag: string) => string): string {
  return text.replaceAll(image, (_, before: string, tag: string) => {
    const digest = digestOf(tag);
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`The registry gave no digest for ${tag}: ${digest}`);
    return `${before}${tag}@${digest}`;
  });
}

/** Returns the digest of the list of all platforms, so that the file is right on each of them. */
function digestAtRegistry(tag: string): string {
  const args = ["buildx", "imagetools", "inspect", tag, "--format", "{{.Manifest.Digest}}"];
  return execFileSync("docker", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const floating = files.flatMap((file) => imagesIn(readFileSync(file, "utf8"))).filter(({ pinned: is }) => !is);
    for (const { tag } of floating)
      console.error(`${tag} has no digest. Run npm run images where Docker is installed.`);
    process.exitCode = floating.length > 0 ? 1 : 0;
  } else {
    for (const file of files) writeFileSync(file, pinned(readFileSync(file, "utf8"), digestAtRegistry));
  }
}
