import { among, whole } from "../config.ts";
import { PACE, type DeliveryFilter, type DeliverySearch } from "../domain/deliveries.ts";
import { EVENT_TYPES } from "../domain/events.ts";
import { SCOPES } from "../domain/keys.ts";
import { LIMITS, TERMS } from "../domain/limits.ts";
import { DEFAULT_LIMIT } from "../domain/pages.ts";
import { ROLES } from "../domain/sign-in.ts";
import { baseUrl } from "../rails/settings.ts";
import { english } from "../texts/index.ts";
import { parseTarget } from "../webhooks/guard.ts";
import { v7 } from "uuid";

const STATUSES: readonly DeliveryFilter[] = ["pending", "delivered", "ended", "exhausted", "failed"];
const LIMIT_MAX = 1_000;

/** @param read returns NaN for a text that is not valid after all */
const matching =
  <T>(pattern: RegExp, read: (text: string) => T) =>
  (text: string) => {
    const value = pattern.test(text) ? read(text) : undefined;
    return Number.isNaN(value) ? undefined : value;
  };

const time = matching(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/, Date.parse);
const day = matching(/^\d{4}-\d\d-\d\d$/, Date.parse);

/** The address of a receiver, where `http://` may be left out. */
function address(text: string): string | undefined {
  const url = text.includes("://") ? text : `http://${text}`;
  try {
    parseTarget(url, true);
    return url;
  } catch {
    return undefined;
  }
}

/** Reads a comma-separated list into the order of `values`. */
const someOf =
  <T extends string>(values: readonly T[]) =>
  (list: string) => {
    const given = list.split(",").map((text) => text.trim());
    return given.every(among(values)) ? values.filter((value) => given.includes(value)) : undefined;
  };

/** An option whose meaning the dashboard explains with the same texts. */
const explained = (
  value: string,
  id: `limit.${keyof typeof LIMITS}` | `term.${keyof typeof TERMS}`,
  { example }: { example: string },
) => ({ value, meaning: `${english(id)}, such as ${example}` });

/** Every option of the commands in `table.ts`. */
export const OPTIONS = {
  status: {
    value: "STATUS",
    parse: among(STATUSES),
    meaning: "pending, delivered, ended, exhausted, or failed (ended or exhausted)",
  },
  reference: { value: "REFERENCE", meaning: "of the service, such as DSB… or CHK…" },
  type: { value: "EVENT", parse: among(EVENT_TYPES), meaning: `one of ${EVENT_TYPES.join(", ")}` },
  host: { value: "HOST", meaning: "of the receiver, with its port if its address has one" },
  since: { value: "TIME", parse: time, meaning: "a time in UTC, such as 2026-11-21 or 2026-11-21T09:30:00Z" },
  until: { value: "TIME", parse: time, meaning: "a time in UTC; events of this time or later are left out" },
  pace: {
    value: "N",
    parse: whole(PACE.least, PACE.most),
    otherwise: () => PACE.usual,
    meaning: `deliveries per second, ${PACE.least} to ${PACE.most}; ${PACE.usual} by default`,
  },
  limit: {
    value: "N",
    parse: whole(1, LIMIT_MAX),
    otherwise: () => DEFAULT_LIMIT,
    meaning: `entries on a page, 1 to ${LIMIT_MAX}; ${DEFAULT_LIMIT} by default`,
  },
  cursor: { value: "CURSOR", meaning: "where the previous page ended" },
  name: { value: "NAME", meaning: "of the key or the person; for a link, by default yours" },
  role: {
    value: "ROLE",
    parse: among(ROLES),
    otherwise: () => "administrator" as const,
    meaning: `what the person may do: ${ROLES.join(", ")}; by default administrator`,
  },
  scopes: {
    value: "SCOPES",
    parse: someOf(SCOPES),
    meaning: `what the key may do, such as read,disburse; any of ${SCOPES.join(", ")}`,
  },
  "per-payment": explained("AMOUNTS", "limit.perPayment", LIMITS.perPayment),
  "per-day": explained("AMOUNTS", "limit.perDay", LIMITS.perDay),
  countries: explained("LIST", "limit.countries", LIMITS.countries),
  currencies: explained("LIST", "limit.currencies", LIMITS.currencies),
  recipients: explained("LIST", "limit.recipients", LIMITS.recipients),
  "approval-from": explained("AMOUNTS", "limit.approvalFrom", LIMITS.approvalFrom),
  "disbursement-fee": explained("FEE", "term.disbursementFee", TERMS.disbursementFee),
  "checkout-fee": explained("FEE", "term.checkoutFee", TERMS.checkoutFee),
  "rate-limit": explained("N", "term.rateLimit", TERMS.rateLimit),
  yes: { meaning: "do it; without it, only say what would be done" },
  check: { meaning: "change nothing; exit with 1 if there is something to do" },
  replace: { meaning: "replace a database that has data; the old file is kept" },
  outcome: { value: "OUTCOME", meaning: "how the payment has ended, success or failed" },
  id: {
    value: "ID",
    parse: matching(/^[\w-]{8,64}$/, String),
    otherwise: v7,
    meaning:
      "8 to 64 letters, digits, - or _ that name this change; repeated with the same ID, the command takes effect once",
  },
  reason: { value: "TEXT", meaning: "why, for the audit trail" },
  rail: { value: "NAME", meaning: "of a rail in the configuration" },
  from: { value: "DAY", parse: day, meaning: "the first day (UTC), such as 2026-11-21" },
  to: { value: "DAY", parse: day, meaning: "the last day (UTC), which is included" },
  "base-url": {
    value: "URL",
    parse: baseUrl,
    meaning: "of the server, without user and password; by default the one that runs here, else http://127.0.0.1:3000",
  },
  "api-key-file": {
    value: "FILE",
    meaning: "contains the API key; otherwise it is read from the variable API_KEY",
  },
  "forward-to": {
    value: "URL",
    parse: address,
    meaning: "where the receiver listens, such as localhost:4000/webhooks",
  },
  receiver: {
    value: "URL",
    parse: address,
    meaning: "where webhooks go of payments without a webhookURL, such as localhost:4000/webhooks",
  },
  events: {
    value: "NAMES",
    parse: someOf(EVENT_TYPES),
    meaning: `forward these only, separated by commas; there are ${EVENT_TYPES.join(", ")}`,
  },
  override: {
    value: "FIELD=VALUE",
    multiple: true,
    meaning: "sets a field of the request, such as amount=5000; may be repeated",
  },
  list: { meaning: "list the events, with the fields that can be set" },
  json: { meaning: "print JSON" },
} as const;

/** The options with conditions for deliveries. */
export const SEARCH_OPTIONS = "[--status] [--type] [--host] [--reference] [--since] [--until]";

/** The options with limits of payouts. */
export const LIMIT_OPTIONS =
  "[--per-payment] [--per-day] [--countries] [--currencies] [--recipients] [--approval-from]";

type Conditions = Omit<DeliverySearch, "createdAfter" | "createdBefore"> & { since?: number; until?: number };

/** The given conditions for events or deliveries. */
export function searchOf({ status, type, host, reference, since, until }: Conditions): DeliverySearch {
  const search = { status, type, host, reference, createdAfter: since, createdBefore: until };
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as DeliverySearch;
}
