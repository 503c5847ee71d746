import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Router, type Request, type Response } from "express";

/** The header of requests that a page's script sends. They do not count as use of the session. */
const BY_ITSELF = "x-live";

/** True if the page's script sent the request, and not a person. */
export const isByItself = (req: Request): boolean => req.get(BY_ITSELF) !== undefined;

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** The script that keeps pages up to date, after the library that it uses. */
const script = [new URL(import.meta.resolve("idiomorph/dist/idiomorph.min.js")), join(import.meta.dirname, "morph.js")]
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

/** The name contains a hash of the script, so that browsers may cache it. */
export const scriptName = `live-${hash(script).slice(0, 16)}.js`;

/** Serves the script, which is the same for everybody. */
export function liveScript(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(`/dashboard/${scriptName}`, (_req, res) => {
    res.removeHeader("Vary");
    res.set("Cache-Control", "public, max-age=31536000, immutable").type("text/javascript").send(script);
  });
  return router;
}

/** Sends a page. A script sends the version of its page, and gets 304 while the page has not changed. */
export function sendPage(res: Response, html: string): void {
  if (isByItself(res.req)) res.set("ETag", `"${hash(html)}"`);
  res.type("html").send(html);
}
