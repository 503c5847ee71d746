import {
  ATTENTION_AFTER_MINUTES,
  conflictIn,
  readRailStates,
  type RailState,
  type Handover,
  type RailExchange,
} from "../../domain/handovers.ts";
import type { ActorName } from "../../domain/audit.ts";
import { say, type TextId } from "../../texts/index.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { code, column, facts, link, markup, section, soft, tag, under, type Part } from "./html.ts";
import { list } from "./page.ts";
import { timeline, type Moment } from "./timeline.ts";
import { mayDo, type View, type Words } from "./view.ts";

const MOST_LISTED = 100;
const minutesOf = ({ context: { config } }: View) => config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;

/** Says in plain words how the rail contradicts the status of a payment; undefined if it does not. */
function conflictText(handover: Handover, { t, money, word }: Words) {
  if (!handover.conflict) return undefined;
  const amount = money(handover.payment);
  const kind = conflictIn(handover);
  if (kind === "paidLate") return t("conflict.paidLate", { amount, status: word("status", handover.status) });
  return t(`conflict.${kind}`, { amount });
}

const proposalText = ({ reason, by, status }: NonNullable<Handover["proposal"]>, words: Words) =>
  words.t("proposedBy", { reason, by: whoIs(by, words), status: words.word("status", status) });

/**
 * Payments that need a person: their outcome is unknown for too long, or their rail contradicts a final status (D74). The
 * forms are on the payment's own page.
 */
export const attentionPage = list<Handover & { since: number }>({
  at: "{scope}/attention",
  title: "needsAttention",
  isWhole: true,
  where: "live",
  async read(view) {
    const { merchant, context } = view;
    const unknownBefore = context.clock.now() - minutesOf(view) * 60_000;
    const which = { ...(merchant && { merchantId: merchant.id }), unknownBefore, limit: MOST_LISTED };
    const found = await context.storage.listAttention(which);
    const items = found.map((each) => ({ ...each, since: (each.conflict?.at ?? each.unknownSince)! }));
    return { items, isCut: items.length === MOST_LISTED };
  },
  key: ({ payment }) => payment.reference,
  columns: (view) => [
    column("payment", "", ({ payment: { reference }, merchantId, merchantsReference }) => [
      view.toPayment({ merchantId, reference, merchantsReference }),
      under(reference),
      view.whose(merchantId) && under(view.whose(merchantId)),
    ]),
    column("whatIsWrong", "", (row) => [
      row.conflict ? tag("failed", view.t("conflict")) : tag("pending", view.t("unknown")),
      under(conflictText(row, view) ?? view.t(row.state === "accepted" ? "notKnownHow" : "notKnownWhether")),
      under([view.t("rail"), " ", row.rail]),
      row.proposal && under(proposalText(row.proposal, view)),
    ]),
    column("amount", "number wide", ({ payment }) => view.money(payment)),
    column("since", "wide", ({ since }) => view.stamp(since)),
  ],
  before: (view) => soft(view.t("attentionMeans", { minutes: say("duration.minutes", { count: minutesOf(view) }) })),
});

/** The rails that carry payments, for operators: what waits at each, and whether it is paused. */
export const railsPage = list<RailState>({
  at: "/rails",
  title: "rails",
  isWhole: true,
  where: "live",
  read: async ({ context }) => ({ items: await readRailStates(context.storage, context.rails!.names) }),
  key: ({ rail }) => rail,
  columns: (view) => [
    column("rail", "names", ({ rail, isConfigured, pause }) => [
      rail,
      " ",
      pause
        ? tag("stopped", view.t("paused"))
        : isConfigured
          ? tag("active", view.t("inUse"))
          : tag("", view.t("notConfigured")),
      pause &&
        under(
          view.t("pausedSince", {
            reason: pause.reason,
            by: whoIs(pause.by as ActorName, view),
            time: view.stamp(pause.at),
          }),
        ),
    ]),
    column("waiting", "number wide", ({ waiting }) => view.number(waiting)),
    column("accepted", "number wide", ({ accepted }) => view.number(accepted)),
    column("conflicts", "number wide", ({ conflicts }) =>
      conflicts > 0 ? link(`${view.root}/attention`, view.number(conflicts)) : 0,
    ),
    column("oldestUnknown", "wide", ({ oldestUnknownSince: since }) =>
      since === undefined ? view.t("none") : view.stamp(since),
    ),
    mayDo(view, "rail.pause") &&
      column("action", "wide", ({ rail, isConfigured, pause }) => {
        const about = { params: { rail }, about: rail };
        return pause ? form(view, "rail.resume", about) : isConfigured && form(view, "rail.pause", about);
      }),
  ],
  after: ({ t }) => soft(t("railsMean")),
});

