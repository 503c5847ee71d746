import { PACE, requireReplayable, startReplay } from "../domain/replays.ts";
import { action, type Doer, type Field } from "./action.ts";
import { refused } from "./refused.ts";
import { SEARCH, searchOf, type TypedSearch } from "./webhook-search.ts";

const area = ({ merchant }: Doer) => `/m/${merchant.id}`;

/** The webhooks to replay: a search that finds more than one payment's, and not everything. */
const replayable: Field<ReturnType<typeof searchOf>> = {
  inputs: Object.fromEntries(SEARCH.map((name) => [name, { type: "hidden" }])),
  read(form) {
    const typed = Object.fromEntries(SEARCH.map((name) => [name, form.text(name)])) as TypedSearch;
    if (typed.reference !== "") throw refused(422, "error.openWebhook");
    const filter = searchOf(typed);
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
    leadsTo: (doer) => `${area(doer)}/webhooks/${doer.params.id}`,
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
        read: (form): number => Number(form.text("pace") || Number.NaN),
      },
    },
    button: "startReplay",
    style: "primary",
    async run({ context, actor, merchant }, search) {
      const started = await startReplay(context, { merchantId: merchant.id, ...search }, actor);
      if (!started) throw refused(409, "error.anotherReplay");
      return started;
    },
    leadsTo: (doer, { id }) => `${area(doer)}/replays/${id}`,
  }),
  "replay.stop": action({
    at: "/m/:merchant/replays/:id/stop",
    needs: "replay webhooks",
    input: {},
    button: "stopReplay",
    style: "danger",
    async run({ context: { storage }, actor, merchant, params }) {
      const isStopped = await storage.stopReplay(merchant.id, params.id!, actor);
      // A replay that ended a moment ago cannot be stopped, but exists.
      if (!isStopped && !(await storage.findReplay(merchant.id, params.id!))) throw refused(404, "error.noReplay");
    },
    leadsTo: (doer) => `${area(doer)}/replays/${doer.params.id}`,
  }),
};
