import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { fill, type Settings } from "./fill.ts";
import { renderError, renderPage, renderSearch } from "./html.ts";
import { pages, type DocsPage } from "./pages.ts";
import { CONSOLE_POLICY, type Resource } from "./resource.ts";
import { search, sectionsOf, type Section } from "./search.ts";

export interface Library {
  /** Returns what is at this path. The resource is made at the first request and kept. */
  find(path: string): Promise<Resource | undefined>;
  /** Returns the page with the parts of all pages that contain these words. */
  searchPage(query: string): Promise<string>;
  errorPage(status: number, path: string): string;
}

interface Source {
  type: string;
  read(): Promise<string | Buffer>;
  policy?: string | undefined;
}

const HTML = "text/html; charset=utf-8";
const MARKDOWN = "text/markdown; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Serves files, concatenated. */
const file = (type: string, ...urls: string[]): Source => ({
  type,
  read: async () => Buffer.concat(await Promise.all(urls.map((url) => readFile(new URL(url))))),
});
const here = (path: string) => new URL(path, import.meta.url).href;

/** Files that are served as they are. */
const FILES: Record<string, Source> = {
  "/openapi.json": file("application/json", here("../../../generated/openapi.json")),
  "/openapi.yaml": file("application/yaml; charset=utf-8", here("../../../spec/openapi.yaml")),
  "/docs/assets/docs.css": file(
    STYLE,
    here("../styles/theme.css"),
    here("../styles/base.css"),
    here("../styles/drawing.css"),
    here("templates/docs.css"),
  ),
  "/docs/assets/icon.svg": file("image/svg+xml", here("templates/icon.svg")),
  "/docs/assets/docs.js": file(SCRIPT, here("templates/docs.js")),
  "/docs/assets/reference.js": file(SCRIPT, here("templates/reference.js")),
};

const readGenerated = (name: string) => readFile(new URL(`../../../generated/docs/${name}`, import.meta.url), "utf8");

const textOf = async ({ name }: DocsPage, extension: "html" | "md", settings: Settings): Promise<string> =>
  fill(await readGenerated(`${name}.${extension}`), settings);

function sourcesOf(settings: Settings): Map<string, Source> {
  const sources = new Map(Object.entries(FILES));
  sources.set("/llms.txt", { type: TEXT, read: async () => fill(await readGenerated("llms.txt"), settings) });
  for (const page of pages) {
    sources.set(`/docs/${page.name}.md`, {
      type: MARKDOWN,
      read: () => textOf(page, "md", settings),
    });
    sources.set(page.name === "index" ? "/docs" : `/docs/${page.name}`, {
      type: HTML,
      policy: page.name === "reference" ? CONSOLE_POLICY : undefined,
      read: async () => renderPage(page, await textOf(page, "html", settings), settings),
    });
  }
  return sources;
}

/** The parts of all pages. */
async function readSections(settings: Settings): Promise<Section[]> {
  const parts = pages.map(async (page) => sectionsOf(page, await textOf(page, "html", settings)));
  return (await Promise.all(parts)).flat();
}

export function openLibrary(settings: Settings): Library {
  const sources = sourcesOf(settings);
  let read: Promise<Section[]> | undefined;
  const made = new Map<string, Promise<Resource>>();

  return {
    async find(path) {
      const source = sources.get(path);
      if (!source) return undefined;
      const making = made.get(path) ?? make(source);
      made.set(path, making);
      // If a file could not be opened, the next request tries again.
      making.catch(() => made.delete(path));
      return making;
    },
    async searchPage(query) {
      read ??= readSections(settings);
      // If a file could not be opened, the next search tries again.
      read.catch(() => (read = undefined));
      return renderSearch(query, search(await read, query), settings);
    },
    errorPage: (status, path) => renderError(status, path, settings),
  };
}

async function make({ type, read, policy }: Source): Promise<Resource> {
  const body = Buffer.from(await read());
  const zipped = await promisify(gzip)(body);
  return {
    type,
    body,
    gzip: zipped.length < body.length ? zipped : undefined,
    etag: createHash("sha256").update(body).digest("base64url"),
    policy,
  };
}
