import { listOf } from "../../actions/payments.ts";
import { SEARCH, searchOf, type TypedSearch } from "../../actions/webhook-search.ts";
import type { Delivery, DeliveryFilter, DeliverySearch } from "../../domain/deliveries.ts";
import { EVENT_TYPES } from "../../domain/events.ts";
import { sandboxTime } from "../../domain/time.ts";
import { deliveriesOfPayment } from "../../domain/webhooks.ts";
import type { TextId } from "../../texts/index.ts";
import { markup, type Html, type Part } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { badge, bdi, card, code, form, link, pre, small, soft, table, type Column } from "./parts.ts";
import { HEALTH_OF, receiverPart } from "./receivers.ts";
import { attemptMoments, indented, nextAttempt, timeline } from "./timeline.ts";
import { mayDo, merchantOf, queryOf, type View } from "./view.ts";
import type { Words } from "./words.ts";

const ON_A_PAGE = 25;
/** The number of failed deliveries before the list of all deliveries. */
const FAILED_FIRST = 10;

/** Why a webhook has failed. */
const REASONS: Partial<Record<DeliveryFilter, "refusedForGood" | "allAttemptsUsed">> = {
  ended: "refusedForGood",
  exhausted: "allAttemptsUsed",
};
/** The server has two statuses for webhooks that it has given up, by the reason; people read "failed" for both. */
const statusOf = (status: DeliveryFilter): string =>
  status === "ended" || status === "exhausted" ? "failed" : status === "pending" ? "waiting" : status;

/** What a person has typed. */
export const typedIn = ({ query }: View): TypedSearch =>
  Object.fromEntries(SEARCH.map((name) => [name, query[name] ?? ""])) as TypedSearch;

/** Says in words what a search finds. */
export function describe(search: DeliverySearch, words: Words): string[] {
  const { t, time, word } = words;
  const { status, type, host, reference, createdAfter, createdBefore } = search;
  const reason = status && REASONS[status];
  const state = status && t("search.status", { status: word("status", statusOf(status)) });
  return [
    ...(state === undefined ? [] : [[state, ...(reason ? [t(reason)] : [])].join(", ")]),
    ...(type === undefined ? [] : [t("search.event", { type })]),
    ...(host === undefined ? [] : [t("search.receiver", { host })]),
    ...(reference === undefined ? [] : [t("search.payment", { reference })]),
    ...(createdAfter === undefined ? [] : [t("search.from", { time: time(createdAfter) })]),
    ...(createdBefore === undefined ? [] : [t("search.before", { time: time(createdBefore) })]),
  ];
}

const isWhole = (view: View) => Object.values(view.query).every((text) => text === "");

function columns(view: View): Column<Delivery>[] {
  const { t, area } = view;
  const resultOf = ({ attempts }: Delivery) => {
    const last = attempts.at(-1);
    return last ? String(last.httpStatus ?? t("noResponse")) : t("noneYet");
  };
  return [
    {
      title: "event",
      class: "line",
      cell: ({ id, type, reference }) => [link(`${area}/webhooks/${id}`, type), small(reference)],
    },
    { title: "payment", class: "wide line", cell: ({ reference }) => code(reference) },
    { title: "address", class: "wide", cell: ({ url }) => bdi(url) },
    {
      title: "status",
      cell(delivery) {
        const last = delivery.attempts.at(-1);
        const result = resultOf(delivery);
        return [
          badge(view, statusOf(delivery.status)),
          last && small(t("attemptNumber", { number: last.number, result })),
        ];
      },
    },
    {
      title: "lastAttempt",
      class: "wide line",
      cell(delivery) {
        const number = delivery.attempts.at(-1)?.number ?? 0;
        return [resultOf(delivery), number > 1 && markup` <span class="soft">${t("atAttempt", { number })}</span>`];
      },
    },
    { title: "created", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt) },
  ];
}

