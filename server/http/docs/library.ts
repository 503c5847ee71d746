import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { fill, type Settings } from "./fill.ts";
import { CONSOLE_POLICY } from "./policy.ts";
import { renderError, renderPage, renderSearch } from "./html.ts";
import { pages } from "./pages.ts";
import { search, sectionsOf, type Section } from "./search.ts";

export interface Resource {
  type: string;
  body: Buffer;
  /** The compressed body, for texts that become smaller. */
  gzip: Buffer | undefined;
  /** A hash of the body, which is the same in every process. */
  etag: string;
  policy?: string | undefined;
}

export interface Library {
  /** Returns what is at this path. The resource is made at the first request and kept. */
  find(path: string): Promise<Resource | undefined>;
  /** Returns the page with the parts of all pages that contain these words. */
  searchPage(query: string): Promise<string>;
  errorPage(status: number, path: string): string;
}

interface Source {
  type: string;
  read(): Promise<string | Buffer> | string | Buffer;
  policy?: string;
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

function sourcesOf(settings: Settings): Map<string, Source> {
  const generated = (name: string) => async () =>
    fill(await readFile(new URL(`../../../generated/docs/${name}`, import.meta.url), "utf8"), settings);

  const sources = new Map(Object.entries(FILES));
  sources.set("/llms.txt", { type: TEXT, read: generated("llms.txt") });
  for (const page of pages) {
    sources.set(`/docs/${page.name}.md`, { type: MARKDOWN, read: generated(`${page.name}.md`) });
    const path = page.name === "index" ? "/docs" : `/docs/${page.name}`;
    const body = generated(`${page.name}.html`);
    const policy = page.name === "reference" ? CONSOLE_POLICY : undefined;
    sources.set(path, { type: HTML, policy, read: async () => renderPage(page, await body(), settings) });
  }
  return sources;
}

export function openLibrary(settings: Settings): Library {
  const sources = sourcesOf(settings);
  let sections: Promise<Section[]> | undefined;
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
      sections ??= Promise.all(
        pages.map(async (page) => {
          const html = await readFile(new URL(`../../../generated/docs/${page.name}.html`, import.meta.url), "utf8");
          return sectionsOf(page, fill(html, settings));
        }),
      ).then((parts) => parts.flat());
      // If a file could not be opened, the next search tries again.
      sections.catch(() => (sections = undefined));
      return renderSearch(query, search(await sections, query), settings);
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
