import { EVENT_TYPES, type EventType } from "../../domain/events.ts";
import { timestamp } from "../../domain/representation.ts";
import type { DeliveryFilter, DeliverySearch } from "../../domain/deliveries.ts";
import { field, PageError } from "./visit.ts";
import type { English, Words } from "./words.ts";

/**
 * What people call each status. The server has two statuses for webhooks that it has given up, by the reason; people
 * read "failed" for both.
 */
export const STATUSES = {
  failed: "failed",
  pending: "waiting",
  delivered: "delivered",
  ended: "failed",
  exhausted: "failed",
} as const satisfies Record<DeliveryFilter, English>;
/** Why a webhook has failed. */
export const REASONS: Partial<Readonly<Record<DeliveryFilter, English>>> = {
  ended: "the receiver refused it for good (410)",
  exhausted: "all attempts of the schedule were used",
};

/** The fields of the form. `reference` is not part of a search: a person may type the service's or the merchant's. */
const FIELDS = ["status", "type", "host", "reference", "from", "to"] as const;
export type TypedFilter = Record<(typeof FIELDS)[number], string>;

/** Reads the form's fields. */
export const typedIn = (query: unknown): TypedFilter =>
  Object.fromEntries(FIELDS.map((name) => [name, field(query, name)])) as TypedFilter;

/** @throws PageError if a field has a value that the form or a link does not send */
export function searchOf({ status, type, host, from, to }: TypedFilter): DeliverySearch {
  if (status !== "" && !Object.hasOwn(STATUSES, status)) throw new PageError(422, "There is no such status.");
  if (type !== "" && !EVENT_TYPES.includes(type as EventType)) throw new PageError(422, "There is no such event.");
  return {
    ...(status !== "" && { status: status as DeliveryFilter }),
    ...(type !== "" && { type: type as EventType }),
    ...(host !== "" && { host: hostOf(host) }),
    ...(from !== "" && { createdAfter: timeOf(from) }),
    ...(to !== "" && { createdBefore: timeOf(to) }),
  };
}

/** The texts of the form's fields for a search. */
export function typedFor(search: DeliverySearch): TypedFilter {
  const { status = "", type = "", host = "", reference = "", createdAfter, createdBefore } = search;
  return { status, type, host, reference, from: typedTime(createdAfter), to: typedTime(createdBefore) };
}

const typedTime = (at?: number) => (at === undefined ? "" : timestamp(at).slice(0, -1));

/** Says in words what a search finds. */
export function describe(search: DeliverySearch, { t, time }: Words): string[] {
  const { status, type, host, reference, createdAfter, createdBefore } = search;
  const reason = status && REASONS[status];
  const state = status && [t("status: {status}", { status: t(STATUSES[status]) }), ...(reason ? [t(reason)] : [])];
  return [
    ...(state === undefined ? [] : [state.join(", ")]),
    ...(type === undefined ? [] : [t("event: {type}", { type })]),
    ...(host === undefined ? [] : [t("receiver: {host}", { host })]),
    ...(reference === undefined ? [] : [t("payment: {reference}", { reference })]),
    ...(createdAfter === undefined ? [] : [t("from {time} UTC", { time: time(createdAfter) })]),
    ...(createdBefore === undefined ? [] : [t("before {time} UTC", { time: time(createdBefore) })]),
  ];
}

/** People may paste a whole address. */
const hostOf = (typed: string): string => (typed.includes("://") && URL.parse(typed)?.host) || typed.toLowerCase();

/** A time in UTC, as browsers send it. */
function timeOf(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text);
  const time = isTime ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) throw new PageError(422, "A time has the form 2026-11-21T09:30, in UTC.");
  return time;
}
