import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Eta } from "eta";
import express, { type ErrorRequestHandler, type RequestHandler, type Response, type Router } from "express";
import { ServiceError } from "../../domain/errors.ts";
import { onlyFor, toHttpError, toServiceError } from "../http-error.ts";
import { fill, LIVE, type Settings } from "./fill.ts";
import { pages, readGenerated, requirements } from "./pages.ts";
import { search, sectionsOf, type Section } from "./search.ts";

/** Texts of generated/docs/ that are not pages. */
const FOR_PROGRAMS = ["llms.txt", "llms-full.txt", "postman.json"];

/** The paths of pages and documents. Everything under /docs is for people, so errors there are pages too. */
const PATHS = [
  "/openapi.json",
  "/openapi.yaml",
  ...FOR_PROGRAMS.map((file) => `/${file}`),
  "/docs",
  "/docs/:page",
  "/docs/:folder/:file",
];

const stylesOf = (...names: string[]) => names.map((name) => `../styles/${name}.css`);
/** Files that are served as they are, or joined, also those of the dashboard. */
const FILES: Readonly<Record<string, string[]>> = {
  "/openapi.json": ["../../../generated/openapi.json"],
  "/openapi.yaml": ["../../../spec/openapi.yaml"],
  "/docs/assets/docs.css": [...stylesOf("theme", "base", "drawing"), "templates/docs.css"],
  "/docs/assets/icon.svg": ["templates/icon.svg"],
  "/docs/assets/docs.js": ["templates/docs.js"],
  "/docs/assets/reference.js": ["templates/reference.js"],
  "/docs/assets/dashboard.css": [...stylesOf("theme", "base", "forms"), "../dashboard/dashboard.css"],
  "/docs/assets/dashboard.js": [
    fileURLToPath(import.meta.resolve("idiomorph/dist/idiomorph.min.js")),
    "../dashboard/morph.js",
  ],
};

/**
 * Pages load their styles and a script from this server, and send the search to it. The page of the reference also sends
 * requests to this server.
 */
const policyOf = (path: string): string =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; " +
  `${path === "/docs/reference" ? "connect-src 'self'; " : ""}frame-ancestors 'none'`;

const eta = new Eta({ views: join(import.meta.dirname, "templates"), cache: true, autoEscape: true });
const render = (name: string, data: object) => eta.render(`./${name}`, data);
const read = (file: string): string => readFileSync(resolve(import.meta.dirname, file), "utf8");

/** Sends a page that is made for a request. */
const sendPage = (res: Response, html: string): Response =>
  res.set("Content-Security-Policy", policyOf("")).type("html").send(html);

/** What is sent for a path, and its hash, which is the same in every process. */
function toSend(text: string) {
  const plain = Buffer.from(text);
  return { plain, zipped: gzipSync(plain), hash: createHash("sha256").update(plain).digest("base64url") };
}

/**
 * The documentation: guides, the contract, its reference with a console, and the same texts as Markdown. No page is
 * read or rendered before the first request for it.
 */
export function documentation(settings: Settings): Router {
  /** A text of generated/docs/, with what depends on this server. */
  const textOf = (file: string) => fill(readGenerated(`docs/${file}`), settings);
  /** Returns a page with the frame of all pages. `base` is the path from the page to the folder of the pages. */
  const framed = (
    page: { title: string; summary: string; base: string; name?: string; query?: string },
    body: string,
  ) => render("layout", { ...page, ...settings, live: LIVE, body, pages });

  const forPrograms = pages.length > 0 ? FOR_PROGRAMS : [];
  const texts = new Map<string, () => string>(forPrograms.map((file) => [`/${file}`, () => textOf(file)]));
  for (const [path, files] of Object.entries(FILES)) texts.set(path, () => files.map(read).join(""));
  for (const page of pages) {
    const { name } = page;
    const [path, base] = name === "index" ? ["/docs", "docs/"] : [`/docs/${name}`, ""];
    texts.set(`/docs/${name}.md`, () => textOf(`${name}.md`));
    texts.set(path, () => framed({ ...page, base }, textOf(`${name}.html`)));
  }
  for (const [id, text] of Object.entries(requirements)) {
    const page = { title: id, summary: text, base: "../" };
    texts.set(`/docs/requirements/${id}`, () => framed(page, textOf(`requirements/${id}.html`)));
  }
  const made = new Map<string, ReturnType<typeof toSend>>();
  let sections: Section[] | undefined;

  const sendFound: RequestHandler = (req, res) => {
    const { path } = req;
    const { plain, zipped, hash } = made.get(path) ?? toSend(texts.get(path)!());
    made.set(path, { plain, zipped, hash });
    const isZipped = req.acceptsEncodings("gzip") === "gzip";
    // Browsers keep a copy, and ask whether it is still current before they use it.
    const headers = { "Cache-Control": "no-cache", Vary: "Accept-Encoding", ETag: `W/"${hash}"` };
    res.set({ "Content-Security-Policy": policyOf(path), ...headers, ...(isZipped && { "Content-Encoding": "gzip" }) });
    // The id of a requirement has a dot, but is no file. RFC 9512.
    const extension = path.startsWith("/docs/requirements/") ? "" : extname(path);
    res.type(extension === ".yaml" ? "application/yaml; charset=utf-8" : extension || "html");
    res.send(isZipped ? zipped : plain);
  };
  const sendSearch: RequestHandler = (req, res) => {
    const query = typeof req.query["q"] === "string" ? req.query["q"].slice(0, 200) : "";
    sections ??= pages.flatMap((page) => sectionsOf(page, textOf(`${page.name}.html`)));
    const body = render("search", { query, found: search(sections, query) });
    const summary = "Parts of the documentation that contain all words of a search.";
    sendPage(res.set("Cache-Control", "no-cache"), framed({ title: "Search", summary, base: "", query }, body));
  };
  const find: RequestHandler = (req, _res, next) => {
    if (texts.has(req.path)) return next();
    throw new ServiceError("not_found", "No page exists at this URL.");
  };
  const sendErrorPage: ErrorRequestHandler = (error, req, res, next) => {
    const known = toServiceError(error);
    if (known.code === "internal_error") return next(error);
    const { status, headers, body } = toHttpError(known);
    // Links are relative to the path of the request.
    const base = "../".repeat(Math.min(8, Math.max(0, req.originalUrl.split("?")[0]!.split("/").length - 3)));
    const page = { title: body.error!, summary: body.message!, base };
    sendPage(res.status(status).set(headers), framed(page, `<h1>${page.title}</h1><p>${page.summary}</p>`));
  };

  const router = express.Router({ caseSensitive: true, strict: true });
  // A person opens the address that the server prints at its start. A program that does not prefer HTML gets 404.
  router.get("/", (req, res, next) => (req.accepts(["json", "html"]) === "html" ? res.redirect(303, "docs") : next()));
  router.get("/docs/", (_req, res) => res.redirect(308, "../docs"));
  router.route("/docs/search").get(sendSearch).all(onlyFor("GET, HEAD"));
  for (const path of PATHS) router.route(path).all(find).get(sendFound).all(onlyFor("GET, HEAD"));
  router.use("/docs", find);
  router.use("/docs", sendErrorPage);
  return router;
}
