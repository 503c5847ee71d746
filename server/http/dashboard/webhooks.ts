import { Router, type Request, type Response } from "express";
import { ServiceError } from "../../domain/errors.ts";
import { EVENT_TYPES } from "../../domain/events.ts";
import { deliveriesOfPayment } from "../../domain/webhooks.ts";
import { sandboxTime } from "../../domain/time.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { attemptMoments, indented, nextAttempt } from "./timeline.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther } from "./visit.ts";
import { HEALTH_OF, healthOf } from "./receivers.ts";
import { wordsIn } from "./words.ts";
import { REASONS, searchOf, typedIn } from "./webhook-filter.ts";

const ON_A_PAGE = 25;
/** The number of failed deliveries before the list of all deliveries. */
const FAILED_FIRST = 10;

/** A merchant's webhooks: the failed ones first, a page for each with its attempts, and their replay. */
export function webhookPages(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const path = "/dashboard/m/:merchant/webhooks";
  router.get(path, (req, res) => showList(context, req, res));
  router.get(`${path}/:id`, (req, res) => showDelivery(context, String(req.params.id), res));
  router.post(`${path}/:id/replay`, (req, res) => replay(context, String(req.params.id), res));
  return router;
}

async function showList({ config, storage }: DashboardContext, req: Request, res: Response): Promise<void> {
  const merchantId = merchantIn(res).id;
  const cursor = field(req.query, "cursor");
  const typed = typedIn(req.query);
  const search = searchOf(typed);
  const isFiltered = Object.values(typed).some((text) => text !== "");
  const isFirst = cursor === "";
  const query = { merchantId, limit: ON_A_PAGE, ...search, ...(!isFirst && { cursor }) };
  const isWhole = isFirst && !isFiltered;
  const [page, failed, pending, receivers] = await Promise.all([
    typed.reference === "" ? storage.listDeliveries(query) : deliveriesOfPayment(storage, query, typed.reference),
    isWhole
      ? storage.listDeliveries({ merchantId, status: "failed", limit: FAILED_FIRST })
      : { items: [], cursor: undefined },
    isWhole ? storage.listDeliveries({ merchantId, status: "pending", limit: 1 }) : undefined,
    isWhole ? healthOf(storage, merchantId, wordsIn(res)) : [],
  ]);
  showPage(
    { config },
    res,
    { template: "webhooks", title: "Webhooks", section: "webhooks", query: queryOf(typed) },
    {
      // Links of earlier days, and of replays, may have a status that says why a webhook failed.
      statuses: [...new Set(["pending", "delivered", "failed", ...(typed.status === "" ? [] : [typed.status])])],
      types: EVENT_TYPES,
      typed,
      isFiltered,
      isFirst,
      receivers,
      // Also none that is due, and so no longer waits for a retry.
      isAllSent: pending?.items.length === 0,
      newest: HEALTH_OF,
      failed: failed.items,
      moreFailed: failed.cursor !== undefined,
      deliveries: page.items,
      searchedTo: page.searchedTo,
      // One webhook is replayed on its own page.
      mayReplay: isFiltered && typed.reference === "",
      query: queryOf(typed),
      next: page.cursor && queryOf({ ...typed, cursor: page.cursor }),
    },
  );
}

async function showDelivery(context: DashboardContext, id: string, res: Response): Promise<void> {
  const { storage, clock } = context;
  const merchant = merchantIn(res);
  const delivery = await storage.findDelivery(merchant.id, id);
  if (!delivery) throw new PageError(404, "There is no webhook with this id.");
  const { nextAttemptAt } = delivery;
  const words = wordsIn(res);
  const timeline = [...attemptMoments(delivery, words), ...nextAttempt(delivery, words)];
  // After a replay the page shows the attempt as soon as it has been made.
  const isDue = nextAttemptAt !== undefined && nextAttemptAt <= sandboxTime(merchant, clock.now());
  const kind = delivery.reference.startsWith("CHK") ? "checkouts" : "disbursements";
  const shown = { template: "webhook", title: "Webhook", section: "webhooks" } as const;
  const page = { ...shown, about: delivery.type, reloads: isDue };
  showPage(context, res, page, {
    delivery,
    timeline,
    body: indented(delivery.body),
    kind,
    isDue,
    reason: REASONS[delivery.status],
  });
}

/** Makes the delivery due; a server attempts it a moment later. The page does not wait for a slow receiver. */
async function replay({ config, storage }: DashboardContext, id: string, res: Response): Promise<void> {
  const merchant = merchantIn(res);
  const result = await storage.requestReplay(merchant.id, id, actorIn(res));
  if (result === "unknown") throw new PageError(404, "There is no webhook with this id.");
  if (result === "claimed") {
    throw new ServiceError("delivery_in_progress", "An attempt is in progress. Replay the webhook when it has ended.");
  }
  seeOther(res, `${rootOf(config.publicUrl)}/m/${merchant.id}/webhooks/${id}`);
}
