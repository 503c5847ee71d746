import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { loadTemplates } from "../templates.ts";
import { fill, pages, type DocsPage, type Settings } from "./pages.ts";
import { search, sectionsOf } from "./search.ts";

/** What the documentation serves at a path. */
export interface Resource {
  type: string;
  body: Buffer;
  /** The compressed body, for texts that become smaller. */
  gzip: Buffer | undefined;
  /** A hash of the body, which is the same in every process. */
  etag: string;
  policy: string;
}

export interface Library {
  /** What is at each path. It is made at the first request and kept. */
  resources: ReadonlyMap<string, () => Promise<Resource>>;
  /** Returns the page with the parts of all pages that contain these words. */
  searchPage(query: string): Promise<string>;
  /** @param path the path of the request, to which the links are relative */
  errorPage(status: number, path: string): string;
}

/** Pages load their styles and a script from this server, and send the search to it. */
const common =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; ";
const FRAMES = "frame-ancestors 'none'";
export const POLICY: string = common + FRAMES;
/** The page of the reference also sends requests to this server. */
const CONSOLE_POLICY = `${common}connect-src 'self'; ${FRAMES}`;

/** Files that are served as they are, or joined. */
const FILES: Readonly<Record<string, [type: string, ...files: string[]]>> = {
  "/openapi.json": ["application/json", "../../../generated/openapi.json"],
  "/openapi.yaml": ["application/yaml", "../../../spec/openapi.yaml"],
  "/docs/assets/docs.css": [
    "text/css",
    "../styles/theme.css",
    "../styles/base.css",
    "../styles/drawing.css",
    "templates/docs.css",
  ],
  "/docs/assets/icon.svg": ["image/svg+xml", "templates/icon.svg"],
  "/docs/assets/docs.js": ["text/javascript", "templates/docs.js"],
  "/docs/assets/reference.js": ["text/javascript", "templates/reference.js"],
};
/** Types without a charset. */
const BARE = new Set(["application/json", "image/svg+xml"]);

const ERRORS: Readonly<Record<number, [title: string, text: string]>> = {
  400: ["Bad Request", "The server could not make sense of this request."],
  404: ["Not Found", "There is no page at this address. It may have moved, or the link has a mistake."],
  405: ["Method Not Allowed", "Pages can only be read. Follow a link below."],
};

const render = loadTemplates(join(import.meta.dirname, "templates"));

export function openLibrary(settings: Settings): Library {
  const textOf = async (file: string) =>
    fill(await readFile(new URL(`../../../generated/docs/${file}`, import.meta.url), "utf8"), settings);
  /** @param base the path from the page to the folder of the pages */
  const show = (page: { title: string; summary: string; base: string; name?: string; query?: string }, body: string) =>
    render("layout", { ...page, body, sandbox: settings.sandbox, dashboard: settings.dashboard, pages });
  const pageOf = async ({ name, title, summary }: DocsPage) =>
    show({ name, title, summary, base: name === "index" ? "docs/" : "" }, await textOf(`${name}.html`));
  const sections = kept(async () => {
    const parts = pages.map(async (page) => sectionsOf(page, await textOf(`${page.name}.html`)));
    return (await Promise.all(parts)).flat();
  });

  const resources = new Map<string, () => Promise<Resource>>();
  const add = (path: string, type: string, read: () => Promise<string | Buffer>, policy = POLICY) =>
    resources.set(
      path,
      kept(async () => resourceOf(BARE.has(type) ? type : `${type}; charset=utf-8`, await read(), policy)),
    );
  for (const [path, [type, ...files]] of Object.entries(FILES)) {
    const read = files.map((file) => () => readFile(new URL(file, import.meta.url)));
    add(path, type, async () => Buffer.concat(await Promise.all(read.map((each) => each()))));
  }
  add("/llms.txt", "text/plain", () => textOf("llms.txt"));
  for (const page of pages) {
    const { name } = page;
    add(`/docs/${name}.md`, "text/markdown", () => textOf(`${name}.md`));
    const policy = name === "reference" ? CONSOLE_POLICY : POLICY;
    add(name === "index" ? "/docs" : `/docs/${name}`, "text/html", () => pageOf(page), policy);
  }

  return {
    resources,
    async searchPage(query) {
      const summary = "Parts of the documentation that contain all words of a search.";
      const body = render("search", { query, found: search(await sections(), query) });
      return show({ title: "Search", summary, base: "", query }, body);
    },
    errorPage(status, path) {
      const base = "../".repeat(Math.min(8, Math.max(0, path.split("/").length - 3)));
      const [title, summary] = ERRORS[status] ?? ERRORS[400]!;
      return show({ title, summary, base }, `<h1>${title}</h1><p>${summary}</p>`);
    },
  };
}

/** Makes a value at the first call. If that fails, because no file could be opened, the next call tries again. */
function kept<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    made.catch(() => (made = undefined));
    return made;
  };
}

async function resourceOf(type: string, text: string | Buffer, policy: string): Promise<Resource> {
  const body = Buffer.from(text);
  const zipped = await promisify(gzip)(body);
  return {
    type,
    body,
    gzip: zipped.length < body.length ? zipped : undefined,
    etag: createHash("sha256").update(body).digest("base64url"),
    policy,
  };
}
