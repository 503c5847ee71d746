import { createHmac, timingSafeEqual } from "node:crypto";
import type { CookieOptions, Request, RequestHandler, Response } from "express";
import { findSession, useSession } from "../../domain/sign-in.ts";
import { refused } from "../../actions/refused.ts";
import { cookieIn } from "../cookies.ts";
import { createRequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { isByItself } from "./live.ts";
import { field, rootOf, seeOther, visitOf } from "./view.ts";

/** How many forms of a session are accepted per minute: far more than a person sends. */
const FORMS_PER_MINUTE = 120;

type Address = { publicUrl: string };

const isEncrypted = ({ publicUrl }: Address) => publicUrl.startsWith("https:");

/**
 * The session's cookie. No script can read it, and requests that other sites cause do not contain it. With https, its
 * prefix makes browsers refuse a cookie of this name that another host or plain http has set.
 */
const nameOf = (config: Address) => (isEncrypted(config) ? "__Host-dashboard" : "dashboard");
const optionsOf = (config: Address): CookieOptions => ({
  httpOnly: true,
  sameSite: "strict",
  secure: isEncrypted(config),
  path: "/",
});

/**
 * The cookie of a sign-in at an OpenID provider, until the provider leads back to this server. The browser sends this
 * cookie although another site leads here.
 */
const attemptOf = (config: Address) => (isEncrypted(config) ? "__Host-sign-in" : "sign-in");
const ATTEMPT_MS = 15 * 60_000;

export const setAttempt = (config: Address, res: Response, secret: string): void =>
  void res.cookie(attemptOf(config), secret, { ...optionsOf(config), sameSite: "lax", maxAge: ATTEMPT_MS });

export const clearAttempt = (config: Address, res: Response): void =>
  void res.clearCookie(attemptOf(config), { ...optionsOf(config), sameSite: "lax" });

export const findAttempt = (config: Address, req: Request): string | undefined => cookieIn(req, attemptOf(config));

export const setSession = (config: Address, res: Response, token: string): void =>
  void res.cookie(nameOf(config), token, optionsOf(config));

export const clearSession = (config: Address, res: Response): void =>
  void res.clearCookie(nameOf(config), optionsOf(config));

/** Returns a function that tells whether the request's session is still valid. */
export function watchSession(context: DashboardContext, req: Request): () => Promise<boolean> {
  const token = sessionToken(context.config, req)!;
  return async () => (await findSession(context, token)) !== undefined;
}

const sessionToken = (config: Address, req: Request) => cookieIn(req, nameOf(config));

/**
 * Derives the token of a session's forms from its cookie. The token is not stored, and is useless without the cookie.
 */
const formToken = (token: string): string => createHmac("sha256", token).update("form").digest("base64url");

/** Finds the request's session, if it has one, and puts the visit into the state of the request. */
export function findVisit(context: DashboardContext): RequestHandler {
  return async (req, res, next) => {
    const token = sessionToken(context.config, req);
    const find = isByItself(req) ? findSession : useSession;
    const session = token === undefined ? undefined : await find(context, token);
    const state = stateOf(res);
    if (session) state.visit = { session, csrf: formToken(token!) };
    else delete state.visit;
    next();
  };
}

/** Sends visitors without a session to the sign-in page. */
export function requireSession({ config }: DashboardContext): RequestHandler {
  return (_req, res, next) => (stateOf(res).visit ? next() : seeOther(res, `${rootOf(config.publicUrl)}/sign-in`));
}

/** Refuses forms that another site's page has sent. Browsers state the origin of every form that is posted. */
export function requireOwnOrigin({ config }: DashboardContext): RequestHandler {
  const { origin } = new URL(config.publicUrl);
  return (req, _res, next) => {
    if (req.method !== "POST" || req.get("origin") === origin) return next();
    throw refused(403, "error.origin", { address: `${config.publicUrl}/dashboard` });
  };
}

/** Limits the forms of each session, because many of them write to the database. */
export function limitForms(): RequestHandler {
  const limit = createRequestLimit({
    perMinute: FORMS_PER_MINUTE,
    message: `You have sent more than ${FORMS_PER_MINUTE} forms within a minute. Wait a minute, then send this form again.`,
  });
  return async (req, res, next) => {
    if (req.method === "POST") limit.count(visitOf(res).session.id);
    next();
  };
}

/** Refuses forms without the session's token. */
export const requireFormToken: RequestHandler = (req, res, next) => {
  if (req.method !== "POST") return next();
  const expected = Buffer.from(visitOf(res).csrf);
  const given = Buffer.from(field(req.body, "csrf"));
  if (given.length === expected.length && timingSafeEqual(given, expected)) return next();
  throw refused(403, "error.earlierSession");
};
