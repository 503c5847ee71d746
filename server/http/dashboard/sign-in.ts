import { Router } from "express";
import { LINK_MS, signIn } from "../../domain/dashboard.ts";
import type { DashboardContext } from "./context.ts";
import { showPage } from "./render.ts";
import { clearSession, setSession } from "./sessions.ts";
import { field, rootOf, seeOther, visitOf } from "./visit.ts";

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
  const page = { template: "sign-in", title: "Sign in" };
  const minutes = LINK_MS / 60_000;

  router.get("/dashboard/sign-in", (req, res) => {
    showPage(context, res, page, { token: field(req.query, "token"), used: false, minutes });
  });
  router.post("/dashboard/sign-in", async (req, res) => {
    const token = await signIn(context, field(req.body, "token"));
    if (token === undefined) {
      return showPage(context, res, { ...page, status: 403 }, { token: "", used: true, minutes });
    }
    // The browser's earlier session ends; its cookie is replaced in any case.
    if (res.locals.visit) await storage.signOut(visitOf(res).session, { everywhere: false });
    setSession(config, res, token);
    seeOther(res, rootOf(config.publicUrl));
  });
  return router;
}

/** Signing out, for visitors with a session. */
export function signOutPages({ config, storage }: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.post("/dashboard/sign-out", async (req, res) => {
    await storage.signOut(visitOf(res).session, { everywhere: field(req.body, "everywhere") === "yes" });
    clearSession(config, res);
    seeOther(res, `${rootOf(config.publicUrl)}/sign-in`);
  });
  return router;
}
