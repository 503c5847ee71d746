import express, { type RequestHandler, type Router } from "express";
import { refused, Refused } from "../../actions/refused.ts";
import { dashboardRefusal } from "../../config.ts";
import { noteChanges } from "../../domain/changes.ts";
import { arrived } from "../json-body.ts";
import { findLanguage } from "../language.ts";
import { beginOther } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import { approvalPages } from "./approvals.ts";
import { attentionPage } from "./attention.ts";
import { auditPage } from "./audit.ts";
import { balancePages } from "./balances.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { dashboardErrors } from "./errors.ts";
import { dashboardHeaders } from "./layout.ts";
import { liveScript } from "./live.ts";
import { merchantPages } from "./merchants.ts";
import { overviewPage } from "./overview.ts";
import type { Page } from "./page.ts";
import { paymentPages } from "./payments.ts";
import { railsPage } from "./rails.ts";
import { reconciliationPages } from "./reconciliation.ts";
import { replayPages } from "./replays.ts";
import { requestPage } from "./requests.ts";
import { sandboxPage } from "./sandbox.ts";
import { serve } from "./serve.ts";
import { findVisit, limitForms, requireFormToken, requireOwnOrigin, requireSession } from "./sessions.ts";
import { settingsPage } from "./settings.ts";
import { signInPages, signOutPages } from "./sign-in.ts";
import { teamPage } from "./team.ts";
import { visitOf } from "./view.ts";
import { webhookPages } from "./webhooks.ts";

/** All pages, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  overviewPage,
  ...merchantPages,
  ...paymentPages.disbursements,
  ...paymentPages.checkouts,
  ...balancePages,
  ...approvalPages,
  attentionPage,
  railsPage,
  ...reconciliationPages,
  ...webhookPages,
  ...replayPages,
  requestPage,
  sandboxPage,
  settingsPage,
  teamPage,
  auditPage,
];

/**
 * The dashboard: pages for the operators of the service and for its merchants (D63). It works without scripts; with them
 * its pages are live (D66). The pages of one merchant are under `/dashboard/m/MERCHANT_ID`.
 */
export function dashboardPages(context: DashboardContext): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(liveScript());
  router.use("/dashboard", dashboardHeaders, findLanguage(context.config), refuseUnsafe(context));
  router.use("/dashboard", requireOwnOrigin(context));
  router.use("/dashboard", findVisit(context));
  router.use("/dashboard", readForm, arrived, noteWhatIsRecorded);
  router.use(signInPages(context));
  router.use("/dashboard", requireSession(context), limitPages(context));
  // The session may have been ended while the body arrived or the request waited for room.
  router.use("/dashboard", forForms(findVisit(context)), requireSession(context));
  router.use("/dashboard", limitForms(), requireFormToken);
  router.use(signOutPages(context));
  router.use("/dashboard/m/:merchant", findMerchant(context));
  router.use(serve(context, PAGES));
  router.use("/dashboard", dashboardErrors(context));
  return router;
}

const forForms =
  (handle: RequestHandler): RequestHandler =>
  (req, res, next) =>
    req.method === "POST" ? handle(req, res, next) : next();

const readForm = express.urlencoded({ extended: false, limit: 16_384, parameterLimit: 128 });

/** Must run after the body is read, whose events do not belong to the request. */
const noteWhatIsRecorded: RequestHandler = (_req, res, next) => {
  noteChanges((stateOf(res).changes ??= []), next);
};

/** Explains why there is no dashboard, on a server whose address would not protect the session's cookie. */
function refuseUnsafe({ config }: DashboardContext): RequestHandler {
  const refusal = dashboardRefusal(config);
  return (_req, _res, next) => {
    if (refusal === undefined) return next();
    throw new Refused(403, "error.detail", { detail: refusal });
  };
}

/** Waits for room. All operators together count as one merchant. */
function limitPages({ room }: DashboardContext): RequestHandler {
  return async (_req, res, next) => {
    await beginOther(room, visitOf(res).session.merchantId ?? "operators");
    next();
  };
}

/** Finds the merchant in the path. A visitor without access gets 404. */
function findMerchant({ storage }: DashboardContext): RequestHandler {
  return async (req, res, next) => {
    const id = String(req.params.merchant);
    const { merchantId = id } = visitOf(res).session;
    const merchant = merchantId === id ? await storage.findMerchant(id) : undefined;
    if (!merchant) throw refused(404, "error.noMerchant");
    stateOf(res).merchant = merchant;
    next();
  };
}
