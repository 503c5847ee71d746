import type { DeliveryFilter, DeliverySearch } from "../domain/deliveries.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { timestamp } from "../domain/representation.ts";
import { refused } from "./refused.ts";

/** What a person can search webhooks by. A person may type the service's reference or the merchant's. */
export const SEARCH = ["status", "type", "host", "reference", "from", "to"] as const;
export type TypedSearch = Record<(typeof SEARCH)[number], string>;

/** The statuses of webhooks, as links may have them. */
const STATUSES: Readonly<Record<DeliveryFilter, true>> = {
  pending: true,
  delivered: true,
  failed: true,
  ended: true,
  exhausted: true,
};

/** @throws Refused if a field has a value that the form or a link does not send */
export function searchOf({ status, type, host, from, to }: TypedSearch): DeliverySearch {
  if (status !== "" && !Object.hasOwn(STATUSES, status)) throw refused(422, "error.noStatus");
  if (type !== "" && !EVENT_TYPES.includes(type as EventType)) throw refused(422, "error.noEvent");
  return {
    ...(status !== "" && { status: status as DeliveryFilter }),
    ...(type !== "" && { type: type as EventType }),
    ...(host !== "" && { host: hostOf(host) }),
    ...(from !== "" && { createdAfter: timeOf(from) }),
    ...(to !== "" && { createdBefore: timeOf(to) }),
  };
}

/** What a person would type for a search. */
export function typedFor(search: DeliverySearch): TypedSearch {
  const { status = "", type = "", host = "", reference = "", createdAfter, createdBefore } = search;
  return { status, type, host, reference, from: typedTime(createdAfter), to: typedTime(createdBefore) };
}

const typedTime = (at?: number) => (at === undefined ? "" : timestamp(at).slice(0, -1));

/** People may paste a whole address. */
const hostOf = (typed: string): string => (typed.includes("://") && URL.parse(typed)?.host) || typed.toLowerCase();

/** A time in UTC, as browsers send it. */
function timeOf(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text);
  const time = isTime ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) throw refused(422, "error.time");
  return time;
}
