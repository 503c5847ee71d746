import { Router } from "express";
import { inWords, keyName } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn, PageError, requireOperator, rootOf } from "./visit.ts";
import { wordsIn } from "./words.ts";

const ON_A_PAGE = 50;

/** Who did what, newest first: with a merchant or, for operators, with all. */
export function auditPages(context: DashboardContext): Router {
  const { config, storage } = context;
  const root = rootOf(config.publicUrl);
  const router = Router({ caseSensitive: true, strict: true });
  const page = { template: "audit", title: "Audit trail", section: "audit" } as const;
  router.get("/dashboard/m/:merchant/audit", async (req, res) => {
    const [cursor, keyId] = [field(req.query, "cursor"), field(req.query, "key")];
    const { id: merchantId } = merchantIn(res);
    const words = wordsIn(res);
    const keys = await storage.listKeysOf(merchantId);
    const about = keyName(keys, keyId, words);
    if (keyId !== "" && about === undefined) throw new PageError(404, "There is no API key with this id.");
    const found = await storage.listAudit({
      merchantId,
      limit: ON_A_PAGE,
      ...(keyId !== "" && { keyId }),
      ...(cursor !== "" && { cursor }),
    });
    showPage(context, res, page, {
      entries: found.items.map((entry) => ({ ...entry, ...inWords(entry, keys, words) })),
      about,
      next: found.cursor && queryOf({ ...(keyId !== "" && { key: keyId }), cursor: found.cursor }),
      isFirst: cursor === "",
    });
  });
  router.get("/dashboard/audit", requireOperator, async (req, res) => {
    const cursor = field(req.query, "cursor");
    const found = await storage.listAudit({ limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) });
    const ids = [...new Set(found.items.map(({ merchantId }) => merchantId))].filter((id) => id !== "");
    const [merchants, keys] = await Promise.all([
      Promise.all(ids.map((id) => storage.findMerchant(id))),
      Promise.all(ids.map((id) => storage.listKeysOf(id))),
    ]);
    const names = new Map(merchants.map((merchant) => [merchant?.id, merchant?.name]));
    const words = wordsIn(res);
    showPage(context, res, page, {
      entries: found.items.map((entry) => ({
        ...entry,
        ...inWords(entry, keys.flat(), words),
        of: names.get(entry.merchantId),
        area: `${root}/m/${entry.merchantId}`,
      })),
      next: found.cursor && queryOf({ cursor: found.cursor }),
      isFirst: cursor === "",
    });
  });
  return router;
}
