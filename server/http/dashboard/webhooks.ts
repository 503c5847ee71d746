import { missing } from "../../actions/action.ts";
import { SEARCH, searchOf, STATUSES, type TypedSearch } from "../../actions/webhooks.ts";
import type { Delivery, DeliveryFilter } from "../../domain/deliveries.ts";
import type { Page as ListPage } from "../../domain/pages.ts";
import { form } from "./forms.ts";
import { bdi, card, code, column, dim, facts, link, markup, pre, soft } from "./html.ts";
import type { Column } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { attemptMoments, indented, timeline } from "./timeline.ts";
import { merchantOf, queryOf, type View } from "./view.ts";

const WEBHOOKS = "/m/:merchant/webhooks";
const ON_A_PAGE = 25;
/** The server has two statuses for webhooks that it has given up, by the reason; people read "failed" for both. */
const hasFailed = (status: DeliveryFilter) => status === "ended" || status === "exhausted";
const statusOf = (status: DeliveryFilter): string =>
  hasFailed(status) ? "failed" : status === "pending" ? "waiting" : status;

function columns(view: View): Column<Delivery>[] {
  const { t, area } = view;
  const resultOf = ({ attempts }: Delivery) => attempts.at(-1)?.httpStatus ?? t("noResponse");
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

const webhookList = list<Delivery, ListPage<Delivery>>({
  at: WEBHOOKS,
  title: "webhooks",
  filters: SEARCH,
  read: (view, cursor) =>
    view.context.storage.listDeliveries({
      merchantId: merchantOf(view).id,
      limit: ON_A_PAGE,
      ...searchOf(view.query as TypedSearch),
      ...cursor,
    }),
  columns,
  before({ t, area, query }, { items, cursor }) {
    const search = queryOf({ ...query, cursor: "" });
    if (search === "") return items.length > 0 && soft(t("searchFirst"));
    if (items.length === 0 && cursor === undefined) return undefined;
    return markup`<p class="pages">${link(`${area}/replays/new${search}`, t("replayThese"), "button")}</p>`;
  },
  after: (view, { searchedTo }) =>
    searchedTo !== undefined && soft(view.t("searchedBackTo", { time: view.stamp(searchedTo) })),
});

/** A webhook with its attempts. */
const webhookPage: Page = {
  at: `${WEBHOOKS}/:id`,
  title: "webhook",
  under: WEBHOOKS,
  async show(view) {
    const { t, area } = view;
    const delivery = await view.context.storage.findDelivery(merchantOf(view).id, view.params.id!);
    if (!delivery) throw missing();
    const { id, type, status, url, reference, createdAt, body } = delivery;
    const all = [
      [t("address"), url],
      [t("payment"), view.toPayment({ reference })],
      [t("idSentAs"), code(id)],
      [t("created"), view.stamp(createdAt)],
    ] as const;
    const attempts = [
      hasFailed(status) && soft(t("noFurtherAttempt", { reason: t(STATUSES[status]) })),
      timeline(view, attemptMoments(delivery, view)),
    ];
    return record({
      back: [`${area}/webhooks`, t("webhooks")],
      heading: [type, " ", view.badge(statusOf(status))],
      main: [facts(all), form(view, "delivery.replay"), soft(t("replayMeans"))],
      beside: card(attempts, { title: t("attempts"), isLive: true }),
      below: card([soft(t("indentedHere")), pre(indented(body), { class: "body" })], { title: t("body") }),
    });
  },
};

export const webhookPages: readonly Page[] = [webhookList, webhookPage];
