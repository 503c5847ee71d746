import { Router, type Response } from "express";
import { refused, Refused } from "../../actions/refused.ts";
import { LINK_MS, newToken, signIn, signInFrom } from "../../domain/sign-in.ts";
import { createOpenIdProvider, OpenIdError } from "../../openid/provider.ts";
import type { OpenIdSettings } from "../../openid/settings.ts";
import { callerAt, createRequestLimit, type RequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { markup } from "./html.ts";
import { send, type Frame } from "./layout.ts";
import { card, link, pre, soft } from "./parts.ts";
import { clearAttempt, clearSession, findAttempt, setAttempt, setSession } from "./sessions.ts";
import { actorIn, field, queryOf, rootOf, seeOther, visitOf } from "./view.ts";
import { wordsIn } from "./words.ts";

/** Attempts to sign in that fail, per client address and minute; more get 429. */
const FAILED_PER_MINUTE = 30;
/** The path after PUBLIC_URL of the address to which an OpenID provider sends people back. */
const RETURN = "/dashboard/sign-in/openid/return";

/**
 * Signing in, for visitors without a session.
 *
 * GET  /dashboard/sign-in?token=…  a page with a button; the link is not used up yet, since programs that preview links
 *                                  open them too
 * POST /dashboard/sign-in          uses up the link, begins a session and shows the dashboard
 */
export function signInPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);
  const failed = createRequestLimit({
    perMinute: FAILED_PER_MINUTE,
    message: "Too many sign-ins from this address failed. Wait a minute, then try again.",
  });

  /** @param token of a link that was opened; @param isUsed true if the link signs nobody in */
  function show(res: Response, frame: Partial<Frame>, token: string, isUsed = false): void {
    const { t } = wordsIn(res);
    const provider = config.openId?.issuer.host;
    const needed = provider
      ? [
          markup`<p>${link(`${root}/sign-in/openid`, t("signInWith", { provider }), "button primary")}</p>`,
          t("orUseALink"),
        ]
      : ["", t("needALink")];
    const content =
      token === ""
        ? markup`${isUsed && markup`<p class="alert" role="alert">${t("linkWasUsed")}</p>`}${needed[0]}<p>${needed[1]}</p>
${pre("npx --no -- disbursement-checkout keys dashboard-link")}${soft(t("linkWorksOnce", { minutes: LINK_MS / 60_000 }))}`
        : markup`<p>${t("linkSignsIn")}</p><form method="post" action="${root}/sign-in">
<input type="hidden" name="token" value="${token}"><button class="primary">${t("signIn")}</button></form>`;
    send(
      context,
      res,
      { title: t("signIn"), ...frame },
      card([markup`<h1>${t("signIn")}</h1>`, content], { class: "narrow" }),
    );
  }

  if (config.openId) router.use(openIdPages(context, config.openId, failed));
  router.get("/dashboard/sign-in", (req, res) => {
    const token = field(req.query, "token");
    show(res, { shownAt: queryOf({ token }) }, token);
  });
  router.post("/dashboard/sign-in", async (req, res) => {
    const token = await signIn(context, field(req.body, "token"));
    if (token === undefined) {
      // Only failed attempts count: links cannot be guessed, and an attacker must not lock out others at the same
      // address.
      failed.count(callerAt(req.ip));
      return show(res, { status: 403 }, "", true);
    }
    // The browser's earlier session ends; its cookie is replaced in any case.
    setSession(config, res, token);
    if (stateOf(res).visit) await storage.endSessions(visitOf(res).session, actorIn(res));
    seeOther(res, root);
  });
  return router;
}

/** Signing out, for visitors with a session. */
export function signOutPages({ config, storage }: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.post("/dashboard/sign-out", async (req, res) => {
    const { id, name, merchantId } = visitOf(res).session;
    const which = field(req.body, "everywhere") === "yes" ? { name } : { id };
    await storage.endSessions({ ...(merchantId !== undefined && { merchantId }), ...which }, actorIn(res));
    clearSession(config, res);
    seeOther(res, `${rootOf(config.publicUrl)}/sign-in`);
  });
  return router;
}

/**
 * Signing in at an OpenID provider, for visitors without a session.
 *
 * GET /dashboard/sign-in/openid         leads to the provider
 * GET /dashboard/sign-in/openid/return  where the provider leads back to: begins a session and shows the dashboard
 *
 * @param failed counts attempts that fail, by client address
 */
function openIdPages(context: DashboardContext, settings: OpenIdSettings, failed: RequestLimit): Router {
  const { config, storage, log } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const provider = createOpenIdProvider(settings, `${config.publicUrl}${RETURN}`);

  router.get("/dashboard/sign-in/openid", async (_req, res) => {
    const secret = newToken(context.random);
    const address = await provider.begin(secret).catch(refuse);
    setAttempt(config, res, secret);
    seeOther(res, address);
  });
  router.get(RETURN, async (req, res) => {
    failed.check(callerAt(req.ip));
    const secret = findAttempt(config, req);
    clearAttempt(config, res);
    try {
      if (secret === undefined) throw refused(403, "error.notBegun");
      const access = await provider.end(secret, new URL(req.originalUrl, config.publicUrl).searchParams.toString());
      if (access.merchantId !== undefined && !(await storage.findMerchant(access.merchantId)))
        throw new OpenIdError("Your merchant does not exist here.", { cause: `no merchant ${access.merchantId}` });
      setSession(config, res, await signInFrom(context, settings.issuer.href, access));
    } catch (error) {
      failed.count(callerAt(req.ip));
      refuse(error);
    }
    // A redirect would still belong to the provider's page, and browsers would not send the session's cookie.
    const { t } = wordsIn(res);
    const continueTo = rootOf(config.publicUrl);
    const onward = markup`<h1>${t("signedIn")}</h1><p>${link(continueTo, t("continueToDashboard"))}</p>`;
    send(context, res, { title: t("signedIn"), continueTo }, card(onward, { class: "narrow" }));
  });

  function refuse(error: unknown): never {
    if (!(error instanceof OpenIdError)) throw error;
    log.warn({ reason: error.cause }, "a sign-in at the OpenID provider failed");
    throw new Refused(403, "error.detail", { detail: error.message });
  }
  return router;
}
