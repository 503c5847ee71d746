import { Router, type RequestHandler } from "express";
import { hasRight, RIGHTS, type Right } from "../../domain/roles.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { actorIn, PageError, visitOf } from "./visit.ts";

const OF_MERCHANT = "/dashboard/m/:merchant";

/** The forms of the dashboard, by the right that they need. A form that is missing here is refused to everybody. */
export const FORMS: Record<Right, readonly string[]> = {
  "replay webhooks": [
    `${OF_MERCHANT}/webhooks/:id/replay`,
    `${OF_MERCHANT}/replays`,
    `${OF_MERCHANT}/replays/:id/stop`,
  ],
  "use the sandbox": [
    `${OF_MERCHANT}/sandbox/disbursements`,
    `${OF_MERCHANT}/sandbox/checkouts`,
    `${OF_MERCHANT}/sandbox/advance`,
    `${OF_MERCHANT}/sandbox/chaos`,
  ],
  "pause a rail": ["/dashboard/rails/:rail/pause", "/dashboard/rails/:rail/resume"],
  "decide about payments": [
    "/dashboard/approvals/:action",
    `${OF_MERCHANT}/approvals/:action`,
    ...["ask", "decide", "close"].map((action) => `${OF_MERCHANT}/payments/:reference/${action}`),
  ],
  "change balances": ["/dashboard/merchants/:merchant/adjust", "/dashboard/balances/:action"],
  "reset the sandbox": [`${OF_MERCHANT}/sandbox/reset`],
  "change settings": [
    `${OF_MERCHANT}/settings/keys`,
    `${OF_MERCHANT}/settings/keys/revoke`,
    `${OF_MERCHANT}/settings/keys/limits`,
    `${OF_MERCHANT}/settings/secret/reveal`,
    `${OF_MERCHANT}/settings/secret/rotate`,
    `${OF_MERCHANT}/settings/default-webhook`,
  ],
  "manage people": ["/dashboard/team", `${OF_MERCHANT}/team`].flatMap((team) =>
    ["links", "end", "end-all"].map((action) => `${team}/${action}`),
  ),
  "manage merchants": [
    "/dashboard/merchants",
    ...["limits", "terms", "rename", "suspend", "reopen", "close"].map(
      (action) => `/dashboard/merchants/:merchant/${action}`,
    ),
  ],
};

/** Refuses forms for which the visitor's role lacks the right, and records the refusal. */
export function requireRights({ storage }: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const judge =
    (right: Right): RequestHandler =>
    async (req, res, next) => {
      if (stateOf(res).right !== undefined) return next();
      stateOf(res).right = right;
      const { role } = visitOf(res).session;
      if (hasRight(role, right)) return next();
      const details = { form: req.path.replace(/^\/dashboard/, ""), right, role };
      await storage.recordAction({
        actor: actorIn(res),
        action: "dashboard.refuse",
        merchantId: stateOf(res).merchant?.id ?? "",
        details,
      });
      const roles = [...RIGHTS[right], "administrator"].join(" or ");
      throw new PageError(
        403,
        `Your role, ${role}, does not permit this. To ${right}, ask somebody with the role ${roles}.`,
      );
    };
  for (const [right, paths] of Object.entries(FORMS)) router.post([...paths], judge(right as Right));
  router.use("/dashboard", (req, res, next) => {
    if (req.method !== "POST" || stateOf(res).right !== undefined) return next();
    throw new PageError(404, "There is no such form.");
  });
  return router;
}
