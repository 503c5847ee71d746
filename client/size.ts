// `npm run size -w client` prints the size that the package adds to an application when it is bundled with
// openapi-fetch, minified by esbuild and gzipped.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import client from "./package.json" with { type: "json" };

/** The source of each entry point; each is measured with all its exports. */
const entries = Object.entries(client.exports).flatMap(([name, entry]) =>
  typeof entry === "string"
    ? []
    : [[name, entry.import.default.replace("./dist/client/", "").replace(".js", ".ts")] as const],
);

export type Sizes = Record<string, { minified: number; gzipped: number }>;

export async function measureSizes(): Promise<Sizes> {
  return Object.fromEntries(
    await Promise.all(entries.map(async ([name, file]) => [name, await sizeOf(file)] as const)),
  );
}

async function sizeOf(file: string) {
  const entry = fileURLToPath(new URL(file, import.meta.url));
  const options = { bundle: true, minify: true, write: false, format: "esm", platform: "browser" } as const;
  const { outputFiles } = await build({ entryPoints: [entry], external: ["node:*"], ...options });
  const { contents } = outputFiles[0]!;
  return { minified: contents.length, gzipped: gzipSync(contents, { level: 9 }).length };
}

if (import.meta.main) {
  for (const [name, { minified, gzipped }] of Object.entries(await measureSizes())) {
    console.log(`${name}: ${minified} bytes minified, ${gzipped} gzipped, dependencies included`);
  }
}
