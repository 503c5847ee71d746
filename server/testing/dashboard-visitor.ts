// Visits to the dashboard in tests, without a browser.
import type { Express } from "express";
import type { Role } from "../domain/roles.ts";
import { createLink } from "../domain/sign-in.ts";
import type { TestServer } from "./server.ts";

export interface Visited {
  status: number;
  headers: Headers;
  html: string;
}

export interface Visitor {
  /** The session's cookie, as a browser would send it. */
  cookie: string;
  /** The token that the forms of the session contain. */
  csrf: string;
  get(path: string): Promise<Visited>;
  /** Sends a form as a browser does, without following a redirect. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Visited>;
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

/** Sends a request to the dashboard; `path` follows `/dashboard`. */
export async function visit(server: Pick<TestServer, "url">, path: string, init: RequestInit = {}): Promise<Visited> {
  const response = await fetch(`${server.url}/dashboard${path}`, { redirect: "manual", ...init });
  return { status: response.status, headers: response.headers, html: await response.text() };
}

/** Sends a form from a page of this origin. */
export function send(server: Pick<TestServer, "url">, path: string, fields: Record<string, string>, headers = {}) {
  const body = new URLSearchParams(fields);
  return visit(server, path, { method: "POST", body, headers: { origin: server.url, ...headers } });
}

/** Signs a person in with a new link. */
export async function signedIn(server: TestServer, person?: Person): Promise<Visitor> {
  const { headers, status, html } = await send(server, "/sign-in", { token: await newLink(server, person) });
  if (status !== 303) throw new Error(`The sign-in returned ${status}: ${html}`);
  const cookie = headers.getSetCookie()[0]!.split(";", 1)[0]!;
  const get = (path: string) => visit(server, path, { headers: { cookie } });
  const place = person?.merchantId === undefined ? "" : `/m/${person.merchantId}/settings`;
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec((await get(place)).html)!;
  return {
    cookie,
    csrf: csrf!,
    get,
    post: (path, fields = {}, more = {}) => send(server, path, { csrf: csrf!, ...fields }, { cookie, ...more }),
  };
}

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

export interface Route {
  method: "GET" | "POST";
  path: string;
}

/** The routes of an Express app, whose routers keep them in `stack`. */
export function routesOf({ router }: Express): Route[] {
  const visitLayer = ({ route, handle }: Layer): Route[] => {
    if (!route) return (handle.stack ?? []).flatMap(visitLayer);
    const methods = (["GET", "POST"] as const).filter((method) => route.methods[method.toLowerCase()]);
    return methods.flatMap((method) => [route.path].flat().map((path) => ({ method, path })));
  };
  return (router as unknown as { stack: Layer[] }).stack.flatMap(visitLayer);
}
