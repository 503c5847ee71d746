import type { DeliveryFilter, DeliverySearch } from "../domain/deliveries.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { countReplay, PACE, replayAll } from "../domain/webhooks.ts";
import { say, type Label, type Said } from "../texts/index.ts";
import { action, checked, choices, field, missing, refused, typed, type Field, type Input } from "./action.ts";

/** The statuses of webhooks, with what people read. Two of them say why a webhook failed. */
const STATUSES = {
  pending: "status.waiting",
  delivered: "status.delivered",
  failed: "status.failed",
  ended: "refusedForGood",
  exhausted: "allAttemptsUsed",
} as const satisfies Record<DeliveryFilter, Label>;
const half = { class: "long half" };

/** What a person can search webhooks by. */
export const SEARCH = {
  status: { label: "status", ...half, ...choices(STATUSES) },
  type: {
    label: "event",
    ...half,
    ...choices(Object.fromEntries(EVENT_TYPES.map((type) => [type, { text: type }]))),
  },
  host: { label: "host", ...half, placeholder: { text: "shop.example" }, attributes: { maxlength: 300 } },
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

const LABELS = {
  status: "status",
  type: "event",
  host: "host",
  reference: "reference",
  createdAfter: "from",
  createdBefore: "before",
} as const satisfies Record<keyof DeliverySearch, Label>;

/** Says what a search finds. */
export const describeSearch = (search: DeliverySearch): Said[] =>
  Object.entries(search).map(([name, value]: [string, string | number]) => {
    const text = name === "status" ? say(STATUSES[value as DeliveryFilter]) : String(value);
    const label = say(LABELS[name as keyof DeliverySearch]);
    return say("labelled", { label, value: typeof value === "number" ? { time: value } : text });
  });

/** The number of receivers that the page names before a replay. */
const HOSTS_SHOWN = 10;

/** The webhooks to replay: not everything. */
const replayable: Field<ReturnType<typeof searchOf>> = {
  inputs: SEARCH,
  read(sent) {
    const search = Object.fromEntries(
      Object.entries(SEARCH).map(([name, input]) => [name, checked(input, typed(sent, name))]),
    ) as TypedSearch;
    return searchOf(search);
  },
};

/** What people do with webhooks. */
export const webhookActions = {
  "delivery.replay": action({
    at: "/m/:merchant/webhooks/:id/replay",
    needs: "replay webhooks",
    input: {},
    style: "primary",
    /** Makes the delivery due; a server attempts it a moment later. The page does not wait for a slow receiver. */
    async run({ context: { storage }, actor, merchant, params }) {
      const result = await storage.requestReplay(merchant.id, params.id!, actor);
      if (result === "unknown") throw missing();
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
        ...field(
          "pace",
          {
            label: say("webhooksPerSecond", PACE),
            type: "number",
            required: true,
            class: "short",
            attributes: { min: PACE.least, max: PACE.most, value: PACE.usual },
          },
          Number,
        ),
        isLate: true,
      },
    },
    style: "primary",
    from: "/m/:merchant/webhooks",
    async asks({ context: { storage }, merchant }, { filter }) {
      const { status = "delivered" } = filter;
      const { count, hosts } = await countReplay(storage, { merchantId: merchant.id, filter });
      const isEmpty = count === 0;
      const more = hosts.length - HOSTS_SHOWN;
      return {
        about: [
          ...describeSearch(filter),
          say("labelled", { label: say("webhooks"), value: count }),
          ...hosts.slice(0, HOSTS_SHOWN).map(({ host, count: value }) => say("labelled", { label: host, value })),
          ...(more > 0 ? [say("more", { number: more })] : []),
        ],
        effects: isEmpty
          ? [say("nothingToReplay")]
          : [say("replayEffect"), ...(status === "delivered" ? [say("replaysDelivered"), say("replayMeans")] : [])],
        isEmpty,
      };
    },
    run: ({ context: { storage }, actor, merchant }, search) =>
      replayAll(storage, { merchantId: merchant.id, ...search }, actor),
    leadsTo: "/m/:merchant/webhooks?status=pending",
  }),
};
