import { conflictIn } from "../../domain/attention.ts";
import type { Handover, StoredExchange } from "../../domain/handovers.ts";
import type { TextId } from "../../texts/index.ts";
import { whoIs } from "./audit-words.ts";
import { markup, type Html } from "./html.ts";
import { card, code, facts, form, soft } from "./parts.ts";
import { alike, timeline, type Moment } from "./timeline.ts";
import type { View } from "./view.ts";
import type { Words } from "./words.ts";

/** Says in plain words how the rail contradicts the status of a payment; undefined if it does not. */
export function conflictText(handover: Handover, { t, amount: money, word }: Words) {
  if (!handover.conflict) return undefined;
  const amount = money(handover.payment.amount, handover.payment.currency);
  const kind = conflictIn(handover);
  if (kind === "paidLate") return t("conflict.paidLate", { amount, status: word("status", handover.status) });
  return t(`conflict.${kind}`, { amount });
}

/** A payment's way over its rail. Undefined for a payment from before the service had rails. */
export async function railOf({ context: { storage } }: View, reference: string) {
  const handover = await storage.findHandover(reference);
  if (!handover) return undefined;
  const [pauses, exchanges] = await Promise.all([storage.readPauses(), storage.listExchanges(reference)]);
  const isOpen = handover.state !== "closed";
  return {
    ...handover,
    pausedAt: isOpen ? pauses.find(({ rail }) => rail === handover.rail)?.at : undefined,
    exchanges,
  };
}

const STATES = {
  waiting: "notYetGiven",
  accepted: "railHasNotEnded",
  closed: "ended",
} as const satisfies Record<Handover["state"], TextId>;

/** What a person sees of the rail, and can do about the payment. Its forms are for operators. */
export function railPart(
  view: View,
  payment: { reference: string },
  found: NonNullable<Awaited<ReturnType<typeof railOf>>>,
): Html {
  const { t, rich, stamp, word } = view;
  const { state, status, unknownSince, conflict, proposal, rail, pausedAt, nextAttemptAt, exchanges } = found;
  const isUnknown = unknownSince !== undefined && state !== "closed";
  const isLost = found.payment.kind === "checkout" && status === "pending" && state === "accepted" && !found.url;
  const needsTwo = !view.context.config.oneOperatorDecides;
  const decision = !needsTwo ? "endPayment" : proposal ? "confirmOrPropose" : "propose";
  const params = { reference: payment.reference };
  const isKnownToWait = state === "waiting" && unknownSince !== undefined;
  const content = markup`${
    conflict
      ? markup`<div class="alert" role="status">${rich("conflictIs", { conflict: conflictText(found, view) })}</div>`
      : isUnknown &&
        markup`<p><span class="badge pending">${t("unknown")}</span> ${rich(state === "accepted" ? "unknownAtRail" : "unknownWhetherRail", { time: stamp(unknownSince) })}</p>`
  }
${isLost && markup`<p class="notice">${t("linkWasLost")}</p>`}
${pausedAt !== undefined && markup`<p class="notice">${rich("railIsPaused", { rail, time: stamp(pausedAt) })} ${t("askedNothing")}</p>`}
${facts([
  [t("rail"), rail],
  [t("state"), t(isKnownToWait ? "notKnownWhether" : STATES[state])],
  found.payment.railReference !== undefined && [t("railsReference"), code(found.payment.railReference)],
  nextAttemptAt !== undefined && [t("railAskedNext"), stamp(nextAttemptAt)],
])}
${proposal && markup`<p class="notice">${rich("proposedBy", { reason: proposal.reason, by: whoIs(proposal.by, view), status: word("status", proposal.status) })}</p>`}
${
  exchanges.length > 0
    ? markup`<h3>${t("whatWasSent")}</h3>${timeline(
        view,
        alike(exchanges, ({ action, result, detail = "" }) => [action, result, detail].join(" ")).map((run) =>
          momentOf(run, view),
        ),
      )}`
    : soft(t("railWasNotAsked"))
}
${state !== "closed" && form(view, "payment.ask", { params })}
${
  state !== "closed" &&
  status === "pending" &&
  form(view, "payment.decide", {
    params,
    button: decision,
    hint: [t("decideHint"), " ", needsTwo ? t("decideHint.two") : t("decideHint.one")],
  })
}
${conflict && form(view, "payment.close-conflict", { params, prefix: "closing" })}`;
  return card(content, { id: "rail", title: t("theRail"), isLive: true, class: "stack" });
}

const RESULTS = {
  pending: ["exchange.pending", ""],
  success: ["exchange.success", "good"],
  failed: ["exchange.failed", "bad"],
  cancelled: ["exchange.failed", "bad"],
  missing: ["exchange.missing", ""],
  unknown: ["exchange.unknown", "bad"],
  "not-sent": ["exchange.not-sent", "bad"],
} as const satisfies Record<StoredExchange["result"], readonly [TextId, Moment["tone"]]>;

/** @param run equal exchanges in a row, of which the last stands for all */
function momentOf(run: readonly StoredExchange[], { t, time }: Words): Moment {
  const { at, action, result, latencyMs, detail = "" } = run.at(-1)!;
  const [become, tone] = RESULTS[result];
  const values = { action: t(`exchange.${action}`), result: t(become), latencyMs, count: run.length };
  const own = detail === "" ? undefined : markup`<bdi lang="en">${detail}</bdi>`;
  if (run.length > 1) {
    const note = markup`${t("sinceLast", { since: time(run[0]!.at) })} ${own}`;
    return { at, tone, text: t("exchange.several", values), note };
  }
  const isCall = action === "pay" || action === "collect" || action === "find";
  return {
    at,
    tone,
    text: isCall ? t("exchange.timed", values) : t("exchange.one", values),
    ...(own && { note: own }),
  };
}
