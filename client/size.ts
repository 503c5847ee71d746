// The size of what ends up in an application: bundled with openapi-fetch, minified, gzipped. `npm run size -w client`.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

const entry = fileURLToPath(new URL("index.ts", import.meta.url));

/** What an application imports, by the name of the figure. */
const uses = {
  client: `export { createClient } from ${JSON.stringify(entry)};`,
  everything: `export * from ${JSON.stringify(entry)};`,
};

export type Sizes = Record<keyof typeof uses, { minified: number; gzipped: number }>;

export async function measureSizes(): Promise<Sizes> {
  const measured = await Promise.all(Object.entries(uses).map(async ([name, code]) => [name, await sizeOf(code)]));
  return Object.fromEntries(measured);
}

async function sizeOf(code: string) {
  const application = {
    name: "application",
    resolveId: (id: string) => (id === "application" ? id : null),
    load: (id: string) => (id === "application" ? code : null),
  };
  const bundle = await rolldown({ input: "application", platform: "browser", plugins: [application] });
  const { output } = await bundle.generate({ minify: true, format: "esm" });
  await bundle.close();
  const text = output[0].code;
  return { minified: text.length, gzipped: gzipSync(text, { level: 9 }).length };
}

if (import.meta.main) {
  for (const [name, { minified, gzipped }] of Object.entries(await measureSizes())) {
    console.log(`${name}: ${minified} bytes minified, ${gzipped} gzipped, openapi-fetch included`);
  }
}
