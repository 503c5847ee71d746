import { PACE, type DeliveryFilter, type DeliverySearch } from "../domain/deliveries.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { timestamp } from "../domain/representation.ts";
import { say, type Label, type Said } from "../texts/index.ts";
import { action, aShownTime, checked, choices, field, refused, typed, type Field, type Input } from "./action.ts";

/** The statuses of webhooks, with what people read. Two of them say why a webhook failed. */
export const STATUSES = {
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

/** The number of receivers that the page names before a replay. */
const HOSTS_SHOWN = 10;

/** The webhooks to replay: not everything. */
const replayable: Field<TypedSearch> = {
  inputs: SEARCH,
  read(sent) {
    const found = Object.entries(SEARCH).map(([name, input]) => [name, checked(input, typed(sent, name))] as const);
    if (found.some(([, text]) => text !== "")) return Object.fromEntries(found) as TypedSearch;
    throw refused(422, "error.chooseWebhooks");
  },
};

/** Says what a search finds. */
const describeSearch = (search: TypedSearch): Said[] =>
  Object.entries<Input>(SEARCH).flatMap(([name, { label, options }]) => {
    const text = search[name as keyof TypedSearch];
    const value = options?.[text];
    if (text === "") return [];
    return say("labelled", {
      label: { say: label as Label },
      value: typeof value === "string" ? { say: value } : text,
    });
  });

/** What people do with webhooks. */
export const webhookActions = {
  "delivery.replay": action({
    at: "/m/:merchant/webhooks/:id/replay",
    needs: "replay webhooks",
    input: {},
    style: "primary",
    /** Makes the delivery due; a server attempts it a moment later. The page does not wait for a slow receiver. */
    run: ({ context: { storage }, actor, merchant, params }) => storage.requestReplay(merchant.id, params.id!, actor),
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
        onConfirm: true,
      },
      // So that the same form sends nothing twice.
      decidedAt: aShownTime("decidedAt"),
    },
    style: "primary",
    from: "/m/:merchant/webhooks",
    async asks({ context: { storage, clock }, merchant }, { filter }) {
      const { count, hosts } = await storage.countDeliveries(merchant.id, searchOf(filter));
      const replaysDelivered = ["", "delivered"].includes(filter.status);
      const more = hosts.length - HOSTS_SHOWN;
      return {
        about: [
          ...describeSearch(filter),
          say("labelled", { label: say("webhooks"), value: count }),
          ...hosts.slice(0, HOSTS_SHOWN).map(({ host, count: value }) => say("labelled", { label: host, value })),
          ...(more > 0 ? [say("more", { number: more })] : []),
        ],
        effects:
          count === 0
            ? [say("nothingToReplay")]
            : [say("replayEffect"), ...(replaysDelivered ? [say("replaysDelivered"), say("replayMeans")] : [])],
        isEmpty: count === 0,
        values: { decidedAt: timestamp(clock.now()) },
      };
    },
    run: ({ context: { storage }, actor, merchant: { id: merchantId } }, { filter, ...how }) =>
      storage.replayAll({ merchantId, filter: searchOf(filter), ...how }, actor),
    leadsTo: "/m/:merchant/webhooks?status=pending",
  }),
};
