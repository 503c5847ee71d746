import { EVENT_TYPES } from "../domain/events.ts";
import { LIMITS, parseLimits, type Limits } from "../domain/limits.ts";
import { parseTerms, TERMS, type Terms } from "../domain/terms.ts";
import { PACE } from "../domain/replays.ts";
import { ROLES } from "../domain/roles.ts";
import { SCOPES, type Scope } from "../domain/keys.ts";
import { DEFAULT_LIMIT } from "../domain/pages.ts";
import type { DeliveryFilter, DeliverySearch } from "../domain/deliveries.ts";

const OUTCOMES = ["success", "failed"] as const;
const STATUSES: readonly DeliveryFilter[] = ["pending", "delivered", "ended", "exhausted", "failed"];
const LIMIT_MAX = 1_000;

const oneOf =
  <T extends string>(name: string, values: readonly T[]) =>
  (text: string): T => {
    const found = values.find((one) => one === text);
    if (!found) throw new Error(`--${name} must be one of ${values.join(", ")}.`);
    return found;
  };

const time = (name: string) => (text: string) => {
  const found = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(found)) {
    throw new Error(`--${name} must be a time in UTC, such as 2026-11-21 or 2026-11-21T09:30:00Z.`);
  }
  return found;
};

const day = (name: string) => (text: string) => {
  const found = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(found)) throw new Error(`--${name} must be a day (UTC), such as 2026-11-21.`);
  return found;
};

const numberUpTo = (name: string, most: number) => (text: string) => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Error(`--${name} must be a whole number from 1 to ${most}.`);
};

const UNITS = { d: 86_400_000, h: 3_600_000 };

function duration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? [];
  if (unit !== undefined) return Number(count) * UNITS[unit as keyof typeof UNITS];
  throw new Error("--older-than must be a number of days or hours, such as 90d or 12h.");
}

function changeId(given: string): string {
  if (/^[\w-]{8,64}$/.test(given)) return given;
  throw new Error("--id must have 8 to 64 letters, digits, - or _.");
}

function scopes(list: string): Scope[] {
  const given = new Set(list.split(",").map((name) => oneOf("scopes", SCOPES)(name.trim())));
  return SCOPES.filter((scope) => given.has(scope));
}

const text = (value: string): string => value;
const flag = (): true => true;

const limitMeaning = (name: keyof Limits) => `${LIMITS[name].meaning}, such as ${LIMITS[name].example}`;

const termMeaning = (name: keyof Terms) => `${TERMS[name].meaning}, such as ${TERMS[name].example}`;

