import { timestamp } from "../../domain/representation.ts";
import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Event } from "../../domain/events.ts";
import type { LoggedRequest } from "../../domain/request-log.ts";

/** Something that happened or will happen to a payment. Times are in the merchant's sandbox time. */
export interface Moment {
  at: number;
  /** `next` for a future moment. */
  tone: "" | "good" | "bad" | "next";
  text: string;
  /** The text below. */
  note?: string;
  /** Messages that were sent or received. */
  texts?: { label: string; text: string }[];
  /** The id of the webhook's delivery, which has its own page. */
  delivery?: string;
  /** The address of the linked page, relative to the merchant's pages. */
  link?: string;
  /** The id of the request, which is in the log of requests. */
  request?: string;
}

/** What belongs to a payment besides its record. */
interface Related {
  event?: Event | undefined;
  delivery?: Delivery | undefined;
  /** The request that created it. */
  request?: Pick<LoggedRequest, "requestId" | "program"> | undefined;
}

/**
 * The texts for a payment that will get a status, and for a payment that has it. Only an expiring checkout will be
 * cancelled.
 */
export const OUTCOMES = {
  success: { will: "Succeeds", did: "Succeeded" },
  failed: { will: "Fails", did: "Failed" },
  cancelled: { will: "Expires", did: "Cancelled" },
} as const;

/** The story of a payment from its creation to the last attempt to deliver its webhook, and what comes next. */
export function timelineOf(payment: Disbursement | Checkout, { event, delivery, request }: Related): Moment[] {
  const { createdAt, updatedAt, status, due } = payment;
  const approval = "approval" in payment ? payment.approval : undefined;
  const moments: Moment[] = [{ at: createdAt, tone: "", text: "Created", ...(request && createdBy(request)) }];
  if (status !== "pending") {
    moments.push({ at: updatedAt, tone: status === "success" ? "good" : "bad", text: OUTCOMES[status].did });
  } else if (due)
    moments.push({
      at: due.at,
      tone: "next",
      text: approval ? "Fails unless somebody approves it" : OUTCOMES[due.status].will,
    });
  if (event) moments.push(eventMoment(event, delivery));
  if (delivery) {
    moments.push(...attemptMoments(delivery));
    moments.push(...nextAttempt(delivery));
  }
  return moments;
}

const createdBy = ({ requestId, program }: NonNullable<Related["request"]>) => ({
  request: requestId,
  ...(program !== undefined && { note: `Requested by ${program}` }),
});

function eventMoment({ type, body, createdAt }: Event, delivery?: Delivery): Moment {
  const note = delivery ? `For ${delivery.url}` : "No webhook: there is no address for it.";
  const link = delivery && { delivery: delivery.id };
  return {
    at: createdAt,
    tone: "",
    text: `Event ${type}`,
    note,
    texts: [{ label: "Body", text: indented(body) }],
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

/** The most equal attempts that are shown one by one. */
const MOST_ALIKE = 2;

/** Describes a delivery's attempts. Of many with the same result in a row, the last stands for all. */
export function attemptMoments(delivery: Delivery): Moment[] {
  const runs: { result: string; attempts: Attempt[] }[] = [];
  for (const attempt of delivery.attempts) {
    const result = attempt.error ?? resultOf(attempt);
    const last = runs.at(-1);
    if (last?.result === result) last.attempts.push(attempt);
    else runs.push({ result, attempts: [attempt] });
  }
  return runs.flatMap(({ result, attempts }) => {
    const moments = attempts.map((attempt) => attemptMoment(attempt, delivery));
    if (attempts.length <= MOST_ALIKE) return moments;
    const [first, last] = [attempts[0]!, attempts.at(-1)!];
    const since = `Attempts ${first.number} to ${last.number}, since ${timestamp(first.at).slice(0, 19).replace("T", " ")} UTC. The last is shown.`;
    return [{ ...moments.at(-1)!, text: `${attempts.length} attempts: ${result}`, note: since }];
  });
}

const resultOf = ({ httpStatus }: Attempt) => (httpStatus === undefined ? "no response" : `status ${httpStatus}`);

/** The attempt that is due next, if any. */
export function nextAttempt({ nextAttemptAt, attempts }: Delivery): Moment[] {
  const number = (attempts.at(-1)?.number ?? 0) + 1;
  return nextAttemptAt === undefined ? [] : [{ at: nextAttemptAt, tone: "next", text: `Attempt ${number}` }];
}

/** Describes an attempt. Every attempt sends the delivery's body. */
export function attemptMoment(attempt: Attempt, delivery: Delivery): Moment {
  const { number, at, latencyMs, httpStatus, responseBody, error } = attempt;
  const isGood = httpStatus !== undefined && httpStatus >= 200 && httpStatus < 300;
  const result = resultOf(attempt);
  return {
    at,
    tone: isGood ? "good" : "bad",
    text: `Attempt ${number}: ${result} after ${latencyMs} ms`,
    ...(error !== undefined && { note: error }),
    texts: [
      { label: "Request", text: requestOf(attempt, delivery) },
      ...(responseBody ? [{ label: "Response", text: responseBody }] : []),
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
