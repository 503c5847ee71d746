import { Router } from "express";
import { createMerchant } from "../../domain/merchants.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, requireOperator, rootOf, seeOther, visitOf } from "./visit.ts";

/** The first page: for an operator the list of merchants, for a merchant the payments. */
export function merchantPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const root = rootOf(config.publicUrl);

  router.get("/dashboard", async (_req, res) => {
    const { merchantId } = visitOf(res).session;
    if (merchantId !== undefined) return seeOther(res, `${root}/m/${merchantId}/disbursements`);
    const page = { template: "merchants", title: "Merchants", section: "merchants" } as const;
    showPage(context, res, page, { merchants: await storage.listMerchants() });
  });
  router.post("/dashboard/merchants", requireOperator, async (req, res) => {
    const { id } = await createMerchant({ ...context, actor: actorIn(res) }, field(req.body, "name"));
    seeOther(res, `${root}/m/${id}/settings`);
  });
  return router;
}
