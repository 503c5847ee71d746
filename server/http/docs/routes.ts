import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import express, { type ErrorRequestHandler, type RequestHandler, type Response, type Router } from "express";
import { ServiceError } from "../../domain/errors.ts";
import { onlyFor, toHttpError, toServiceError } from "../http-error.ts";
import { loadTemplates } from "../templates.ts";
import { fill, pages, type Settings } from "./pages.ts";
import { search, sectionsOf } from "./search.ts";

/** The paths of pages and documents. Everything under /docs is for people, so errors there are pages too. */
const PATHS = ["/openapi.json", "/openapi.yaml", "/llms.txt", "/docs", "/docs/:page", "/docs/assets/:file"];

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

/**
 * Pages load their styles and a script from this server, and send the search to it. The page of the reference also sends
 * requests to this server.
 */
const policyOf = (path: string): string =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; " +
  `${path === "/docs/reference" ? "connect-src 'self'; " : ""}frame-ancestors 'none'`;

const render = loadTemplates(join(import.meta.dirname, "templates"));

/** Returns a page with the frame of all pages. @param base the path from the page to the folder of the pages */
const framed = (
  { sandbox, dashboard }: Settings,
  page: { title: string; summary: string; base: string; name?: string; query?: string },
  body: string,
): string => render("layout", { ...page, body, sandbox, dashboard, pages });

/** A text of generated/docs/, with what depends on this server. */
const textOf = async (settings: Settings, file: string): Promise<string> =>
  fill(await readFile(new URL(`../../../generated/docs/${file}`, import.meta.url), "utf8"), settings);

/** What the documentation serves at a path. */
interface Resource {
  type: string;
  body: Buffer;
  /** The compressed body, for texts that become smaller. */
  gzip: Buffer | undefined;
  /** A hash of the body, which is the same in every process. */
  etag: string;
}

async function resourceOf(type: string, text: string | Buffer): Promise<Resource> {
  const body = Buffer.from(text);
  const zipped = await promisify(gzip)(body);
  return {
    type: BARE.has(type) ? type : `${type}; charset=utf-8`,
    body,
    gzip: zipped.length < body.length ? zipped : undefined,
    etag: createHash("sha256").update(body).digest("base64url"),
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

/** What is at each path. It is read and rendered at the first request, and kept. */
function resourcesOf(settings: Settings): ReadonlyMap<string, () => Promise<Resource>> {
  const resources = new Map<string, () => Promise<Resource>>();
  const add = (path: string, type: string, read: () => Promise<string | Buffer>) =>
    resources.set(
      path,
      kept(async () => resourceOf(type, await read())),
    );
  for (const [path, [type, ...files]] of Object.entries(FILES)) {
    const read = () => Promise.all(files.map((file) => readFile(new URL(file, import.meta.url))));
    add(path, type, async () => Buffer.concat(await read()));
  }
  add("/llms.txt", "text/plain", () => textOf(settings, "llms.txt"));
  for (const page of pages) {
    const { name } = page;
    const isIndex = name === "index";
    add(`/docs/${name}.md`, "text/markdown", () => textOf(settings, `${name}.md`));
    add(isIndex ? "/docs" : `/docs/${name}`, "text/html", async () =>
      framed(settings, { ...page, base: isIndex ? "docs/" : "" }, await textOf(settings, `${name}.html`)),
    );
  }
  return resources;
}

/** Sends a page that is made for a request. */
const sendPage = (res: Response, html: string): Response =>
  res.set("Content-Security-Policy", policyOf("")).type("html").send(html);

const notFound: RequestHandler = () => {
  throw new ServiceError("not_found", "No page exists at this URL.");
};

/**
 * The documentation: guides, the contract, its reference with a console, and the same texts as Markdown. No page is
 * read or rendered before the first request for it.
 */
export function documentation(settings: Settings): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const resources = resourcesOf(settings);
  const find: RequestHandler = (req, res, next) => (resources.has(req.path) ? next() : notFound(req, res, next));
  const sendFound: RequestHandler = async (req, res) => {
    const { type, body, gzip: zipped, etag } = await resources.get(req.path)!();
    const isZipped = zipped !== undefined && req.acceptsEncodings("gzip") === "gzip";
    res.set({
      "Content-Type": type,
      "Content-Security-Policy": policyOf(req.path),
      // Browsers keep a copy, and ask whether it is still current before they use it.
      "Cache-Control": "no-cache",
      Vary: "Accept-Encoding",
      ETag: isZipped ? `"${etag}-gzip"` : `"${etag}"`,
      ...(isZipped && { "Content-Encoding": "gzip" }),
    });
    res.send(isZipped ? zipped : body);
  };
  const sections = kept(async () => {
    const parts = pages.map(async (page) => sectionsOf(page, await textOf(settings, `${page.name}.html`)));
    return (await Promise.all(parts)).flat();
  });
  const sendSearch: RequestHandler = async (req, res) => {
    const query = typeof req.query["q"] === "string" ? req.query["q"].slice(0, 200) : "";
    const body = render("search", { query, found: search(await sections(), query) });
    const summary = "Parts of the documentation that contain all words of a search.";
    sendPage(
      res.set("Cache-Control", "no-cache"),
      framed(settings, { title: "Search", summary, base: "", query }, body),
    );
  };
  const sendErrorPage: ErrorRequestHandler = (error, req, res, next) => {
    const known = toServiceError(error);
    if (known.code === "internal_error") return next(error);
    const { status, headers } = toHttpError(known);
    // Links are relative to the path of the request.
    const base = "../".repeat(Math.min(8, Math.max(0, req.originalUrl.split("?")[0]!.split("/").length - 3)));
    const [title, summary] = ERRORS[status] ?? ERRORS[400]!;
    const html = framed(settings, { title, summary, base }, `<h1>${title}</h1><p>${summary}</p>`);
    sendPage(res.status(status).set(headers), html);
  };

  // A person opens the address that the server prints at its start. A program that asks for anything else gets 404.
  router.get("/", (req, res, next) => (req.accepts(["json", "html"]) === "html" ? res.redirect(303, "docs") : next()));
  router.get("/docs/", (_req, res) => res.redirect(308, "../docs"));
  router.route("/docs/search").get(sendSearch).all(onlyFor("GET, HEAD"));
  for (const path of PATHS) router.route(path).all(find).get(sendFound).all(onlyFor("GET, HEAD"));
  router.use("/docs", notFound);
  router.use("/docs", sendErrorPage);
  return router;
}
