import { createHmac, timingSafeEqual } from "node:crypto";
import { Router, type CookieOptions, type Request, type RequestHandler, type Response } from "express";
import { refused, typed } from "../../actions/action.ts";
import { hashKey } from "../../domain/keys.ts";
import { LINK_MS, newToken, signIn, signInFrom } from "../../domain/sign-in.ts";
import { createOpenIdProvider, OpenIdError } from "../../openid/provider.ts";
import type { Label } from "../../texts/index.ts";
import { callerAt, createRequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import { card, link, markup, pre, soft, type Part } from "./html.ts";
import { send } from "./layout.ts";
import { actorIn, isByItself, rootOf, seeOther, visitOf, wordsIn, type DashboardContext } from "./view.ts";

/** How many forms of a session are accepted per minute: far more than a person sends. */
const FORMS_PER_MINUTE = 120;

/** The value of a cookie that the browser has sent. */
function cookieIn(req: Request, name: string): string | undefined {
  const start = `${name}=`;
  const cookies = (req.headers.cookie ?? "").split(";").map((text) => text.trim());
  return cookies.find((text) => text.startsWith(start))?.slice(start.length);
}

/**
 * The cookies of the dashboard. No script can read them. With https, their prefix makes browsers refuse a cookie of this name
 * that another host or plain http has set.
 */
function cookiesOf({ publicUrl }: { publicUrl: string }) {
  const secure = publicUrl.startsWith("https:");
  const cookie = (name: string, sameSite: "strict" | "lax") => {
    const options: CookieOptions = { httpOnly: true, sameSite, secure, path: "/" };
    return { name: secure ? `__Host-${name}` : name, options };
  };
  return {
    /** Requests that other sites cause do not contain it. */
    session: cookie("dashboard", "strict"),
    /** Of a sign-in at an OpenID provider, until it leads back here. Browsers send it although another site leads here. */
    attempt: cookie("sign-in", "lax"),
  };
}
const ATTEMPT_MS = 15 * 60_000;

/**
 * Derives the token of a session's forms from its cookie. The token is not stored, and is useless without the cookie.
 */
const formToken = (token: string): string => createHmac("sha256", token).update("form").digest("base64url");

/** Finds the request's session, if it has one, and puts the visit into the state of the request. */
export function findVisit({ config, storage }: DashboardContext): RequestHandler {
  const { name } = cookiesOf(config).session;
  return async (req, res, next) => {
    const token = cookieIn(req, name);
    const session = token && (await storage.useSession(hashKey(token), !isByItself(req)));
    const state = stateOf(res);
    if (session) state.visit = { session, csrf: formToken(token) };
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

/** Limits the forms of each session, because many of them write to the database, and refuses forms without its token. */
export function guardForms(): RequestHandler {
  const limit = createRequestLimit({
    perMinute: FORMS_PER_MINUTE,
    message: `You have sent more than ${FORMS_PER_MINUTE} forms within a minute. Wait a minute, then send this form again.`,
  });
  return (req, res, next) => {
    if (req.method !== "POST") return next();
    const { session, csrf } = visitOf(res);
    limit.count(session.id);
    const [expected, given] = [Buffer.from(csrf), Buffer.from(typed(req.body, "csrf"))];
    if (given.length === expected.length && timingSafeEqual(given, expected)) return next();
    throw refused(403, "error.earlierSession");
  };
}

/** Attempts to sign in that fail, per client address and minute; more get 429. */
const FAILED_PER_MINUTE = 30;
/** The path after PUBLIC_URL of the address to which an OpenID provider sends people back. */
const RETURN = "/dashboard/sign-in/openid/return";

/**
 * Signing in, for visitors without a session.
 *
 * GET  /dashboard/sign-in?token=…        a page with a button; the link is not used up yet, since programs that preview
 *                                        links open them too
 * POST /dashboard/sign-in                uses up the link, begins a session and shows the dashboard
 * GET  /dashboard/sign-in/openid         leads to the OpenID provider, if there is one
 * GET  /dashboard/sign-in/openid/return  where the provider leads back to: begins a session and shows the dashboard
 */
export function signInPages(context: DashboardContext): Router {
  const { config, storage, log } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);
  const { session, attempt } = cookiesOf(config);
  const failed = createRequestLimit({
    perMinute: FAILED_PER_MINUTE,
    message: "Too many sign-ins from this address failed. Wait a minute, then try again.",
  });
  const show = (res: Response, id: Label, content: Part, continueTo?: string) => {
    const title = wordsIn(res).t(id);
    send(context, res, { title, continueTo }, card([markup`<h1>${title}</h1>`, content], { class: "narrow" }));
  };
  /** The page for a visitor without a link. */
  function showWays(res: Response, alert?: Part): void {
    const { t } = wordsIn(res);
    const provider = config.openId?.issuer.host;
    const content = [
      alert && markup`<p class="alert" role="alert">${alert}</p>`,
      provider && markup`<p>${link(`${root}/sign-in/openid`, t("signInWith", { provider }), "button primary")}</p>`,
      markup`<p>${t("aLinkSignsIn")}</p>`,
      pre("npx --no -- disbursement-checkout keys dashboard-link"),
      soft(t("linkWorksOnce", { minutes: LINK_MS / 60_000 })),
    ];
    show(res, "dashboard.sign-in", content);
  }

  router.get("/dashboard/sign-in", (req, res) => {
    const { t } = wordsIn(res);
    const token = typed(req.query, "token");
    if (token === "") return showWays(res);
    const content = markup`<p>${t("linkSignsIn")}</p><form method="post" action="${root}/sign-in">
<input type="hidden" name="token" value="${token}"><button class="primary">${t("dashboard.sign-in")}</button></form>`;
    show(res, "dashboard.sign-in", content);
  });
  router.post("/dashboard/sign-in", async (req, res) => {
    const token = await signIn(context, typed(req.body, "token"));
    if (token === undefined) {
      // Only failed attempts count: links cannot be guessed, and an attacker must not lock out others at the same
      // address.
      failed.count(callerAt(req.ip));
      return showWays(res.status(403), wordsIn(res).t("linkWasUsed"));
    }
    // The browser's earlier session ends; its cookie is replaced in any case.
    res.cookie(session.name, token, session.options);
    if (stateOf(res).visit) await storage.endSessions(visitOf(res).session, actorIn(res));
    seeOther(res, root);
  });
  if (!config.openId) return router;

  const provider = createOpenIdProvider(config.openId, `${config.publicUrl}${RETURN}`);
  const issuer = config.openId.issuer.href;
  function refuse(error: unknown): never {
    if (!(error instanceof OpenIdError)) throw error;
    log.warn({ reason: error.cause }, "a sign-in at the OpenID provider failed");
    throw refused(403, "error.detail", { detail: error.message });
  }
  router.get("/dashboard/sign-in/openid", async (_req, res) => {
    const secret = newToken(context.random);
    const address = await provider.begin(secret).catch(refuse);
    res.cookie(attempt.name, secret, { ...attempt.options, maxAge: ATTEMPT_MS });
    seeOther(res, address);
  });
  router.get(RETURN, async (req, res) => {
    failed.check(callerAt(req.ip));
    const secret = cookieIn(req, attempt.name);
    res.clearCookie(attempt.name, attempt.options);
    try {
      if (secret === undefined) throw refused(403, "error.notBegun");
      const person = await provider.end(secret, new URL(req.originalUrl, config.publicUrl).searchParams.toString());
      if (person.merchantId !== undefined && !(await storage.findMerchant(person.merchantId)))
        throw new OpenIdError("Your merchant does not exist here.", { cause: `no merchant ${person.merchantId}` });
      res.cookie(session.name, await signInFrom(context, issuer, person), session.options);
    } catch (error) {
      failed.count(callerAt(req.ip));
      refuse(error);
    }
    // A redirect would still belong to the provider's page, and browsers would not send the session's cookie.
    const onward = markup`<p>${link(root, wordsIn(res).t("toTheDashboard"))}</p>`;
    show(res, "signedIn", onward, root);
  });
  return router;
}

/** Signing out, for visitors with a session. */
export function signOutPages({ config, storage }: DashboardContext): Router {
  const cookie = cookiesOf(config).session;
  const router = Router({ caseSensitive: true, strict: true });
  router.post("/dashboard/sign-out", async (req, res) => {
    const { id, name, merchantId } = visitOf(res).session;
    const which = typed(req.body, "everywhere") === "yes" ? { name } : { id };
    await storage.endSessions({ ...(merchantId !== undefined && { merchantId }), ...which }, actorIn(res));
    res.clearCookie(cookie.name, cookie.options);
    seeOther(res, `${rootOf(config.publicUrl)}/sign-in`);
  });
  return router;
}