/** How the receivers do, and the webhooks that failed: what a person should see before the list. */
async function attention(view: View): Promise<Part> {
  if (!isWhole(view)) return undefined;
  const { t, context } = view;
  const merchantId = merchantOf(view).id;
  const [failed, pending, receivers] = await Promise.all([
    context.storage.listDeliveries({ merchantId, status: "failed", limit: FAILED_FIRST }),
    context.storage.listDeliveries({ merchantId, status: "pending", limit: 1 }),
    receiverPart(view, merchantId),
  ]);
  const all =
    failed.cursor !== undefined && markup`<p class="pages">${link("?status=failed", t("allFailed"), "button")}</p>`;
  return markup`<div data-live>${
    receivers &&
    markup`<section data-key="receivers" class="card" aria-labelledby="receivers"><h2 id="receivers">${t("receivers")}</h2>
${receivers.table}${
      // Also none that is due, and so no longer waits for a retry.
      pending.items.length === 0 && markup`<p>${t("noWebhookWaits")}</p>`
    }
<p class="soft">${t("receiversMean", { newest: HEALTH_OF })}${receivers.isWaiting && mayDo(view, "replay.start") && markup` ${link(`${view.area}/replays/new?status=pending`, t("sendAllNow"))}`}</p></section>`
  }
${failed.items.length > 0 && markup`<section data-key="failed" class="card" aria-labelledby="failed"><h2 id="failed">${t("failed")}</h2>${table(view, failed.items, columns(view), ({ id }) => id)}${all}</section>`}</div>`;
}

interface Found {
  items: readonly Delivery[];
  cursor?: string | undefined;
  searchedTo?: number | undefined;
}

const listPage = list<Delivery>({
  at: "/m/:merchant/webhooks",
  title: "webhooks",
  query: SEARCH,
  filters: (view) => ({
    status: {
      label: "status",
      type: "select",
      isMore: true,
      class: "long half",
      // Links of earlier days, and of replays, may have a status that says why a webhook failed.
      options: Object.fromEntries(
        ["", ...new Set(["pending", "delivered", "failed", ...(view.query.status ? [view.query.status] : [])])].map(
          (status) => [status, status === "" ? "any" : (`status.${statusOf(status as DeliveryFilter)}` as TextId)],
        ),
      ),
    },
    type: {
      label: "event",
      type: "select",
      isMore: true,
      class: "long half",
      options: Object.fromEntries([["", "any"], ...EVENT_TYPES.map((type) => [type, { text: type }] as const)]),
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
  }),
  async read(view, cursor): Promise<Found> {
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
    const isFiltered = Object.values(typed).some((text) => text !== "");
    // One webhook is replayed on its own page.
    const mayReplay = isFiltered && typed.reference === "" && (found.items.length > 0 || found.cursor !== undefined);
    const title = isFiltered ? view.t("found") : view.t("allWebhooks");
    return markup`<div class="head"><h2>${title}</h2>${mayReplay && link(`${view.area}/replays/new${queryOf(typed)}`, view.t("replayThese"), "button")}</div>
${!isFiltered && found.items.length > 0 && soft(view.t("searchFirst"))}`;
  },
  after(view, { searchedTo }: Found) {
    return searchedTo !== undefined && soft(view.rich("searchedBackTo", { time: view.stamp(searchedTo) }));
  },
  none: ({ t, rich, area }, isFiltered) =>
    markup`<p>${isFiltered ? t("noWebhookFound") : rich("noWebhooksYet", { area })}</p>`,
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
  back: ({ area, t }) => [`${area}/webhooks`, t("allWebhooks")],
  about: ({ type }) => type,
  reloads: ({ isDue }) => isDue,
  heading: (view, { type, status }) => [type, " ", badge(view, statusOf(status))],
  facts: ({ t, rich, area, stamp }, { url, reference, id, createdAt }) => [
    [t("address"), url],
    [t("payment"), link(`${area}/${listOf(reference)}/${reference}`, reference)],
    [rich("idSentAs"), code(id)],
    [t("created"), stamp(createdAt)],
  ],
  after: (view) => [form(view, "delivery.replay"), soft(view.t("replayMeans"))],
  beside(view, delivery) {
    const { t } = view;
    const reason = REASONS[delivery.status];
    const moments = [...attemptMoments(delivery, view), ...nextAttempt(delivery, view)];
    const content = markup`${reason && soft(t("noFurtherAttempt", { reason: t(reason) }))}
${delivery.isDue && markup`<p class="soft" role="status">${t("attemptIsDue")}</p>`}${timeline(view, moments)}`;
    return card(content, { title: t("attempts"), isLive: true });
  },
  below: ({ t }, { body }): Html =>
    card([soft(t("indentedHere")), pre(indented(body), { class: "body" })], { title: t("body") }),
});

export const webhookPages: readonly Page[] = [listPage, recordPage];