/** A payment's way over its rail. Undefined for a payment from before the service had rails. */
export async function railOf({ context: { storage } }: View, reference: string) {
  const handover = await storage.findHandover(reference);
  if (!handover) return undefined;
  const [pauses, exchanges] = await Promise.all([storage.readPauses(), storage.listExchanges(reference)]);
  const pausedAt = pauses.find(({ rail }) => rail === handover.rail)?.at;
  return { ...handover, pausedAt: handover.state === "closed" ? undefined : pausedAt, exchanges };
}

const STATES = {
  waiting: "notYetGiven",
  accepted: "railHasNotEnded",
  closed: "ended",
} as const satisfies Record<Handover["state"], TextId>;

const notice = (text: Part) => markup`<p class="notice">${text}</p>`;

/** What a person sees of the rail, and can do about the payment. Its forms are for operators. */
export function railPart(view: View, reference: string, found: NonNullable<Awaited<ReturnType<typeof railOf>>>): Part {
  const { t, stamp } = view;
  const { state, status, unknownSince, conflict, proposal, rail, pausedAt, nextAttemptAt, exchanges } = found;
  const isOpen = state !== "closed";
  const isLost = found.payment.kind === "checkout" && status === "pending" && state === "accepted" && !found.url;
  const params = { reference };
  const unknown = state === "accepted" ? "notKnownHow" : "notKnownWhether";
  const content = [
    conflict
      ? markup`<div class="alert" role="status">${tag("failed", t("conflict"))} ${conflictText(found, view)}</div>`
      : isOpen && unknownSince !== undefined && markup`<p>${tag("pending", t("unknown"))} ${t(unknown)}</p>`,
    isLost && notice(t("linkWasLost")),
    pausedAt !== undefined &&
      notice(markup`${t("railIsPaused", { rail, time: stamp(pausedAt) })} ${t("askedNothing")}`),
    facts([
      [t("rail"), rail],
      [t("state"), t(state === "waiting" && unknownSince !== undefined ? "notKnownWhether" : STATES[state])],
      found.payment.railReference !== undefined && [t("railsReference"), code(found.payment.railReference)],
      isOpen && unknownSince !== undefined && [t("since"), stamp(unknownSince)],
      nextAttemptAt !== undefined && [t("railAskedNext"), stamp(nextAttemptAt)],
    ]),
    proposal && notice(proposalText(proposal, view)),
    exchanges.length > 0
      ? [
          markup`<h3>${t("whatWasSent")}</h3>`,
          timeline(
            view,
            exchanges.map((exchange) => momentOf(exchange, view)),
          ),
        ]
      : soft(t("railWasNotAsked")),
    isOpen && form(view, "payment.ask", { params }),
    isOpen && status === "pending" && form(view, "payment.decide", { params }),
    conflict && form(view, "payment.close-conflict", { params }),
  ];
  return section("rail", t("rail"), content, true);
}

const RESULTS = {
  pending: ["exchange.pending", ""],
  success: ["exchange.success", "good"],
  failed: ["exchange.failed", "bad"],
  cancelled: ["exchange.failed", "bad"],
  missing: ["exchange.missing", ""],
  unknown: ["exchange.unknown", "bad"],
  "not-sent": ["exchange.not-sent", "bad"],
} as const satisfies Record<RailExchange["result"], readonly [TextId, Moment["tone"]]>;

function momentOf({ at, action, result, latencyMs, detail = "" }: RailExchange, { t }: Words): Moment {
  const [become, tone] = RESULTS[result];
  const values = { action: t(`exchange.${action}`), result: t(become), latencyMs };
  const isCall = action === "pay" || action === "collect" || action === "find";
  return {
    at,
    tone,
    text: isCall ? t("exchange.timed", values) : t("labelled", { label: values.action, value: values.result }),
    like: [action, result, detail].join(" "),
    notes: [detail !== "" && markup`<bdi lang="en">${detail}</bdi>`],
  };
}
