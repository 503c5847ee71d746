import { Router, type Request, type Response } from "express";
import { ServiceError } from "../../domain/errors.ts";
import type { DeliveryFilter } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import type { DashboardContext } from "./context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./render.ts";
import { attemptMoment, nextAttempt } from "./timeline.ts";
import { actorIn, field, merchantIn, PageError, rootOf, seeOther } from "./visit.ts";

/** The statuses to filter by, with what they mean to people. */
const STATUSES: Readonly<Record<DeliveryFilter, string>> = {
  failed: "failed for good",
  pending: "pending",
  delivered: "delivered",
  ended: "refused by the receiver",
  exhausted: "given up after all attempts",
};
const ON_A_PAGE = 25;
/** How many failed deliveries stand before the list of all. */
const FAILED_FIRST = 10;
/** How often a page reloads while an attempt is due or in progress. */
const RELOAD_SECONDS = "2";

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
  const [status, reference, cursor] = ["status", "reference", "cursor"].map((name) => field(req.query, name));
  if (status !== "" && !Object.hasOwn(STATUSES, status!)) throw new PageError(422, "There is no such status.");
  const merchantId = merchantIn(res).id;
  const typed = { status: status!, reference: reference! };
  const isFiltered = status !== "" || reference !== "";
  const page = await storage.listDeliveries({
    merchantId,
    limit: ON_A_PAGE,
    ...(status !== "" && { status: status as DeliveryFilter }),
    ...(reference !== "" && { reference: reference! }),
    ...(cursor !== "" && { cursor: cursor! }),
  });
  const isFirst = cursor === "";
  const failed =
    isFirst && !isFiltered
      ? await storage.listDeliveries({ merchantId, status: "failed", limit: FAILED_FIRST })
      : undefined;
  showPage(
    { config },
    res,
    { template: "webhooks", title: "Webhooks", section: "webhooks" },
    {
      statuses: STATUSES,
      typed,
      isFiltered,
      isFirst,
      failed: failed?.items ?? [],
      moreFailed: failed?.cursor !== undefined,
      deliveries: page.items,
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
  const { attempts, nextAttemptAt } = delivery;
  const timeline = [...attempts.map(attemptMoment), ...nextAttempt(delivery)];
  // After a replay the page shows the attempt as soon as it has been made.
  const isDue = nextAttemptAt !== undefined && nextAttemptAt <= sandboxTime(merchant, clock.now());
  if (isDue) res.set("Refresh", RELOAD_SECONDS);
  const kind = delivery.reference.startsWith("CHK") ? "checkouts" : "disbursements";
  const page = { template: "webhook", title: `Webhook ${delivery.type}`, section: "webhooks" } as const;
  showPage(context, res, page, { delivery, timeline, kind, isDue });
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
