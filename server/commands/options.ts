import { DEFAULT_LIMIT, type DeliveryFilter } from "../domain/storage.ts";

const STATUSES: readonly DeliveryFilter[] = ["pending", "delivered", "ended", "exhausted", "failed"];
const LIMIT_MAX = 1_000;

function status(text: string): DeliveryFilter {
  const found = STATUSES.find((one) => one === text);
  if (!found) throw new Error(`--status must be one of ${STATUSES.join(", ")}.`);
  return found;
}

function since(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new Error("--since must be a time in UTC, such as 2026-11-21 or 2026-11-21T09:30:00Z.");
  return time;
}

function limit(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= LIMIT_MAX) return value;
  throw new Error(`--limit must be a whole number from 1 to ${LIMIT_MAX}.`);
}

const UNITS = { d: 86_400_000, h: 3_600_000 };

function duration(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? [];
  if (unit !== undefined) return Number(count) * UNITS[unit as keyof typeof UNITS];
  throw new Error("--older-than must be a number of days or hours, such as 90d or 12h.");
}

const text = (value: string): string => value;
const flag = (): true => true;

/** Every option of the command line, with its meaning. Those with a `value` take one. */
export const OPTIONS = {
  status: {
    value: "STATUS",
    parse: status,
    meaning: "pending, delivered, ended, exhausted, or failed (ended or exhausted)",
  },
  reference: { value: "REFERENCE", parse: text, meaning: "of the service, such as DSB… or CHK…" },
  since: { value: "TIME", parse: since, meaning: "in UTC, such as 2026-11-21 or 2026-11-21T09:30:00Z" },
  limit: { value: "N", parse: limit, meaning: `entries on a page, 1 to ${LIMIT_MAX}; ${DEFAULT_LIMIT} by default` },
  cursor: { value: "CURSOR", parse: text, meaning: "where the previous page ended" },
  name: { value: "NAME", parse: text, meaning: "of the person, for the audit trail; by default your own" },
  none: { parse: flag, meaning: "remove the address" },
  yes: { parse: flag, meaning: "do it; without it, only count" },
  "older-than": { value: "AGE", parse: duration, meaning: "in days or hours, such as 90d or 12h" },
  "dry-run": { parse: flag, meaning: "change nothing; print what would be deleted" },
  check: { parse: flag, meaning: "change nothing; exit with 1 if there is something to do" },
  replace: { parse: flag, meaning: "replace a database that has data; the old file is kept" },
  json: { parse: flag, meaning: "print JSON" },
} as const;

export type Options = { readonly [Name in keyof typeof OPTIONS]?: ReturnType<(typeof OPTIONS)[Name]["parse"]> };

/** The filter of a list of events or deliveries. */
export function filterOf({
  reference,
  since: createdAfter,
  limit: most = DEFAULT_LIMIT,
  cursor,
  status: wanted,
}: Options) {
  return {
    limit: most,
    ...(reference !== undefined && { reference }),
    ...(createdAfter !== undefined && { createdAfter }),
    ...(cursor !== undefined && { cursor }),
    ...(wanted !== undefined && { status: wanted }),
  };
}
