import { Router } from "express";
import { inWords, keyName } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn, PageError } from "./visit.ts";
import { wordsIn } from "./words.ts";

const ON_A_PAGE = 50;

/** Who did what with a merchant, newest first. */
export function auditPage(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/m/:merchant/audit", async (req, res) => {
    const [cursor, keyId] = [field(req.query, "cursor"), field(req.query, "key")];
    const { id: merchantId } = merchantIn(res);
    const words = wordsIn(res);
    const keys = await context.storage.listKeysOf(merchantId);
    const about = keyName(keys, keyId, words);
    if (keyId !== "" && about === undefined) throw new PageError(404, "There is no API key with this id.");
    const page = await context.storage.listAudit({
      merchantId,
      limit: ON_A_PAGE,
      ...(keyId !== "" && { keyId }),
      ...(cursor !== "" && { cursor }),
    });
    showPage(
      context,
      res,
      { template: "audit", title: "Audit trail", section: "audit" },
      {
        entries: page.items.map((entry) => ({ ...entry, ...inWords(entry, keys, words) })),
        about,
        next: page.cursor && queryOf({ ...(keyId !== "" && { key: keyId }), cursor: page.cursor }),
        isFirst: cursor === "",
      },
    );
  });
  return router;
}
