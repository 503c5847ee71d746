import express, { type ErrorRequestHandler, type RequestHandler, type Router } from "express";
import { ServiceError } from "../../domain/errors.ts";
import { toHttpError } from "../http-error.ts";
import { getOnly } from "../metrics-page.ts";
import { stated, stateOf } from "../request-state.ts";
import type { Settings } from "./fill.ts";
import type { Library } from "./library.ts";
import { POLICY } from "./resource.ts";

/** The paths of pages and documents. Everything under /docs is for people, so errors there are pages too. */
const PATHS = ["/openapi.json", "/openapi.yaml", "/llms.txt", "/docs", "/docs/:page", "/docs/assets/:file"];

/**
 * The documentation: guides, the contract, its reference with a console, and the same texts as Markdown. Nothing is
 * read or rendered before the first request for it.
 */
export function documentation(settings: Settings): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  let opening: Promise<Library> | undefined;
  const open = () => {
    opening ??= import("./library.ts").then(({ openLibrary }) => openLibrary(settings));
    // If reading failed, the next request tries again.
    opening.catch(() => (opening = undefined));
    return opening;
  };

  const find: RequestHandler = async ({ path }, res, next) => {
    const resource = await (await open()).find(path);
    if (!resource) throw new ServiceError("not_found", "No page exists at this URL.");
    stateOf(res).resource = resource;
    next();
  };
  const sendErrorPage: ErrorRequestHandler = async (error, req, res, next) => {
    const isBadPath = error instanceof URIError;
    if (!isBadPath && !(error instanceof ServiceError)) return next(error);
    const { status, headers } = isBadPath ? { status: 404 } : toHttpError(error);
    const html = (await open()).errorPage(status, req.originalUrl.split("?")[0]!);
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
      const page = await (await open()).searchPage(text);
      res.set({ "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" }).type("html").send(page);
    })
    .all(getOnly);
  for (const path of PATHS) router.route(path).all(find).get(send).all(getOnly);
  router.use("/docs", () => {
    throw new ServiceError("not_found", "No page exists at this URL.");
  });
  router.use("/docs", sendErrorPage);
  return router;
}

const send: RequestHandler = (req, res) => {
  const { type, body, gzip, etag, policy = POLICY } = stated(res, "resource");
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
