import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";
import type { RequestHandler, Response } from "express";
import { texts, type Locale } from "./texts.ts";

const views = join(import.meta.dirname, "templates");
/** Escapes the values that `<%= %>` inserts. */
const eta = new Eta({ views, cache: true, autoEscape: true });
// Compile every template at start. On first use the process may have no file descriptor left to read it.
for (const name of readdirSync(views).filter((file) => file.endsWith(".eta"))) {
  const path = join(views, name);
  eta.templatesSync.define(path, eta.compile(readFileSync(path, "utf8"), { filepath: path }));
}
const css = readFileSync(join(views, "page.css"), "utf8");

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(css).digest("base64")}'`,
  // Browsers also apply this to redirects after a form is sent, so these must not lead to the merchant (see
  // checkout.ts).
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every response under /checkouts. The URL is secret, and pages must not be framed or cached. */
export const pageHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    "Content-Security-Policy": policy,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
  });
  next();
};

interface Page {
  status: number;
  template: "pay" | "waiting" | "result" | "error";
  locale: Locale;
  title: string;
  /** Value of the `Refresh` header: seconds until the page reloads, optionally with another URL to load. */
  refresh?: string | undefined;
}

/** Sends a self-contained page, without scripts, images or fonts. `data` is passed to its template. */
export function sendPage(res: Response, { status, template, locale, title, refresh }: Page, data: object): void {
  const html = eta.render(`./${template}`, { locale, title, t: texts[locale], css, ...data });
  if (refresh !== undefined) res.set("Refresh", refresh);
  res.status(status).type("html").send(html);
}
