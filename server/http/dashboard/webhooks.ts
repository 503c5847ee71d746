import { missing } from "../../actions/action.ts";
import { describeSearch, SEARCH, searchOf, type TypedSearch } from "../../actions/webhooks.ts";
import type { Delivery, DeliveryFilter } from "../../domain/deliveries.ts";
import type { Page as ListPage } from "../../domain/pages.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import type { Replay, Replayed } from "../../domain/webhooks.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { bdi, card, code, column, dim, facts, joined, link, markup, pre, soft, under } from "./html.ts";
import type { Column, Part } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { attemptMoments, indented, timeline } from "./timeline.ts";
import { merchantOf, queryOf, type View, type Words } from "./view.ts";

const WEBHOOKS = "/m/:merchant/webhooks";
const ON_A_PAGE = 25;
/** The number of replays in the list. */
const LISTED = 10;
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
  beside: ({ area, t }) => link(`${area}/replays`, t("replays")),
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
    const reason = REASONS[status];
    const all = [
      [t("address"), url],
      [t("payment"), view.toPayment({ reference })],
      [t("idSentAs"), code(id)],
      [t("created"), view.stamp(createdAt)],
    ] as const;
    const attempts = [
      reason && soft(t("noFurtherAttempt", { reason: t(reason) })),
      timeline(view, attemptMoments(delivery, view)),
    ];
    const content = record({
      back: [`${area}/webhooks`, t("webhooks")],
      heading: [type, " ", view.badge(statusOf(status))],
      main: [facts(all), form(view, "delivery.replay"), soft(t("replayMeans"))],
      beside: card(attempts, { title: t("attempts"), isLive: true }),
      below: card([soft(t("indentedHere")), pre(indented(body), { class: "body" })], { title: t("body") }),
    });
    return { body: content, about: type };
  },
};

/** How much of a replay is queued. */
const shareOf = ({ replayed, expected }: Replay, { t, number }: Words): Part =>
  expected === undefined ? number(replayed) : t("partOf", { part: replayed, whole: expected });

const counted = (count: number, { number }: View) =>
  count > MOST_COUNTED ? `> ${number(MOST_COUNTED)}` : number(count);

/** Replays of all webhooks that a search finds, with their progress (D13). */
const replayList = list<Replay & { became: Replayed }>({
  at: "/m/:merchant/replays",
  title: "replays",
  isWhole: true,
  under: WEBHOOKS,
  async read(view) {
    const { storage } = view.context;
    const replays = await storage.listReplays(merchantOf(view).id, LISTED);
    const became = await Promise.all(replays.map(({ merchantId, id }) => storage.countReplayed(merchantId, id)));
    return { items: replays.map((replay, index) => ({ ...replay, became: became[index]! })) };
  },
  beside: ({ area, t }) => link(`${area}/webhooks`, t("allWebhooks")),
  columns: (view) => [
    column("started", "", ({ startedAt, startedBy, filter }) => [
      view.stamp(startedAt),
      under(whoIs(startedBy, view)),
      under(
        joined(
          describeSearch(filter).map((each) => view.t(each)),
          ", ",
        ),
      ),
    ]),
    column("state", "", ({ id, state, endedAt, stoppedBy }) => [
      view.badge(state),
      endedAt !== undefined && under(view.stamp(endedAt)),
      state === "stopped" &&
        under(stoppedBy ? view.t("stoppedBy", { who: whoIs(stoppedBy, view) }) : view.t("stoppedByReset")),
      state === "running" && form(view, "replay.stop", { params: { id } }),
    ]),
    column("queued", "number", (replay) => [
      shareOf(replay, view),
      replay.skipped > 0 && under(view.t("labelled", { label: view.t("skipped"), value: replay.skipped })),
      under(view.t("perSecond", { pace: replay.pace })),
    ]),
    column("delivered", "wide number", ({ became }) => counted(became.delivered, view)),
    column("failed", "wide number", ({ became }) => counted(became.failed, view)),
    column("waiting", "wide number", ({ became }) => [
      counted(became.waiting, view),
      became.again > 0 && under(view.t("failedAgain", { number: counted(became.again, view) })),
    ]),
  ],
});

export const webhookPages: readonly Page[] = [webhookList, webhookPage, replayList];
