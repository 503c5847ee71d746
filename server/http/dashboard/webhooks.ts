import { SEARCH, searchOf, STATUSES, type TypedSearch } from "../../actions/webhooks.ts";
import type { Delivery, DeliveryFilter, DeliverySearch } from "../../domain/deliveries.ts";
import { EVENT_TYPES } from "../../domain/events.ts";
import { MOST_WAITING_COUNTED, type ReceiverAttempt } from "../../domain/figures.ts";
import { sandboxTime } from "../../domain/time.ts";
import { deliveriesOfPayment } from "../../domain/webhooks.ts";
import { form } from "./forms.ts";
import { bdi, card, code, column, dim, link, markup, pre, small, soft, table, under } from "./html.ts";
import type { Column, Part } from "./html.ts";
import { share } from "./overview.ts";
import { choices, list, record, type Page } from "./page.ts";
import { attemptMoments, indented, timeline } from "./timeline.ts";
import { mayDo, merchantOf, queryOf, type View, type Words } from "./view.ts";

const ON_A_PAGE = 25;
/** The number of failed deliveries before the list of all deliveries. */
const FAILED_FIRST = 10;
/** The number of webhooks whose attempts show how healthy their receivers are. */
const HEALTH_OF = 500;
const MOST_RECEIVERS = 20;

/** Why a webhook has failed. */
const REASONS: Partial<Record<DeliveryFilter, "refusedForGood" | "allAttemptsUsed">> = {
  ended: "refusedForGood",
  exhausted: "allAttemptsUsed",
};
/** The server has two statuses for webhooks that it has given up, by the reason; people read "failed" for both. */
const statusOf = (status: DeliveryFilter): string =>
  REASONS[status] ? "failed" : status === "pending" ? "waiting" : status;

/** What a person has typed. */
export const typedIn = ({ query }: View): TypedSearch =>
  Object.fromEntries(SEARCH.map((name) => [name, query[name] ?? ""])) as TypedSearch;

/** Says in words what a search finds. */
export function describe(search: DeliverySearch, { t, time, word }: Words): string[] {
  const { status, type, host, reference, createdAfter, createdBefore } = search;
  const reason = status && REASONS[status];
  const state = status && t("search.status", { status: word("status", statusOf(status)) });
  return [
    state && (reason ? `${state}, ${t(reason)}` : state),
    type && t("search.event", { type }),
    host && t("search.receiver", { host }),
    reference && t("search.payment", { reference }),
    createdAfter !== undefined && t("search.from", { time: time(createdAfter) }),
    createdBefore !== undefined && t("search.before", { time: time(createdBefore) }),
  ].filter((text) => typeof text === "string");
}

