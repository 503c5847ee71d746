import express, { type RequestHandler, type Router } from "express";
import { dashboardRefusal } from "../../config.ts";
import { noteChanges } from "../../domain/changes.ts";
import { ServiceError } from "../../domain/errors.ts";
import { arrived } from "../json-body.ts";
import { findLanguage } from "../language.ts";
import { beginOther } from "../request-limit.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { dashboardErrors } from "./dashboard-errors.ts";
import { approvalPages } from "./approvals.ts";
import { attentionPages } from "./attention.ts";
import { auditPages } from "./audit.ts";
import { balancePages } from "./balances.ts";
import { liveScript } from "./live.ts";
import { merchantPages } from "./merchants.ts";
import { overviewPages } from "./overview.ts";
import { paymentPages } from "./payments.ts";
import { railPages } from "./rails.ts";
import { reconciliationPages } from "./reconciliation.ts";
import { replayPages } from "./replays.ts";
import { requireRights } from "./rights.ts";
import { requestPages } from "./requests.ts";
import { sandboxPages } from "./sandbox.ts";
import { settingsPages } from "./settings.ts";
import { teamPages } from "./team.ts";
import { webhookPages } from "./webhooks.ts";
import { dashboardHeaders } from "./show-page.ts";
import { findVisit, limitForms, requireFormToken, requireOwnOrigin, requireSession } from "./sessions.ts";
import { signInPages, signOutPages } from "./sign-in.ts";
import { PageError, visitOf } from "./visit.ts";

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
  router.use("/dashboard", requireSession(context), limitPages(context), limitForms(), requireFormToken);
  router.use(signOutPages(context));
  router.use("/dashboard/m/:merchant", findMerchant(context));
  router.use(requireRights(context));
  router.use(merchantPages(context));
  router.use(teamPages(context));
  router.use(overviewPages(context));
  router.use(paymentPages(context));
  router.use(approvalPages(context));
  router.use(webhookPages(context));
  router.use(replayPages(context));
  if (context.config.requestLog) router.use(requestPages(context));
  if (context.config.sandbox) router.use(sandboxPages(context));
  if (context.rails) {
    router.use(attentionPages(context), railPages(context, context.rails));
    router.use(reconciliationPages(context, context.rails));
  }
  router.use(settingsPages(context));
  router.use(balancePages(context), auditPages(context));
  router.use("/dashboard", () => {
    throw new PageError(404, "There is no such page.");
  });
  router.use("/dashboard", dashboardErrors(context));
  return router;
}

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
    throw new PageError(403, refusal);
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
    if (!merchant) throw new ServiceError("not_found", "There is no such merchant.");
    stateOf(res).merchant = merchant;
    next();
  };
}
