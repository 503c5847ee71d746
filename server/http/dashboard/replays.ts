import { readInput } from "../../actions/index.ts";
import { SEARCH, typedFor } from "../../actions/webhooks.ts";
import { actorName } from "../../domain/audit.ts";
import type { Replay, Replayed } from "../../domain/webhooks.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { back, card, column, facts, items, link, markup, soft, table, under } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { merchantOf, queryOf, type View, type Words } from "./view.ts";
import { describe, typedIn } from "./webhooks.ts";

/** The number of replays in the list. */
const LISTED = 50;
/** The number of receivers that a preview names. */
const HOSTS_SHOWN = 10;
const WEBHOOKS = "/m/:merchant/webhooks";

/** How much of a replay is queued. */
const shareOf = ({ replayed, expected }: Replay, { t, number }: Words): string =>
  expected === undefined ? number(replayed) : t("partOf", { part: replayed, whole: expected });

/** Replays of all webhooks that a search finds (D13). */
const listPage = list<Replay>({
  at: "/m/:merchant/replays",
  title: "replays",
  isWhole: true,
  under: WEBHOOKS,
  read: async (view) => ({ items: await view.context.storage.listReplays(merchantOf(view).id, LISTED) }),
  key: ({ id }) => id,
  beside: ({ area, t }) => link(`${area}/webhooks`, t("allWebhooks")),
  columns: (view) => [
    column("started", "", ({ id, startedAt, startedBy }) => [
      link(`${view.area}/replays/${id}`, view.stamp(startedAt)),
      under(whoIs(actorName(startedBy), view)),
    ]),
    column("state", "", ({ state }) => view.badge(state)),
    column("queued", "number", (replay) => shareOf(replay, view)),
    column("which", "wide", ({ filter }) => describe(filter, view).join(", ")),
  ],
  none: ({ t }) => markup`<p>${t("noReplaysYet")}</p>`,
});

/** The page that says what a replay will send. */
const previewPage: Page = {
  at: "/m/:merchant/replays/new",
  title: "replayWebhooks",
  under: WEBHOOKS,
  query: SEARCH,
  async show(view) {
    const { t, rich, area, context } = view;
    const { filter } = readInput("replay.start", typedIn(view), false);
    const typed = typedFor(filter);
    const { count, isExact, hosts } = await context.storage.countDeliveries(merchantOf(view).id, filter);
    const isWaiting = filter.status === "pending";
    const webhooks = t("webhookCount", { count });
    const shown = hosts.slice(0, HOSTS_SHOWN);
    const receivers = table(view, shown, [
      column("receiver", "", ({ host }) => host),
      column(isExact ? "webhooks" : "webhooksCounted", "number", (each) => view.number(each.count)),
    ]);
    const start = [
      soft(rich("replayEffect")),
      (filter.status ?? "delivered") === "delivered" &&
        markup`<p><strong>${t("replaysDelivered")} ${t("replayMeans")}</strong></p>`,
      form(view, "replay.start", {
        values: typed,
        isConfirmation: true,
        class: "inline",
        ...(isWaiting && { button: "sendThemNow" }),
      }),
    ];
    const content = [
      items(describe(filter, view), "plain"),
      hosts.length > 0 && receivers,
      hosts.length > shown.length && soft(t("more", { number: hosts.length - shown.length })),
      count === 0 && isExact ? markup`<p>${t("nothingToReplay")}</p>` : start,
    ];
    const title = isExact ? webhooks : `${count === MOST_COUNTED ? ">" : "≥"} ${webhooks}`;
    return markup`${back(`${area}/webhooks${queryOf(typed)}`, t("webhooks"))}
<h1>${isWaiting ? t("sendWaiting") : t("replayWebhooks")}</h1>${card(content, { id: "which", title, class: "stack" })}`;
  },
};

interface Progress {
  replay: Replay;
  became: Replayed;
  /** People want to know the results of a replay's webhooks, and not only that the replay has queued them. */
  word: string;
}

function wordFor({ state, replayed }: Replay, { delivered, failed, waiting }: Replayed): string {
  if (state !== "done") return state;
  if (waiting > 0) return "waiting";
  return failed > 0 ? "failed" : delivered > 0 && delivered === replayed ? "delivered" : "done";
}

const counted = (count: number, { number }: View) =>
  count > MOST_COUNTED ? `> ${number(MOST_COUNTED)}` : number(count);

/** A replay with its progress. */
const recordPage = record<Progress>({
  at: "/m/:merchant/replays/:id",
  title: "replayOfWebhooks",
  under: WEBHOOKS,
  missing: "error.noReplay",
  async find(view) {
    const { storage } = view.context;
    const replay = await storage.findReplay(merchantOf(view).id, view.params.id!);
    if (!replay) return undefined;
    const became = await storage.countReplayed(replay.merchantId, replay.id);
    return { replay, became, word: wordFor(replay, became) };
  },
  back: ({ area, t }) => [`${area}/replays`, t("replays")],
  reloads: ({ word }) => word === "running" || word === "waiting",
  heading: (view, { word }) => [view.t("replayOfWebhooks"), " ", view.badge(word)],
  before: (view, { replay, became }) => {
    const { t } = view;
    const again = became.again > 0 && under(t("failedAgain", { number: counted(became.again, view) }));
    const results = [
      [t("delivered"), counted(became.delivered, view)],
      [t("failed"), counted(became.failed, view)],
      [t("waiting"), [counted(became.waiting, view), again]],
    ] as const;
    return [
      replay.state === "running" && markup`<p class="soft" role="status">${t("replayIsFollowed")}</p>`,
      facts(results, "tiles"),
    ];
  },
  facts(view, { replay }) {
    const { t, number, area, stamp } = view;
    const { skipped, pace, filter, startedAt, startedBy, endedAt, state, stoppedBy } = replay;
    const who = stoppedBy ? t("stoppedBy", { who: whoIs(actorName(stoppedBy), view) }) : t("stoppedByReset");
    return [
      [t("queuedToBeSent"), shareOf(replay, view)],
      [t("skipped"), number(skipped)],
      [t("pace"), t("perSecond", { pace })],
      [t("which"), link(`${area}/webhooks${queryOf(typedFor(filter))}`, describe(filter, view).join(", "))],
      [t("started"), [stamp(startedAt), under(whoIs(actorName(startedBy), view))]],
      endedAt !== undefined && [t("endedAt"), [stamp(endedAt), state === "stopped" && under(who)]],
    ];
  },
  after: (view, { replay }) => [soft(view.t("replayCounts")), replay.state === "running" && form(view, "replay.stop")],
});

export const replayPages: readonly Page[] = [listPage, previewPage, recordPage];
