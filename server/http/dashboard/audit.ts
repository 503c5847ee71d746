import { Router } from "express";
import { inWords } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn } from "./visit.ts";
import { wordsIn } from "./words.ts";

const ON_A_PAGE = 50;

/** Who did what with a merchant, newest first. */
export function auditPage(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/m/:merchant/audit", async (req, res) => {
    const cursor = field(req.query, "cursor");
    const query = { merchantId: merchantIn(res).id, limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) };
    const page = await context.storage.listAudit(query);
    const keys = await context.storage.listKeysOf(query.merchantId);
    const words = wordsIn(res);
    showPage(
      context,
      res,
      { template: "audit", title: "Audit trail", section: "audit" },
      {
        entries: page.items.map((entry) => ({ ...entry, ...inWords(entry, keys, words) })),
        next: page.cursor && queryOf({ cursor: page.cursor }),
        isFirst: cursor === "",
      },
    );
  });
  return router;
}
