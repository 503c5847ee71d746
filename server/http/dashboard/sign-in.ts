import { Router } from "express";
import { LINK_MS, signIn } from "../../domain/sign-in.ts";
import { callerAt, createRequestLimit } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { openIdPages } from "./openid.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { clearSession, setSession } from "./sessions.ts";
import { actorIn, field, rootOf, seeOther, visitOf } from "./visit.ts";

/** Attempts to sign in that fail, per client address and minute; more get 429. */
const FAILED_PER_MINUTE = 30;

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
  const page = { template: "sign-in", title: "Sign in" } as const;
  const common = { minutes: LINK_MS / 60_000, provider: config.openId?.issuer.host };
  const failed = createRequestLimit({
    perMinute: FAILED_PER_MINUTE,
    message: "Too many sign-ins from this address failed. Wait a minute, then try again.",
  });

  if (config.openId) router.use(openIdPages(context, config.openId, failed));
  router.get("/dashboard/sign-in", (req, res) => {
    const token = field(req.query, "token");
    showPage(context, res, { ...page, query: queryOf({ token }) }, { token, used: false, ...common });
  });
  router.post("/dashboard/sign-in", async (req, res) => {
    const token = await signIn(context, field(req.body, "token"));
    if (token === undefined) {
      // Only failed attempts count: links cannot be guessed, and an attacker must not lock out others at the same
      // address.
      failed.count(callerAt(req.ip));
      return showPage(context, res, { ...page, status: 403 }, { token: "", used: true, ...common });
    }
    // The browser's earlier session ends; its cookie is replaced in any case.
    setSession(config, res, token);
    if (stateOf(res).visit) await storage.endSessions(visitOf(res).session, actorIn(res));
    seeOther(res, rootOf(config.publicUrl));
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
