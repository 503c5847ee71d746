import { Router } from "express";
import type { AuditAction } from "../../domain/audit.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn } from "./visit.ts";

const ON_A_PAGE = 50;

/** Plain words for actions about payments on rails. */
const WORDS: Partial<Record<AuditAction, string>> = {
  "payment.ask": "Asked the rail again about a payment",
  "payment.propose": "Proposed to end a payment by hand",
  "payment.decide": "Ended a payment by hand",
  "payment.close-conflict": "Closed a conflict with a rail",
  "payment.close-unknown": "Closed an expired checkout whose outcome at the rail is unknown",
};

/** Who did what with a merchant, newest first. */
export function auditPage(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/m/:merchant/audit", async (req, res) => {
    const cursor = field(req.query, "cursor");
    const query = { merchantId: merchantIn(res).id, limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) };
    const page = await context.storage.listAudit(query);
    showPage(
      context,
      res,
      { template: "audit", title: "Audit trail", section: "audit" },
      {
        entries: page.items.map((entry) => ({ ...entry, action: WORDS[entry.action] ?? entry.action })),
        next: page.cursor && queryOf({ cursor: page.cursor }),
        isFirst: cursor === "",
      },
    );
  });
  return router;
}