function columns(view: View): Column<Delivery>[] {
  const { t, area } = view;
  const resultOf = ({ attempts }: Delivery) => String(attempts.at(-1)?.httpStatus ?? t("noResponse"));
  return [
    column("event", "line", ({ id, type, reference }) => [link(`${area}/webhooks/${id}`, type), small(reference)]),
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

interface Receiver {
  host: string;
  waiting: number;
  attempts: readonly ReceiverAttempt[];
}

/** How well a merchant's receivers work. Receivers with waiting webhooks come first. */
async function receiversOf({ context: { storage } }: View, merchantId: string): Promise<Receiver[]> {
  const [attempts, failing] = await Promise.all([
    storage.readReceiverAttempts(merchantId, HEALTH_OF),
    storage.listFailingReceivers({ merchantId, limit: MOST_RECEIVERS }),
  ]);
  const byHost = Map.groupBy(attempts, ({ host }) => host);
  const hosts = new Set([...failing.map(({ host }) => host), ...byHost.keys()]);
  return [...hosts].slice(0, MOST_RECEIVERS).map((host) => {
    const waiting = failing.find((each) => each.host === host)?.waiting ?? 0;
    return { host, waiting, attempts: byHost.get(host) ?? [] };
  });
}

function receiverColumns(view: View): Column<Receiver>[] {
  const { t, area, number } = view;
  const within =
    (part: number) =>
    ({ attempts }: Receiver) => {
      const times = attempts.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
      return times.length > 0 && `${times[Math.ceil(part * times.length) - 1]} ms`;
    };
  return [
    column("host", "", ({ host }) => link(`${area}/webhooks${queryOf({ host })}`, host)),
    column("delivered", "number", ({ attempts }) => {
      const good = attempts.filter(({ isDelivered }) => isDelivered).length;
      return attempts.length === 0 ? t("notTried") : share(good, attempts.length, view);
    }),
    column("halfWithin", "number wide", within(0.5)),
    column("mostWithin", "number wide", within(0.95)),
    column("waiting", "number", ({ host, waiting }) => {
      if (waiting === 0) return 0;
      const of = queryOf({ status: "pending", host });
      return [
        link(`${area}/webhooks${of}`, waiting >= MOST_WAITING_COUNTED ? `≥ ${number(waiting)}` : waiting),
        mayDo(view, "replay.start") && under(link(`${area}/replays/new${of}`, t("sendThemNow.opens"))),
      ];
    }),
  ];
}

/** How the receivers do, and the webhooks that failed: what a person should see before the list. */
async function attention(view: View): Promise<Part> {
  if (queryOf(view.query) !== "") return undefined;
  const { t, context } = view;
  const merchantId = merchantOf(view).id;
  const [failed, pending, receivers] = await Promise.all([
    context.storage.listDeliveries({ merchantId, status: "failed", limit: FAILED_FIRST }),
    context.storage.listDeliveries({ merchantId, status: "pending", limit: 1 }),
    receiversOf(view, merchantId),
  ]);
  const maySend = receivers.some(({ waiting }) => waiting > 0) && mayDo(view, "replay.start");
  const now = maySend && [" ", link(`${view.area}/replays/new?status=pending`, t("sendAllNow"))];
  const health = [
    table(view, receivers, receiverColumns(view), ({ host }) => host),
    // Also none that is due, and so no longer waits for a retry.
    pending.items.length === 0 && markup`<p>${t("noWebhookWaits")}</p>`,
    soft([t("receiversMean", { newest: HEALTH_OF }), now]),
  ];
  const all =
    failed.cursor !== undefined && markup`<p class="pages">${link("?status=failed", t("allFailed"), "button")}</p>`;
  const rows = [table(view, failed.items, columns(view), ({ id }) => id), all];
  return markup`<div data-live>${receivers.length > 0 && card(health, { id: "receivers", title: t("receivers") })}
${failed.items.length > 0 && card(rows, { id: "failed", title: t("failed") })}</div>`;
}

interface Found {
  items: readonly Delivery[];
  cursor?: string | undefined;
  searchedTo?: number | undefined;
}

const listPage = list<Delivery, Found>({
  at: "/m/:merchant/webhooks",
  title: "webhooks",
  filters: {
    status: { label: "status", class: "long half", ...choices(Object.entries(STATUSES)) },
    type: {
      label: "event",
      class: "long half",
      ...choices(EVENT_TYPES.map((type) => [type, { text: type }] as const)),
    },
    host: {
      label: "hostOfReceiver",
      isMore: true,
      class: "long half",
      placeholder: { text: "shop.example" },
      attributes: { maxlength: 300 },
    },
    reference: { label: "reference", isMore: true, class: "long half", attributes: { type: "search", maxlength: 200 } },
    from: { label: "from", isMore: true, class: "long", attributes: { type: "datetime-local" } },
    to: { label: "before", isMore: true, class: "long", attributes: { type: "datetime-local" } },
  },
  async read(view, cursor) {
    const { storage } = view.context;
    const typed = typedIn(view);
    const query = { merchantId: merchantOf(view).id, limit: ON_A_PAGE, ...searchOf(typed), ...cursor };
    return typed.reference === ""
      ? storage.listDeliveries(query)
      : deliveriesOfPayment(storage, query, typed.reference);
  },
  key: ({ id }) => id,
  columns,
  beside: ({ area, t }) => link(`${area}/replays`, t("replays")),
  above: attention,
  before(view, found) {
    const typed = typedIn(view);
    const isFiltered = queryOf(typed) !== "";
    // One webhook is replayed on its own page.
    const mayReplay = isFiltered && typed.reference === "" && (found.items.length > 0 || found.cursor !== undefined);
    const title = isFiltered ? view.t("found") : view.t("allWebhooks");
    return markup`<div class="head"><h2>${title}</h2>${mayReplay && link(`${view.area}/replays/new${queryOf(typed)}`, view.t("replayThese"), "button")}</div>
${!isFiltered && found.items.length > 0 && soft(view.t("searchFirst"))}`;
  },
  after: (view, { searchedTo }) =>
    searchedTo !== undefined && soft(view.rich("searchedBackTo", { time: view.stamp(searchedTo) })),
  none: ({ t, rich, area }, isFiltered) =>
    markup`<p>${isFiltered ? `${t("nothingFound")}. ${t("searchWhole")}` : rich("noWebhooksYet", { area })}</p>`,
});

type Sent = Delivery & { isDue: boolean };

/** A webhook with its attempts. */
const recordPage = record<Sent>({
  at: "/m/:merchant/webhooks/:id",
  title: "webhook",
  under: "/m/:merchant/webhooks",
  missing: "error.noWebhook",
  async find(view) {
    const merchant = merchantOf(view);
    const { storage, clock } = view.context;
    const delivery = await storage.findDelivery(merchant.id, view.params.id!);
    const dueAt = delivery?.nextAttemptAt ?? Infinity;
    // After a replay the page shows the attempt as soon as it has been made.
    return delivery && { ...delivery, isDue: dueAt <= sandboxTime(merchant, clock.now()) };
  },
  back: ({ area, t }) => [`${area}/webhooks`, t("webhooks")],
  about: ({ type }) => type,
  reloads: ({ isDue }) => isDue,
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
      delivery.isDue && markup`<p class="soft" role="status">${t("attemptIsDue")}</p>`,
      timeline(view, attemptMoments(delivery, view)),
    ];
    return card(content, { title: t("attempts"), isLive: true });
  },
  below: ({ t }, { body }) =>
    card([soft(t("indentedHere")), pre(indented(body), { class: "body" })], { title: t("body") }),
});

export const webhookPages: readonly Page[] = [listPage, recordPage];
