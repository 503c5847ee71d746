import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { fill, type Settings } from "./fill.ts";
import { renderError, renderPage, renderReference } from "./html.ts";
import { pages } from "./pages.ts";

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
  errorPage(status: number, path: string): string;
}

interface Source {
  type: string;
  read(): Promise<string | Buffer> | string | Buffer;
  policy?: string;
}

/** The console's page runs the scripts of this server and sends requests to it; the renderer's icons are data URLs. */
const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; ";

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
    here("templates/docs.css"),
  ),
  "/docs/assets/icon.svg": file("image/svg+xml", here("templates/icon.svg")),
  "/docs/assets/reference.css": file(STYLE, here("templates/reference.css")),
  "/docs/assets/reference.js": file(SCRIPT, here("templates/reference.js")),
  "/docs/assets/swagger-ui.css": file(STYLE, import.meta.resolve("swagger-ui-dist/swagger-ui.css")),
  "/docs/assets/swagger-ui.js": file(SCRIPT, import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js")),
};

function sourcesOf(settings: Settings): Map<string, Source> {
  const generated = (name: string) => async () =>
    fill(await readFile(new URL(`../../../generated/docs/${name}`, import.meta.url), "utf8"), settings);

  const sources = new Map(Object.entries(FILES));
  sources.set("/llms.txt", { type: TEXT, read: generated("llms.txt") });
  for (const page of pages) {
    sources.set(`/docs/${page.name}.md`, { type: MARKDOWN, read: generated(`${page.name}.md`) });
    const path = page.name === "index" ? "/docs" : `/docs/${page.name}`;
    if (page.name === "reference") {
      sources.set(path, { type: HTML, policy: CONSOLE_POLICY, read: () => renderReference(page, settings) });
    } else {
      const body = generated(`${page.name}.html`);
      sources.set(path, { type: HTML, read: async () => renderPage(page, await body(), settings) });
    }
  }
  return sources;
}

export function openLibrary(settings: Settings): Library {
  const sources = sourcesOf(settings);
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