/** Every option of the command line, with its meaning. An option with `value` takes a value. */
export const OPTIONS = {
  status: {
    value: "STATUS",
    parse: oneOf("status", STATUSES),
    meaning: "pending, delivered, ended, exhausted, or failed (ended or exhausted)",
  },
  reference: {
    value: "REFERENCE",
    parse: text,
    meaning: "of the service, such as DSB… or CHK…; deliveries takes the merchant's, too",
  },
  type: { value: "EVENT", parse: oneOf("type", EVENT_TYPES), meaning: "such as disbursement.completed" },
  host: { value: "HOST", parse: text, meaning: "of the receiver, with its port if its address has one" },
  since: { value: "TIME", parse: time("since"), meaning: "in UTC, such as 2026-11-21 or 2026-11-21T09:30:00Z" },
  until: { value: "TIME", parse: time("until"), meaning: "in UTC; events of this time or later are left out" },
  pace: {
    value: "N",
    parse: numberUpTo("pace", PACE.most),
    meaning: `deliveries per second, ${PACE.least} to ${PACE.most}; ${PACE.usual} by default`,
  },
  limit: {
    value: "N",
    parse: numberUpTo("limit", LIMIT_MAX),
    meaning: `entries on a page, 1 to ${LIMIT_MAX}; ${DEFAULT_LIMIT} by default`,
  },
  cursor: { value: "CURSOR", parse: text, meaning: "where the previous page ended" },
  name: { value: "NAME", parse: text, meaning: "of the key, or of the person (for a link by default your own)" },
  role: {
    value: "ROLE",
    parse: oneOf("role", ROLES),
    meaning: `what the person may do: ${ROLES.join(", ")}; by default administrator`,
  },
  scopes: {
    value: "SCOPES",
    parse: scopes,
    meaning: `the only operations of the key, such as read,disburse; known are ${SCOPES.join(", ")}`,
  },
  "per-payment": { value: "AMOUNTS", parse: text, meaning: limitMeaning("perPayment") },
  "per-day": { value: "AMOUNTS", parse: text, meaning: limitMeaning("perDay") },
  countries: { value: "LIST", parse: text, meaning: limitMeaning("countries") },
  currencies: { value: "LIST", parse: text, meaning: limitMeaning("currencies") },
  recipients: { value: "LIST", parse: text, meaning: limitMeaning("recipients") },
  "approval-from": { value: "AMOUNTS", parse: text, meaning: limitMeaning("approvalFrom") },
  "disbursement-fee": { value: "FEE", parse: text, meaning: termMeaning("disbursementFee") },
  "checkout-fee": { value: "FEE", parse: text, meaning: termMeaning("checkoutFee") },
  "rate-limit": { value: "N", parse: text, meaning: termMeaning("rateLimit") },
  session: { value: "ID", parse: text, meaning: "of one session, as the command sessions lists it" },
  none: { parse: flag, meaning: "remove the address" },
  yes: { parse: flag, meaning: "do it; without it, only count" },
  "older-than": { value: "AGE", parse: duration, meaning: "in days or hours, such as 90d or 12h" },
  "dry-run": { parse: flag, meaning: "change nothing; print what would be done" },
  check: { parse: flag, meaning: "change nothing; exit with 1 if there is something to do" },
  replace: { parse: flag, meaning: "replace a database that has data; the old file is kept" },
  outcome: {
    value: "OUTCOME",
    parse: oneOf("outcome", OUTCOMES),
    meaning: "how the payment has ended: success or failed",
  },
  id: {
    value: "ID",
    parse: changeId,
    meaning: "of this change; repeated with the same ID, the command takes effect once",
  },
  reason: { value: "TEXT", parse: text, meaning: "why, for the audit trail" },
  rail: { value: "NAME", parse: text, meaning: "of a rail in the configuration" },
  from: { value: "DAY", parse: day("from"), meaning: "the first day (UTC), such as 2026-11-21" },
  to: { value: "DAY", parse: day("to"), meaning: "the last day (UTC), which is included" },
  statement: {
    value: "FILE",
    parse: text,
    meaning: "a CSV file with the columns reference, amount, currency, status, and perhaps fee and created",
  },
  csv: { value: "FILE", parse: text, meaning: "write every difference into this CSV file" },
  json: { parse: flag, meaning: "print JSON" },
} as const;

export type Options = { readonly [Name in keyof typeof OPTIONS]?: ReturnType<(typeof OPTIONS)[Name]["parse"]> };

/** The options with conditions for deliveries. */
export const SEARCH = ["status", "type", "host", "reference", "since", "until"] as const;

/** The page of a list. */
export const pageIn = ({ limit = DEFAULT_LIMIT, cursor }: Options) => ({
  limit,
  ...(cursor !== undefined && { cursor }),
});

/** The options with limits of payouts. */
export const LIMIT_OPTIONS = [
  "per-payment",
  "per-day",
  "countries",
  "currencies",
  "recipients",
  "approval-from",
] as const;

/** The limits of payouts; undefined without any. @throws ServiceError `invalid_value` */
export const limitsIn = (options: Options): Limits | undefined =>
  parseLimits({
    ...options,
    perPayment: options["per-payment"],
    perDay: options["per-day"],
    approvalFrom: options["approval-from"],
  });

/** The terms that were agreed with a merchant; undefined without any. @throws ServiceError `invalid_value` */
export const termsIn = (options: Options): Terms | undefined =>
  parseTerms({
    disbursementFee: options["disbursement-fee"],
    checkoutFee: options["checkout-fee"],
    rateLimit: options["rate-limit"],
  });

/** The conditions for events or deliveries. */
export function searchIn({ status, type, host, reference, since, until }: Options): DeliverySearch {
  const search = { status, type, host, reference, createdAfter: since, createdBefore: until };
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as DeliverySearch;
}
