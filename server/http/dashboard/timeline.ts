import { timestamp } from "../../domain/representation.ts";
import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Event } from "../../domain/events.ts";
import type { LoggedRequest } from "../../domain/request-log.ts";
import { markup, type Html } from "./html.ts";
import { link as linkTo, pre } from "./parts.ts";
import type { View } from "./view.ts";
import type { Words } from "./words.ts";

/** Something that happened or will happen to a payment. Times are in the merchant's sandbox time. */
export interface Moment {
  at: number;
  /** `next` for a future moment. */
  tone: "" | "good" | "bad" | "next";
  text: string;
  /** The text below. */
  note?: string | Html;
  /** Messages that were sent or received. */
  texts?: { label: "request" | "response" | "body"; text: string }[];
  /** The id of the webhook's delivery, which has its own page. */
  delivery?: string;
  /** The address of the linked page, relative to the merchant's pages. */
  link?: string;
  /** The id of the request, which is in the log of requests. */
  request?: string;
}

export function timeline({ area, t, time }: View, moments: readonly Moment[]): Html {
  return markup`<ol class="timeline">${moments.map(
    ({ at, tone, text, note, texts = [], delivery, link, request }) => markup`
  <li class="${tone}">
    <p>${link === undefined ? text : linkTo(`${area}/${link}`, text)}</p>
    ${note && markup`<p class="soft">${note}${delivery && markup` ${linkTo(`${area}/webhooks/${delivery}`, t("openOrReplay"))}`}</p>`}
    ${request && markup`<p class="soft">${linkTo(`${area}/requests?request=${request}`, t("seeRequest"))}</p>`}
    <time class="under" datetime="${timestamp(at)}">${time(at)} UTC</time>
    ${texts.map(({ label, text: content }) => markup`<details><summary>${t(label)}</summary>${pre(content, { class: "body" })}</details>`)}
  </li>`,
  )}
</ol>`;
}

/** Everything about a payment besides its record. */
interface Related {
  event?: Event | undefined;
  delivery?: Delivery | undefined;
  /** The request that created it. */
  request?: Pick<LoggedRequest, "requestId" | "program"> | undefined;
  /** What people call the API key of that request. */
  key?: string | undefined;
}

/** The story of a payment from its creation to the last attempt to deliver its webhook, and what comes next. */
export function timelineOf(
  payment: Disbursement | Checkout,
  { event, delivery, request, key }: Related,
  words: Words,
): Moment[] {
  const { t } = words;
  const { createdAt, updatedAt, status, due } = payment;
  const approval = "approval" in payment ? payment.approval : undefined;
  const moments: Moment[] = [
    { at: createdAt, tone: "", text: t("moment.created"), ...(request && createdBy(request, key, words)) },
  ];
  if (status !== "pending") {
    moments.push({ at: updatedAt, tone: status === "success" ? "good" : "bad", text: t(`moment.${status}`) });
  } else if (due)
    moments.push({
      at: due.at,
      tone: "next",
      text: approval ? t("moment.unlessApproved") : t(`will.${due.status}`),
    });
  if (event) moments.push(eventMoment(event, delivery, words));
  if (delivery) {
    moments.push(...attemptMoments(delivery, words));
    moments.push(...nextAttempt(delivery, words));
  }
  return moments;
}

function createdBy({ requestId, program }: NonNullable<Related["request"]>, key: string | undefined, { t }: Words) {
  const said = [
    program !== undefined && t("requestedBy", { program }),
    key !== undefined && t("byKey", { key }),
  ].filter((text) => text !== false);
  return { request: requestId, ...(said.length > 0 && { note: said.join(" · ") }) };
}

function eventMoment({ type, body, createdAt }: Event, delivery: Delivery | undefined, { t }: Words): Moment {
  const note = delivery ? t("forUrl", { url: delivery.url }) : t("noAddress");
  const link = delivery && { delivery: delivery.id };
  return {
    at: createdAt,
    tone: "",
    text: t("eventOf", { type }),
    note,
    texts: [{ label: "body", text: indented(body) }],
    ...link,
  };
}

/** A JSON text for people. */
export function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/** How many attempts in a row with the same result are shown one by one. */
const MOST_ALIKE = 2;

/** Groups items in a row that are alike, if there are many of them. */
export function alike<T>(all: readonly T[], likeness: (each: T) => string): T[][] {
  const runs: T[][] = [];
  for (const each of all) {
    const last = runs.at(-1);
    if (last && likeness(last[0]!) === likeness(each)) last.push(each);
    else runs.push([each]);
  }
  return runs.flatMap((run) => (run.length <= MOST_ALIKE ? run.map((each) => [each]) : [run]));
}

/** Describes a delivery's attempts. If many attempts in a row have the same result, only the last is shown. */
export function attemptMoments(delivery: Delivery, words: Words): Moment[] {
  const { t, time } = words;
  const result = (attempt: Attempt) => attempt.error ?? resultOf(attempt, words);
  return alike(delivery.attempts, result).map((run) => {
    const [first, last] = [run[0]!, run.at(-1)!];
    const moment = attemptMoment(last, delivery, words);
    if (run.length === 1) return moment;
    const note = t("attemptsFromTo", {
      first: first.number,
      last: last.number,
      since: time(first.at),
    });
    return { ...moment, text: t("attemptsWith", { count: run.length, result: result(last) }), note };
  });
}

export const resultOf = ({ httpStatus }: Attempt, { t }: Words) =>
  httpStatus === undefined ? t("noResponse") : t("statusIs", { status: String(httpStatus) });

/** The attempt that is due next, if any. */
export function nextAttempt({ nextAttemptAt, attempts }: Delivery, { t }: Words): Moment[] {
  const number = (attempts.at(-1)?.number ?? 0) + 1;
  return nextAttemptAt === undefined ? [] : [{ at: nextAttemptAt, tone: "next", text: t("attempt", { number }) }];
}

/** Describes an attempt. Every attempt sends the delivery's body. */
export function attemptMoment(attempt: Attempt, delivery: Delivery, words: Words): Moment {
  const { at, httpStatus, responseBody, error } = attempt;
  const isGood = httpStatus !== undefined && httpStatus >= 200 && httpStatus < 300;
  const result = resultOf(attempt, words);
  return {
    at,
    tone: isGood ? "good" : "bad",
    text: words.t("attemptEnded", { ...attempt, result }),
    ...(error !== undefined && { note: markup`<bdi lang="en">${error}</bdi>` }),
    texts: [
      { label: "request", text: requestOf(attempt, delivery) },
      ...(responseBody ? [{ label: "response", text: responseBody } as const] : []),
    ],
  };
}

/** The part of a traceparent that all attempts share: the version and the trace's id. */
const TRACE_LENGTH = "00-".length + 32 + "-".length;

/**
 * The request of an attempt, without the signature, which is not stored, and without the body, which all attempts
 * share.
 */
function requestOf({ sentAt }: Attempt, { url, id, traceparent }: Delivery): string {
  return [
    `POST ${url}`,
    `sent at ${timestamp(sentAt)}`,
    `webhook-id: ${id}`,
    `webhook-timestamp: ${Math.floor(sentAt / 1_000)}`,
    ...(traceparent === undefined ? [] : [`traceparent: ${traceparent.slice(0, TRACE_LENGTH)}…`]),
  ].join("\n");
}
