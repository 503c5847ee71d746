import { timestamp } from "../../domain/representation.ts";
import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import type { Checkout, Disbursement } from "../../domain/records.ts";
import type { Event } from "../../domain/events.ts";
import type { LoggedRequest } from "../../domain/request-log.ts";
import { sandboxTime } from "../../domain/time.ts";
import { joined, link, markup, pre, soft, type Html, type Part } from "./html.ts";
import { merchantOf, type View, type Words } from "./view.ts";

/** Something that happened or will happen to a payment. Times are in the merchant's sandbox time. */
export interface Moment {
  at: number;
  /** `next` for a future moment. */
  tone: "" | "good" | "bad" | "next";
  text: Part;
  /** Equal for moments that are alike. */
  like?: string;
  /** The lines below. */
  notes?: Part[];
  /** Messages that were sent or received. */
  texts?: { label: "response" | "body"; text: string }[];
}

/** How many moments in a row that are alike are shown one by one; of more, only the last is shown. */
const MOST_ALIKE = 2;

/** Groups moments in a row that are alike, if there are many of them. */
function inRuns(moments: readonly Moment[]): Moment[][] {
  const runs: Moment[][] = [];
  for (const moment of moments) {
    const last = runs.at(-1);
    if (last && moment.like !== undefined && last[0]!.like === moment.like) last.push(moment);
    else runs.push([moment]);
  }
  return runs.flatMap((run) => (run.length <= MOST_ALIKE ? run.map((moment) => [moment]) : [run]));
}

export function timeline({ t, time }: Words, moments: readonly Moment[]): Html {
  const shown = inRuns(moments).map((run) => {
    const { at, tone, text, notes = [], texts = [] } = run.at(-1)!;
    const others = run.length > 1 && t("lastInARow", { count: run.length, since: time(run[0]!.at) });
    const sent = texts.map(
      ({ label, text: content }) =>
        markup`<details><summary>${t(label)}</summary>${pre(content, { class: "body" })}</details>`,
    );
    return markup`<li class="${tone}"><p>${text}</p>
${[others, ...notes].map((note) => note && soft(note))}<time class="under" datetime="${timestamp(at)}">${time(at)} UTC</time>${sent}</li>`;
  });
  return markup`<ol class="timeline">${shown}</ol>`;
}

/** Everything about a payment besides its record. */
interface Related {
  event?: Event | undefined;
  delivery?: Delivery | undefined;
  /** The request that created it. */
  request?: Pick<LoggedRequest, "requestId" | "program"> | undefined;
  /** What people call the API key of that request. */
  key?: Part;
}

/** The story of a payment from its creation to the last attempt to deliver its webhook, and what comes next. */
export function timelineOf(payment: Disbursement | Checkout, related: Related, view: View): Moment[] {
  const { t, word, area } = view;
  const { event, delivery, request, key } = related;
  const { createdAt, updatedAt, status, due } = payment;
  const isApproved = !("approval" in payment && payment.approval);
  const said = [
    request?.program !== undefined && t("requestedBy", { program: request.program }),
    request && key !== undefined && t("byKey", { key }),
  ];
  const seeRequest = request && link(`${area}/requests?request=${request.requestId}`, t("seeRequest"));
  const moments: Moment[] = [
    { at: createdAt, tone: "", text: t("moment.created"), notes: [joined(said, " · "), seeRequest] },
  ];
  if (status !== "pending")
    moments.push({ at: updatedAt, tone: status === "success" ? "good" : "bad", text: word("status", status) });
  else if (due)
    moments.push({
      at: sandboxTime(merchantOf(view), due.at),
      tone: "next",
      text: isApproved ? t("moment.due", { status: word("status", due.status) }) : t("moment.unlessApproved"),
    });
  if (event)
    moments.push({
      at: event.createdAt,
      tone: "",
      text: t("eventOf", { type: event.type }),
      notes: delivery
        ? [[t("forUrl", { url: delivery.url }), " ", link(`${area}/webhooks/${delivery.id}`, t("openOrReplay"))]]
        : [t("noAddress")],
      texts: [{ label: "body", text: indented(event.body) }],
    });
  return delivery ? [...moments, ...attemptMoments(delivery, view)] : moments;
}

/** A JSON text for people. */
export function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/** Describes a delivery's attempts, and the attempt that is due next. */
export function attemptMoments({ attempts, nextAttemptAt }: Delivery, words: Words): Moment[] {
  const made = attempts.map((attempt) => attemptMoment(attempt, words));
  if (nextAttemptAt === undefined) return made;
  const number = (attempts.at(-1)?.number ?? 0) + 1;
  return [...made, { at: nextAttemptAt, tone: "next", text: words.t("attempt", { number }) }];
}

function attemptMoment(attempt: Attempt, { t }: Words): Moment {
  const { at, httpStatus, responseBody, error } = attempt;
  const isGood = httpStatus !== undefined && httpStatus >= 200 && httpStatus < 300;
  const result = httpStatus === undefined ? t("noResponse") : t("statusIs", { status: String(httpStatus) });
  return {
    at,
    tone: isGood ? "good" : "bad",
    text: t("attemptIs", { ...attempt, result }),
    like: error ?? String(httpStatus),
    notes: error === undefined ? [] : [markup`<bdi lang="en">${error}</bdi>`],
    texts: responseBody ? [{ label: "response", text: responseBody }] : [],
  };
}
