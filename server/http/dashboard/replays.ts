import { SEARCH, typedFor } from "../../actions/webhook-search.ts";
import { actorName } from "../../domain/audit.ts";
import type { Replay, Replayed } from "../../domain/replays.ts";
import { MOST_COUNTED } from "../../domain/storage.ts";
import { whoIs } from "./audit-words.ts";
import { markup } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { back, badge, card, facts, form, link, soft, table, under } from "./parts.ts";
import { readInput } from "./serve.ts";
import { merchantOf, queryOf, type View } from "./view.ts";
import { describe, typedIn } from "./webhooks.ts";
import type { Words } from "./words.ts";

/** The number of replays in the list. */
const LISTED = 50;
/** The number of receivers that a preview names. */
const HOSTS_SHOWN = 10;
const WEBHOOKS = "/m/:merchant/webhooks";

/** How much of a replay is queued. */
const shareOf = ({ replayed, expected }: Replay, { t, number }: Words): string =>
  expected === undefined ? number(replayed) : t("partOf", { part: replayed, whole: expected });

/** Replays of all webhooks that a search finds (D64). */
const listPage = list<Replay>({
  at: "/m/:merchant/replays",
  title: "replays",
  isWhole: true,
  under: WEBHOOKS,
  read: async (view) => ({ items: await view.context.storage.listReplays(merchantOf(view).id, LISTED) }),
  key: ({ id }) => id,
  beside: ({ area, t }) => link(`${area}/webhooks`, t("allWebhooks")),
  columns: (view) => [
    {
      title: "started",
      cell: ({ id, startedAt, startedBy }) => [
        link(`${view.area}/replays/${id}`, view.stamp(startedAt)),
        under(whoIs(actorName(startedBy), view)),
      ],
    },
    { title: "state", cell: ({ state }) => badge(view, state) },
    { title: "queued", class: "number", cell: (replay) => shareOf(replay, view) },
    { title: "which", class: "wide", cell: ({ filter }) => describe(filter, view).join(", ") },
  ],
  none: ({ rich, area }) => markup`<p>${rich("noReplaysYet", { area })}</p>`,
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
    const bound = isExact ? webhooks : t(count === MOST_COUNTED ? "moreThan" : "atLeast", { webhooks });
    const shown = hosts.slice(0, HOSTS_SHOWN);
    const receivers = table(view, shown, [
      { title: "receiver", cell: ({ host }) => host },
      { title: isExact ? "webhooks" : "webhooksCounted", class: "number", cell: (each) => view.number(each.count) },
    ]);
    const content = markup`<ul class="plain">${describe(filter, view).map((condition) => markup`<li>${condition}</li>`)}</ul>
${hosts.length > 0 && receivers}${hosts.length > shown.length && soft(t("andMore", { number: hosts.length - shown.length }))}
${
  count === 0 && isExact
    ? markup`<p>${t("nothingToReplay")}</p>`
    : [
        soft(rich("replayEffect")),
        (filter.status ?? "delivered") === "delivered" && markup`<p><strong>${t("replaysDelivered")}</strong></p>`,
        form(view, "replay.start", {
          values: typed,
          isConfirmation: true,
          class: "inline",
          ...(isWaiting && { button: "sendThemNow" }),
        }),
      ]
}`;
    return markup`${back(`${area}/webhooks${queryOf(typed)}`, t("backToWebhooks"))}
<h1>${isWaiting ? t("sendWaiting") : t("replayWebhooks")}</h1>${card(content, { id: "which", title: bound, class: "stack" })}`;
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

const counted = (count: number, { t, number }: View) =>
  count > MOST_COUNTED ? t("moreThanNumber", { number: MOST_COUNTED }) : number(count);

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
  back: ({ area, t }) => [`${area}/replays`, t("allReplays")],
  reloads: ({ word }) => word === "running" || word === "waiting",
  heading: (view, { word }) => [view.t("replayOfWebhooks"), " ", badge(view, word)],
  before: (view, { replay, became }) => {
    const { t } = view;
    const again = became.again > 0 && under(t("failedAgain", { number: counted(became.again, view) }));
    return markup`${replay.state === "running" && markup`<p class="soft" role="status">${t("replayIsFollowed")}</p>`}
${facts(
  [
    [t("delivered"), counted(became.delivered, view)],
    [t("failed"), counted(became.failed, view)],
    [t("waiting"), [counted(became.waiting, view), again]],
  ],
  "tiles",
)}`;
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
