import express, { type ErrorRequestHandler, type RequestHandler, type Router } from "express";
import { ServiceError } from "../../domain/errors.ts";
import { onlyFor, toHttpError } from "../http-error.ts";
import { openLibrary, POLICY } from "./library.ts";
import type { Settings } from "./pages.ts";

/** The paths of pages and documents. Everything under /docs is for people, so errors there are pages too. */
const PATHS = ["/openapi.json", "/openapi.yaml", "/llms.txt", "/docs", "/docs/:page", "/docs/assets/:file"];

const notFound: RequestHandler = () => {
  throw new ServiceError("not_found", "No page exists at this URL.");
};

/**
 * The documentation: guides, the contract, its reference with a console, and the same texts as Markdown. No page is
 * read or rendered before the first request for it.
 */
export function documentation(settings: Settings): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const { resources, searchPage, errorPage } = openLibrary(settings);
  const find: RequestHandler = (req, res, next) => (resources.has(req.path) ? next() : notFound(req, res, next));
  const send: RequestHandler = async (req, res) => {
    const { type, body, gzip, etag, policy } = await resources.get(req.path)!();
    const zipped = gzip !== undefined && req.acceptsEncodings("gzip") === "gzip";
    res.set({
      "Content-Type": type,
      "Content-Security-Policy": policy,
      // Browsers keep a copy, and ask whether it is still current before they use it.
      "Cache-Control": "no-cache",
      Vary: "Accept-Encoding",
      ETag: zipped ? `"${etag}-gzip"` : `"${etag}"`,
      ...(zipped && { "Content-Encoding": "gzip" }),
    });
    res.send(zipped ? gzip : body);
  };
  const sendErrorPage: ErrorRequestHandler = (error, req, res, next) => {
    const isBadPath = error instanceof URIError;
    if (!isBadPath && !(error instanceof ServiceError)) return next(error);
    const { status, headers } = isBadPath ? { status: 404 } : toHttpError(error);
    const html = errorPage(status, req.originalUrl.split("?")[0]!);
    res
      .status(status)
      .set({ ...headers, "Content-Security-Policy": POLICY })
      .type("html")
      .send(html);
  };

  // A person opens the address that the server prints at its start. A program that asks for anything else gets 404.
  router.get("/", (req, res, next) => (req.accepts(["json", "html"]) === "html" ? res.redirect(303, "docs") : next()));
  router.get("/docs/", (_req, res) => res.redirect(308, "../docs"));
  router
    .route("/docs/search")
    .get(async ({ query }, res) => {
      const text = typeof query["q"] === "string" ? query["q"].slice(0, 200) : "";
      res.set({ "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" });
      res.type("html").send(await searchPage(text));
    })
    .all(onlyFor("GET, HEAD"));
  for (const path of PATHS) router.route(path).all(find).get(send).all(onlyFor("GET, HEAD"));
  router.use("/docs", notFound);
  router.use("/docs", sendErrorPage);
  return router;
}
