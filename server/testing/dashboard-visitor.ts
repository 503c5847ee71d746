// Visits to the dashboard in tests, without a browser.
import type { Express } from "express";
import { createLink, type Role } from "../domain/sign-in.ts";
import type { TestServer } from "./server.ts";

export interface Visited {
  status: number;
  headers: Headers;
  html: string;
  /** The path that the response leads to, after `/dashboard`. */
  to: string | undefined;
  /** The cookie that the response sets, as a browser would send it. */
  cookie: string;
  /** What people read, with single spaces. */
  text: string;
  /** What the cells of each row of the tables say. */
  rows: string[][];
  /** The path of the first link whose text begins with this. */
  link(text: string): string;
  /** The hidden fields of the first form that is sent to a path with this end. */
  hidden(end: string): Record<string, string>;
}

/** The fields of a form. */
type Fields = Record<string, string> | URLSearchParams;

export interface Visitor {
  /** The session's cookie, as a browser would send it. */
  cookie: string;
  /** The token that the forms of the session contain. */
  csrf: string;
  get(path: string, headers?: Record<string, string>): Promise<Visited>;
  /** Sends a form as a browser does, without following a redirect. */
  post(path: string, fields?: Fields, headers?: Record<string, string>): Promise<Visited>;
}

interface Person {
  /** Makes the visitor a merchant's; otherwise an operator. */
  merchantId?: string;
  name?: string;
  /** The default is administrator. */
  role?: Role;
}

export const newLink = (
  { merchants, storage }: TestServer,
  { name = "Ada", role = "administrator", ...person }: Person = {},
) => createLink({ ...merchants, storage }, { ...person, name, role }, "command ada@host");

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
const decoded = (html: string) => html.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]!);

/** What people read in a part of a page. */
const textOf = (html: string): string =>
  decoded(
    html
      .replaceAll(/<(head|style)\b[^]*?<\/\1>/g, "")
      .replaceAll(/<\/?(bdi|strong|code|time)\b[^>]*>/g, "")
      .replaceAll(/<[^>]+>/g, " "),
  )
    .replaceAll(/\s+/g, " ")
    .trim();

const groups = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, ...found]) => found as string[]);

async function read(response: Response): Promise<Visited> {
  const { status, headers, url } = response;
  const html = await response.text();
  const pathOf = (href: string) => {
    const { origin, pathname, search } = new URL(decoded(href), url);
    return origin === new URL(url).origin && pathname.startsWith("/dashboard")
      ? pathname.slice("/dashboard".length) + search
      : href;
  };
  const location = headers.get("location");
  return {
    status,
    headers,
    html,
    to: location === null ? undefined : pathOf(location),
    cookie: (headers.getSetCookie()[0] ?? "").split(";", 1)[0]!,
    text: textOf(html),
    rows: groups(html, /<tr\b[^>]*>([^]*?)<\/tr>/g)
      .filter(([row]) => row!.includes("<td"))
      .map(([row]) => groups(row!, /<t[dh]\b[^>]*>([^]*?)<\/t[dh]>/g).map(([cell]) => textOf(cell!))),
    link(text) {
      const links = groups(html, /<a [^>]*?href="([^"]*)"[^>]*>([^]*?)<\/a>/g);
      const found = links.find(([, content]) => textOf(content!).startsWith(text));
      if (!found) throw new Error(`There is no link ${text}: ${textOf(html)}`);
      return pathOf(found[0]!);
    },
    hidden(end) {
      const forms = groups(html, /<form\b[^>]*? action="([^"]*)"[^>]*>([^]*?)<\/form>/g);
      const form = forms.find(([action]) => action!.endsWith(end));
      if (!form) throw new Error(`There is no form for ${end}: ${textOf(html)}`);
      const inputs = groups(form[1]!, /<input type="hidden" name="(\w+)" value="([^"]*)"/g);
      const fields = inputs.filter(([name]) => name !== "csrf").map(([name, value]) => [name, decoded(value!)]);
      return Object.fromEntries(fields) as Record<string, string>;
    },
  };
}

type Served = Pick<TestServer, "url">;

/** Sends a request to the dashboard; `path` follows `/dashboard`. */
export const visit = async (server: Served, path: string, init: RequestInit = {}): Promise<Visited> =>
  read(await fetch(`${server.url}/dashboard${path}`, { redirect: "manual", ...init }));

/** Sends a form from a page of this origin. */
export function send(server: Served, path: string, fields: Fields, headers = {}) {
  const body = new URLSearchParams(fields);
  return visit(server, path, { method: "POST", body, headers: { origin: server.url, ...headers } });
}

/** Signs in with a link's token. */
export async function enter(server: Served, token: string): Promise<Visitor> {
  const { cookie, status, text } = await send(server, "/sign-in", { token });
  if (status !== 303) throw new Error(`The sign-in returned ${status}: ${text}`);
  const get: Visitor["get"] = (path, more = {}) => visit(server, path, { headers: { cookie, ...more } });
  const first = await get("");
  const { html } = first.to === undefined ? first : await get(first.to);
  const [, csrf = ""] = /name="csrf" value="([^"]+)"/.exec(html)!;
  return {
    cookie,
    csrf,
    get,
    post(path, fields = {}, more = {}) {
      const form = new URLSearchParams(fields);
      if (!form.has("csrf")) form.set("csrf", csrf);
      return send(server, path, form, { cookie, ...more });
    },
  };
}

/** Signs a person in with a new link. */
export const signedIn = async (server: TestServer, person?: Person): Promise<Visitor> =>
  enter(server, await newLink(server, person));

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

/** The paths of the dashboard's routes after `/dashboard`. An Express app and its routers keep their routes in `stack`. */
export function routesOf({ router }: Express, method: "get" | "post"): string[] {
  const pathsOf = ({ route, handle }: Layer): string[] =>
    route ? (route.methods[method] ? [route.path].flat() : []) : (handle.stack ?? []).flatMap(pathsOf);
  const all = (router as unknown as { stack: Layer[] }).stack.flatMap(pathsOf);
  const prefix = "/dashboard";
  return [...new Set(all.flatMap((path) => (path.startsWith(prefix) ? [path.slice(prefix.length)] : [])))];
}
