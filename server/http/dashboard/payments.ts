import { Router, type Request, type Response } from "express";
import { failureIn } from "../../domain/representation.ts";
import { curlLine } from "../curl-line.ts";
import { railOf } from "./attention.ts";
import { keyName } from "./audit-words.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { sendCsv } from "./export.ts";
import { queryOf, readFilter } from "./payment-filter.ts";
import { pageOf, type Kind } from "./payment-list.ts";
import { showPage } from "./show-page.ts";
import { timelineOf } from "./timeline.ts";
import { merchantIn, PageError } from "./visit.ts";
import { wordsIn } from "./words.ts";

/** How the pages of each kind of payment differ. */
const KINDS = {
  disbursements: {
    title: "Disbursements",
    one: "Disbursement",
    statuses: ["pending", "success", "failed"],
    creation: "createDisbursement",
  },
  checkouts: {
    title: "Checkouts",
    one: "Checkout",
    statuses: ["pending", "success", "failed", "cancelled"],
    creation: "createCheckout",
  },
} as const satisfies Record<Kind, object>;

/** A merchant's payments: a list that can be searched, its export, and a page for each. */
export function paymentPages(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const path = `/dashboard/m/:merchant/${kind}`;
    router.get(path, (req, res) => showList(context, kind, req, res));
    router.get(`${path}.csv`, (req, res) => sendCsv(context, kind, readFilter(req.query, KINDS[kind].statuses), res));
    router.get(`${path}/:reference`, (req, res) => showPayment(context, kind, String(req.params.reference), res));
  }
  return router;
}

async function showList(context: DashboardContext, kind: Kind, req: Request, res: Response): Promise<void> {
  const { title, statuses } = KINDS[kind];
  const filter = readFilter(req.query, statuses);
  const page = await pageOf(context, kind, merchantIn(res).id, filter);
  const { cursor: _, ...search } = filter.typed;
  showPage(
    context,
    res,
    { template: "payments", title, section: kind, query: queryOf(search) },
    {
      kind,
      statuses,
      typed: filter.typed,
      isFiltered: Object.values(search).some((text) => text !== ""),
      payments: page.items,
      query: queryOf(search),
      next: page.cursor && queryOf({ ...search, cursor: page.cursor }),
      isFirst: filter.typed.cursor === "",
      curl: curlLine(context.config.publicUrl, "$API_KEY", kind),
    },
  );
}

async function showPayment(context: DashboardContext, kind: Kind, reference: string, res: Response): Promise<void> {
  const { storage } = context;
  const { id } = merchantIn(res);
  const payment = await (kind === "disbursements" ? storage.findDisbursement : storage.findCheckout)(id, reference);
  if (!payment) throw new PageError(404, "There is no payment with this reference.");
  // A record has one event. Without a webhook address it has no delivery.
  const query = { merchantId: id, reference, limit: 1 };
  const [events, deliveries, requests, rail, keys] = await Promise.all([
    storage.listEvents(query),
    storage.listDeliveries(query),
    // Finds only the successful request: a refused duplicate has the same reference.
    storage.listRequests({ ...query, operation: KINDS[kind].creation, statusClass: 2 }),
    context.rails && railOf(context, reference, res),
    storage.listKeysOf(id),
  ]);
  const request = context.config.requestLog ? requests.items[0] : undefined;
  const words = wordsIn(res);
  const key = keyName(keys, request?.keyId, words) ?? request?.keyId;
  const related = { event: events.items[0], delivery: deliveries.items[0], request, key };
  const timeline = timelineOf(payment, related, words);
  showPage(
    context,
    res,
    { template: "payment", title: KINDS[kind].one, about: payment.merchantsReference, section: kind },
    { kind, payment, failure: failureIn(payment), timeline, rail },
  );
}
