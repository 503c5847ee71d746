import { join } from "node:path";
import type { RequestHandler, Response } from "express";
import type { Logger } from "pino";
import type { Checkouts } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";
import type { HandoverStore } from "../../domain/handovers.ts";
import { loadTemplates } from "../templates.ts";
import { texts, type Locale } from "./texts.ts";

const { render, css, policy } = loadTemplates(join(import.meta.dirname, "templates"), "page.css");

/** The dependencies of the pages. */
export interface PageContext {
  config: { sandbox: boolean };
  clock: Clock;
  checkouts: Checkouts;
  storage: Pick<HandoverStore, "findHandover">;
  log: Logger;
}

/** The note that every page shows if the service charges nobody. */
export const noteOf = ({ config }: PageContext): "sandbox" | undefined => (config.sandbox ? "sandbox" : undefined);

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
  const html = render(template, { locale, title, t: texts[locale], css, ...data });
  if (refresh !== undefined) res.set("Refresh", refresh);
  res.status(status).type("html").send(html);
}
