import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Locale } from "../pages/texts.ts";
import { fill, type Settings } from "./fill.ts";
import { fileOf, pageIn, textLanguage } from "./french.ts";
import { CONSOLE_POLICY } from "./policy.ts";
import { renderError, renderPage, renderSearch } from "./html.ts";
import { pages, type DocsPage } from "./pages.ts";
import type { Resource } from "./resource.ts";
import { search, sectionsOf, type Section } from "./search.ts";

export interface Library {
  /** Returns what is at this path. The resource is made at the first request and kept. */
  find(path: string, language: Locale): Promise<Resource | undefined>;
  /** Returns the page with the parts of all pages that contain these words. */
  searchPage(query: string, language: Locale): Promise<string>;
  errorPage(status: number, path: string, language: Locale): string;
}

interface Source {
  type: string;
  read(language: Locale): Promise<string | Buffer>;
  isTranslated?: boolean;
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

/** The text of a page for readers of this language. */
async function textOf(page: DocsPage, extension: "html" | "md", settings: Settings, language: Locale): Promise<string> {
  return fill(await readGenerated(fileOf(page, extension, language)), settings, textLanguage(page, language));
}

function sourcesOf(settings: Settings): Map<string, Source> {
  const sources = new Map(Object.entries(FILES));
  sources.set("/llms.txt", { type: TEXT, read: async () => fill(await readGenerated("llms.txt"), settings, "en") });
  for (const page of pages) {
    sources.set(`/docs/${page.name}.md`, {
      type: MARKDOWN,
      isTranslated: !page.englishOnly,
      read: (language) => textOf(page, "md", settings, language),
    });
    sources.set(page.name === "index" ? "/docs" : `/docs/${page.name}`, {
      type: HTML,
      isTranslated: true,
      policy: page.name === "reference" ? CONSOLE_POLICY : undefined,
      read: async (language) => renderPage(page, await textOf(page, "html", settings, language), settings, language),
    });
  }
  return sources;
}

/** The parts of all pages, as a search for readers of this language finds them. */
async function readSections(settings: Settings, language: Locale): Promise<Section[]> {
  const parts = pages.map(async (page) =>
    sectionsOf(pageIn(page, language), textLanguage(page, language), await textOf(page, "html", settings, language)),
  );
  return (await Promise.all(parts)).flat();
}

export function openLibrary(settings: Settings): Library {
  const sources = sourcesOf(settings);
  const read = new Map<Locale, Promise<Section[]>>();
  const made = new Map<string, Promise<Resource>>();

  return {
    async find(path, language) {
      const source = sources.get(path);
      if (!source) return undefined;
      const key = `${source.isTranslated ? language : ""} ${path}`;
      const making = made.get(key) ?? make(source, language);
      made.set(key, making);
      // If a file could not be opened, the next request tries again.
      making.catch(() => made.delete(key));
      return making;
    },
    async searchPage(query, language) {
      const reading = read.get(language) ?? readSections(settings, language);
      read.set(language, reading);
      // If a file could not be opened, the next search tries again.
      reading.catch(() => read.delete(language));
      return renderSearch(query, search(await reading, query), settings, language);
    },
    errorPage: (status, path, language) => renderError(status, path, settings, language),
  };
}

async function make({ type, read, isTranslated = false, policy }: Source, language: Locale): Promise<Resource> {
  const body = Buffer.from(await read(language));
  const zipped = await promisify(gzip)(body);
  return {
    type,
    body,
    gzip: zipped.length < body.length ? zipped : undefined,
    etag: createHash("sha256").update(body).digest("base64url"),
    isTranslated,
    policy,
  };
}
