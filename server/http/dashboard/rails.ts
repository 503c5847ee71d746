import { readRailStates, type RailState, type Handover, type RailExchange } from "../../domain/handovers.ts";
import type { ActorName } from "../../domain/audit.ts";
import { say } from "../../texts/index.ts";
import { whoIs } from "./audit.ts";
import { form } from "./forms.ts";
import { code, column, facts, link, markup, section, soft, tag, under, type Part } from "./html.ts";
import { list } from "./page.ts";
import { timeline, type Moment } from "./timeline.ts";
import { mayDo, type View, type Words } from "./view.ts";

const MOST_LISTED = 100;

/** Says why a payment needs a person, in a word and in plain words. Undefined if its outcome is known. */
function problemOf(handover: Handover, { t, money, word }: Words) {
  const { conflict, state, status, payment, unknownSince } = handover;
  if (conflict) {
    const said = { status: word("status", status), answer: word("status", conflict.answer.status) };
    return { sign: tag("failed", t("conflict")), text: t("contradiction", { amount: money(payment), ...said }) };
  }
  if (unknownSince === undefined) return undefined;
  return { sign: tag("pending", t("unknown")), text: t(state === "accepted" ? "notKnownHow" : "notKnownWhether") };
}

const proposalText = ({ reason, by, status }: NonNullable<Handover["proposal"]>, words: Words) =>
  words.t("proposedBy", { reason, by: whoIs(by, words), status: words.word("status", status) });

/**
 * Payments that need a person: their outcome is unknown for too long, or their rail contradicts a final status (D74). The
 * forms are on the payment's own page.
 */
export const attentionPage = list<Handover>({
  at: "{scope}/attention",
  title: "needsAttention",
  isWhole: true,
  where: "live",
  async read(view) {
    const { merchant, context } = view;
    const unknownBefore = context.clock.now() - context.config.attentionAfterMinutes * 60_000;
    const which = { merchantId: merchant?.id, unknownBefore, limit: MOST_LISTED };
    const items = await context.storage.listAttention(which);
    return { items, isCut: items.length === MOST_LISTED };
  },
  key: ({ payment }) => payment.reference,
  columns: (view) => [
    column("payment", "", ({ payment: { reference }, merchantId, merchantsReference }) => [
      view.toPayment({ merchantId, reference, merchantsReference }),
      under(reference),
      view.whose(merchantId) && under(view.whose(merchantId)),
    ]),
    column("whatIsWrong", "", (row) => {
      const { sign, text } = problemOf(row, view)!;
      const proposed = row.proposal && under(proposalText(row.proposal, view));
      return [sign, under(text), under([view.t("rail"), " ", row.rail]), proposed];
    }),
    column("amount", "number wide", ({ payment }) => view.money(payment)),
    column("since", "wide", ({ conflict, unknownSince }) => view.stamp((conflict?.at ?? unknownSince)!)),
  ],
  before: ({ t, context }) =>
    soft(t("attentionMeans", { minutes: say("duration.minutes", { count: context.config.attentionAfterMinutes }) })),
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

const notice = (text: Part) => markup`<p class="notice">${text}</p>`;

/**
 * What a person sees of the rail of a payment, and can do about it. Its forms are for operators. Undefined for a payment
 * from before the service had rails.
 */
export async function railPart(view: View, reference: string): Promise<Part | undefined> {
  const { t, stamp, context } = view;
  const found = await context.storage.findHandover(reference);
  if (!found) return undefined;
  const { state, status, unknownSince, conflict, proposal, rail, nextAttemptAt, exchanges } = found;
  const pause = (await context.storage.readPauses()).find((each) => each.rail === rail);
  const isOpen = state !== "closed";
  const isLost = found.payment.kind === "checkout" && status === "pending" && state === "accepted" && !found.url;
  const params = { reference };
  const problem = problemOf(found, view);
  const content = [
    problem &&
      markup`<div class="${conflict ? "alert" : "notice"}" role="status">${problem.sign} ${problem.text}</div>`,
    isLost && notice(t("linkWasLost")),
    isOpen && pause && notice(markup`${t("railIsPaused", { rail, time: stamp(pause.at) })} ${t("askedNothing")}`),
    facts([
      [t("rail"), rail],
      (state !== "waiting" || !problem) && [t("state"), t(`handover.${state}`)],
      found.payment.railReference !== undefined && [t("railsReference"), code(found.payment.railReference)],
      unknownSince !== undefined && [t("since"), stamp(unknownSince)],
      nextAttemptAt !== undefined && [t("railAskedNext"), stamp(nextAttemptAt)],
    ]),
    proposal && notice(proposalText(proposal, view)),
    exchanges.length > 0
      ? [markup`<h3>${t("whatWasSent")}</h3>`, timeline(view, exchanges.map(momentOf(view)))]
      : soft(t("railWasNotAsked")),
    isOpen && form(view, "payment.ask", { params }),
    isOpen && status === "pending" && form(view, "payment.decide", { params }),
    conflict && form(view, "payment.close-conflict", { params }),
  ];
  return section("rail", t("rail"), content, true);
}

const momentOf =
  ({ t }: Words) =>
  ({ at, action, result, latencyMs, detail = "" }: RailExchange): Moment => ({
    at,
    tone: result === "success" ? "good" : result === "pending" || result === "missing" ? "" : "bad",
    text: t("labelled", { label: t(`exchange.${action}`), value: t(`exchange.${result}`) }),
    like: [action, result, detail].join(" "),
    notes: [latencyMs > 0 && `${latencyMs} ms`, detail !== "" && markup`<bdi lang="en">${detail}</bdi>`],
  });
