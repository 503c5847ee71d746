import { SEARCH, searchOf, type TypedSearch } from "../../actions/webhooks.ts";
import type { Delivery, DeliveryFilter } from "../../domain/deliveries.ts";
import { deliveriesOfPayment } from "../../domain/webhooks.ts";
import { form } from "./forms.ts";
import { bdi, card, code, column, dim, link, markup, pre, soft } from "./html.ts";
import type { Column } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { attemptMoments, indented, timeline } from "./timeline.ts";
import { merchantOf, queryOf, type View } from "./view.ts";

const WEBHOOKS = "/m/:merchant/webhooks";
const ON_A_PAGE = 25;
/** Why a webhook has failed. */
const REASONS: Partial<Record<DeliveryFilter, "refusedForGood" | "allAttemptsUsed">> = {
  ended: "refusedForGood",
  exhausted: "allAttemptsUsed",
};
/** The server has two statuses for webhooks that it has given up, by the reason; people read "failed" for both. */
const statusOf = (status: DeliveryFilter): string =>
  REASONS[status] ? "failed" : status === "pending" ? "waiting" : status;

function columns(view: View): Column<Delivery>[] {
  const { t, area } = view;
  const resultOf = ({ attempts }: Delivery) => String(attempts.at(-1)?.httpStatus ?? t("noResponse"));
  return [
    column("event", "line", ({ id, type }) => link(`${area}/webhooks/${id}`, type)),
    column("payment", "wide line", ({ reference }) => code(reference)),
    column("address", "wide", ({ url }) => bdi(url)),
    column("status", "", ({ status }) => view.badge(statusOf(status))),
    column("lastAttempt", "wide line", (delivery) => {
      const number = delivery.attempts.at(-1)?.number ?? 0;
      if (number === 0) return t("noneYet");
      return [resultOf(delivery), number > 1 && [" ", dim(t("atAttempt", { number }))]];
    }),
    column("created", "wide", ({ createdAt }) => view.stamp(createdAt)),
  ];
}

interface Found {
  items: readonly Delivery[];
  cursor?: string | undefined;
  searchedTo?: number | undefined;
}

const webhookList = list<Delivery, Found>({
  at: WEBHOOKS,
  title: "webhooks",
  filters: SEARCH,
  async read(view, cursor) {
    const { storage } = view.context;
    const typed = view.query as TypedSearch;
    const query = { merchantId: merchantOf(view).id, limit: ON_A_PAGE, ...searchOf(typed), ...cursor };
    return typed.reference === ""
      ? storage.listDeliveries(query)
      : deliveriesOfPayment(storage, query, typed.reference);
  },
  columns,
  before({ t, area, query }, { items, cursor }) {
    const search = queryOf({ ...query, cursor: "" });
    if (search === "") return items.length > 0 && soft(t("searchFirst"));
    // One webhook is replayed on its own page.
    const mayReplay = query.reference === "" && (items.length > 0 || cursor !== undefined);
    return (
      mayReplay && markup`<p class="pages">${link(`${area}/replays/new${search}`, t("replayThese"), "button")}</p>`
    );
  },
  after: (view, { searchedTo }) =>
    searchedTo !== undefined && soft(view.rich("searchedBackTo", { time: view.stamp(searchedTo) })),
  none: "noWebhooksYet",
});

/** A webhook with its attempts. */
const webhookRecord = record<Delivery>({
  at: "/m/:merchant/webhooks/:id",
  title: "webhook",
  under: WEBHOOKS,
  find: (view) => view.context.storage.findDelivery(merchantOf(view).id, view.params.id!),
  back: ({ area, t }) => [`${area}/webhooks`, t("webhooks")],
  about: ({ type }) => type,
  heading: (view, { type, status }) => [type, " ", view.badge(statusOf(status))],
  facts: ({ t, rich, toPayment, stamp }, { url, reference, id, createdAt }) => [
    [t("address"), url],
    [t("payment"), toPayment({ reference })],
    [rich("idSentAs"), code(id)],
    [t("created"), stamp(createdAt)],
  ],
  after: (view) => [form(view, "delivery.replay"), soft(view.t("replayMeans"))],
  beside(view, delivery) {
    const { t } = view;
    const reason = REASONS[delivery.status];
    const content = [
      reason && soft(t("noFurtherAttempt", { reason: t(reason) })),
      timeline(view, attemptMoments(delivery, view)),
    ];
    return card(content, { title: t("attempts"), isLive: true });
  },
  below: ({ t }, { body }) =>
    card([soft(t("indentedHere")), pre(indented(body), { class: "body" })], { title: t("body") }),
});

export const webhookPages: readonly Page[] = [webhookList, webhookRecord];
