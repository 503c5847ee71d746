import type { DeliveryFilter, DeliverySearch } from "../domain/deliveries.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { countReplay, PACE, replayAll, requireReplayable } from "../domain/webhooks.ts";
import { say, type Said, type TextId } from "../texts/index.ts";
import { action, checked, choices, refused, typed, type Field, type Input } from "./action.ts";

/** The statuses of webhooks, with what people read. Two of them say why a webhook failed. */
const STATUSES = {
  pending: "status.waiting",
  delivered: "status.delivered",
  failed: "status.failed",
  ended: "refusedForGood",
  exhausted: "allAttemptsUsed",
} as const satisfies Record<DeliveryFilter, TextId>;
const half = { class: "long half" };

/** What a person can search webhooks by. A person may type the service's reference or the merchant's. */
export const SEARCH = {
  status: { label: "status", ...half, ...choices(STATUSES) },
  type: {
    label: "event",
    ...half,
    ...choices(Object.fromEntries(EVENT_TYPES.map((type) => [type, { text: type }]))),
  },
  host: { label: "host", ...half, placeholder: { text: "shop.example" }, attributes: { maxlength: 300 } },
  reference: { label: "reference", ...half, type: "search", attributes: { maxlength: 200 } },
  from: { label: "from", class: "long", type: "datetime-local" },
  to: { label: "before", class: "long", type: "datetime-local" },
} as const satisfies Record<string, Input>;
export type TypedSearch = Record<keyof typeof SEARCH, string>;

export const searchOf = ({ status, type, host, from, to }: TypedSearch): DeliverySearch => ({
  ...(status !== "" && { status: status as DeliveryFilter }),
  ...(type !== "" && { type: type as EventType }),
  // People may paste a whole address.
  ...(host !== "" && { host: (host.includes("://") && URL.parse(host)?.host) || host.toLowerCase() }),
  ...(from !== "" && { createdAfter: Date.parse(`${from}Z`) }),
  ...(to !== "" && { createdBefore: Date.parse(`${to}Z`) }),
});

/** Says what a search finds. */
function describeSearch(search: DeliverySearch): Said[] {
  const { status, type, host, reference, createdAfter, createdBefore } = search;
  return [
    status !== undefined && say("search.status", { status: say(STATUSES[status]) }),
    type !== undefined && say("search.event", { type }),
    host !== undefined && say("search.receiver", { host }),
    reference !== undefined && say("search.payment", { reference }),
    createdAfter !== undefined && say("search.from", { time: { time: createdAfter } }),
    createdBefore !== undefined && say("search.before", { time: { time: createdBefore } }),
  ].filter((each) => each !== false);
}

/** The number of receivers that the page names before a replay. */
const HOSTS_SHOWN = 10;

/** The webhooks to replay: a search that finds more than one payment's, and not everything. */
const replayable: Field<ReturnType<typeof searchOf>> = {
  inputs: SEARCH,
  read(sent) {
    const search = Object.fromEntries(
      Object.entries(SEARCH).map(([name, input]) => [name, checked(input, typed(sent, name))]),
    ) as TypedSearch;
    if (search.reference !== "") throw refused(422, "error.openWebhook");
    const filter = searchOf(search);
    requireReplayable(filter);
    return filter;
  },
};

/** What people do with webhooks. */
export const webhookActions = {
  "delivery.replay": action({
    at: "/m/:merchant/webhooks/:id/replay",
    needs: "replay webhooks",
    input: {},
    button: "replay",
    style: "primary",
    /** Makes the delivery due; a server attempts it a moment later. The page does not wait for a slow receiver. */
    async run({ context: { storage }, actor, merchant, params }) {
      const result = await storage.requestReplay(merchant.id, params.id!, actor);
      if (result === "unknown") throw refused(404, "error.noWebhook");
      if (result === "claimed") throw refused(409, "error.attemptInProgress");
    },
    leadsTo: "/m/:merchant/webhooks/:id",
  }),
  "replay.start": action({
    at: "/m/:merchant/replays/new",
    needs: "replay webhooks",
    input: {
      filter: replayable,
      pace: {
        inputs: {
          pace: {
            label: "webhooksPerSecond",
            type: "number",
            required: true,
            class: "short",
            attributes: { min: PACE.least, max: PACE.most, value: PACE.usual },
          },
        },
        isLate: true,
        read: (sent): number => Number(typed(sent, "pace") || Number.NaN),
      },
    },
    button: "startReplay",
    style: "primary",
    from: "/m/:merchant/webhooks",
    async asks({ context: { storage }, merchant }, { filter }) {
      const { status = "delivered" } = filter;
      const { count, hosts } = await countReplay(storage, { merchantId: merchant.id, filter });
      const isEmpty = count === 0;
      const more = hosts.length - HOSTS_SHOWN;
      return {
        question: say(status === "pending" ? "sendWaiting" : "replayWebhooks"),
        about: [
          ...describeSearch(filter),
          say("webhookCount", { count }),
          ...hosts.slice(0, HOSTS_SHOWN).map((each) => say("webhooksOfHost", each)),
          ...(more > 0 ? [say("more", { number: more })] : []),
        ],
        effects: isEmpty
          ? [say("nothingToReplay")]
          : [say("replayEffect"), ...(status === "delivered" ? [say("replaysDelivered"), say("replayMeans")] : [])],
        isEmpty,
        ...(status === "pending" && { button: say("sendThemNow") }),
      };
    },
    run: ({ context: { storage }, actor, merchant }, search) =>
      replayAll(storage, { merchantId: merchant.id, ...search }, actor),
    leadsTo: "/m/:merchant/webhooks?status=pending",
  }),
};
