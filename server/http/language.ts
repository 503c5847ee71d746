import type { Request, RequestHandler } from "express";
import type { Config } from "../config.ts";
import type { Language } from "../texts/index.ts";
import { stateOf } from "./request-state.ts";

/** The languages of the pages, as their speakers call them. */
const LANGUAGES: Readonly<Record<Language, string>> = { en: "English", fr: "Français" };

const COOKIE = "language";
/** The parameter of a link that chooses a language. */
export const CHOICE = "lang";
const YEAR_MS = 365 * 24 * 3_600_000;

/** The value of a cookie that the browser has sent. */
export function cookieIn(req: Request, name: string): string | undefined {
  const start = `${name}=`;
  const cookies = (req.headers.cookie ?? "").split(";").map((text) => text.trim());
  return cookies.find((text) => text.startsWith(start))?.slice(start.length);
}

const known = (text: unknown): Language | undefined =>
  typeof text === "string" && Object.hasOwn(LANGUAGES, text) ? (text as Language) : undefined;

/** The language that a person has chosen; otherwise the browser's language. */
export const languageOf = (req: Request): Language =>
  known(cookieIn(req, COOKIE)) ?? known(req.acceptsLanguages(Object.keys(LANGUAGES))) ?? "en";

/**
 * Finds the language of a page. A link that ends in `?lang=fr` keeps the choice in a cookie, and leads to the same page
 * without the parameter. If people pass the page's address on, it chooses no language for others.
 */
export function findLanguage({ publicUrl }: Pick<Config, "publicUrl">): RequestHandler {
  return (req, res, next) => {
    const chosen = known(req.query[CHOICE]);
    stateOf(res).language = languageOf(req);
    res.vary("Accept-Language").vary("Cookie");
    if (req.method !== "GET" || chosen === undefined) return next();
    const secure = publicUrl.startsWith("https:");
    res.cookie(COOKIE, chosen, { httpOnly: true, sameSite: "lax", secure, path: "/", maxAge: YEAR_MS });
    const [path = "", given] = req.originalUrl.split("?");
    const query = new URLSearchParams(given);
    query.delete(CHOICE);
    // Relative, because a proxy may serve this path under a prefix.
    const rest = query.size === 0 ? "" : `?${query}`;
    res
      .status(303)
      .set("Location", `./${path.split("/").at(-1)}${rest}`)
      .end();
  };
}

export interface LanguageLink {
  code: Language;
  name: string;
  href: string;
  current: boolean;
}

/** Links to the same page in each language. @param address of a page that GET can load */
export function languageLinks(current: Language, address: string): LanguageLink[] {
  const [path, query] = address.split("?") as [string, string?];
  return Object.entries(LANGUAGES).map(([code, name]) => ({
    code: code as Language,
    name,
    href: `${path}?${new URLSearchParams([...new URLSearchParams(query), [CHOICE, code]])}`,
    current: code === current,
  }));
}
