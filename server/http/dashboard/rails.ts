import { Router } from "express";
import { checkedReason, readRailStates } from "../../domain/attention.ts";
import type { Rails } from "../../domain/rails.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, PageError, requireOperator, rootOf, seeOther } from "./visit.ts";

/** The rails that carry payments, for operators: what waits at each, and whether it is paused. */
export function railPages(context: DashboardContext, { names }: Rails): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const page = `${rootOf(config.publicUrl)}/rails`;

  router.use("/dashboard/rails", requireOperator);
  router.get("/dashboard/rails", async (_req, res) => {
    const rails = await readRailStates(storage, names);
    showPage(context, res, { template: "rails", title: "Rails", section: "rails" }, { rails, page });
  });
  router.post("/dashboard/rails/:rail/pause", async (req, res) => {
    const name = String(req.params.rail);
    if (!names.includes(name)) throw new PageError(404, "There is no such rail.");
    if (!(await storage.pauseRail(name, checkedReason(field(req.body, "reason")), actorIn(res))))
      throw new PageError(409, "The rail is paused already.");
    seeOther(res, page);
  });
  router.post("/dashboard/rails/:rail/resume", async (req, res) => {
    if (!(await storage.resumeRail(String(req.params.rail), actorIn(res))))
      throw new PageError(409, "The rail is not paused.");
    seeOther(res, page);
  });
  return router;
}
