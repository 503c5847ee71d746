import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Eta } from "eta";
import type { RequestHandler, Response } from "express";
import { texts, type Locale } from "./texts.ts";

const views = join(import.meta.dirname, "templates");
/** Escapes what templates write; each is compiled at its first use and kept. */
const eta = new Eta({ views, cache: true, autoEscape: true });
const css = readFileSync(join(views, "page.css"), "utf8");

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(css).digest("base64")}'`,
  // Browsers hold redirects after a form to this too: such a chain must not leave for the merchant (see checkout.ts).
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** What every answer under /checkouts carries: the address is a secret, and the page may not be framed or kept. */
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
  /** After how many seconds the browser loads this page again, or which it loads instead; this takes no script. */
  refresh?: string | undefined;
}

/** Answers with a page that needs nothing else: no script, no image, no font; `data` is for its template. */
export function sendPage(res: Response, { status, template, locale, title, refresh }: Page, data: object): void {
  const html = eta.render(`./${template}`, { locale, title, t: texts[locale], css, ...data });
  if (refresh !== undefined) res.set("Refresh", refresh);
  res.status(status).type("html").send(html);
}
