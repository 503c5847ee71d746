// Scenarios about temporary and final refusals.
import { entries } from "./entries.ts";
import type { Forged, Scenario } from "./scenario.ts";

const limited = (retryAfter: string | undefined, more: Record<string, string> = {}): Forged => ({
  status: 429,
  headers: {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
    ...more,
  },
  body: JSON.stringify({ statusCode: 429, error: "Too Many Requests", code: "rate_limited" }),
});

const unavailable = (retryAfter: string, more: Record<string, string> = {}): Forged => ({
  status: 503,
  headers: { "content-type": "application/json", "retry-after": retryAfter, ...more },
  body: JSON.stringify({ statusCode: 503, error: "Service Unavailable", code: "unavailable" }),
});

const dated = { date: "{date+0}" };

/** A scenario in which the first create of each entry is refused temporarily. */
const putOff = (id: string, what: string, answer: Forged, more: Partial<Scenario> = {}): Scenario => ({
  id,
  name: `The first create gets ${answer.status} ${what}`,
  entries: entries("success", "failed"),
  creates: [{ process: "never", answer }],
  ...more,
});

const judged = { judges: ["client.waits-as-told"] } as const;
const mayGiveUp = { mayGiveUp: true, mayBeUnknown: 100 } as const;

export const rates: readonly Scenario[] = [
  putOff("limited-seconds", "with Retry-After in seconds", limited("1"), judged),
  putOff("limited-date", "with Retry-After as a date", limited("{date+2}", dated), judged),
  putOff("limited-zero", "with Retry-After 0", limited("0")),
  putOff("limited-bare", "without Retry-After", limited(undefined)),
  putOff("limited-past", "with a date in the past", limited("Wed, 21 Oct 2015 07:28:00 GMT")),
  putOff("limited-negative", "with a negative Retry-After", limited("-5")),
  putOff("limited-nonsense", "with a Retry-After that is neither a number nor a date", limited("soon")),
  putOff("limited-fraction", "with a fraction of a second", limited("0.5")),
  putOff("limited-a-day", "with Retry-After of a day", limited("86400"), mayGiveUp),
  putOff("limited-2099", "with a date in 2099", limited("Wed, 21 Oct 2099 07:28:00 GMT"), mayGiveUp),
  putOff(
    "limited-overflow",
    "with a Retry-After of more than 2^53 seconds",
    limited("99999999999999999999"),
    mayGiveUp,
  ),
  putOff("limited-clock-ahead", "with a date of a clock that is a day ahead", limited("{date+1}", dated), {
    clockAhead: 86_400,
    ...mayGiveUp,
  }),
  putOff("limited-clock-behind", "with a date of a clock that is a day behind", limited("{date+1}", dated), {
    clockAhead: -86_400,
  }),
  putOff("limited-page", "from a gateway, as a page", {
    status: 429,
    headers: { "content-type": "text/html", "retry-after": "1" },
    body: "<html><body>Slow down</body></html>",
  }),
  putOff("unavailable-seconds", "with Retry-After in seconds", unavailable("1"), judged),
  putOff("unavailable-date", "with Retry-After as a date", unavailable("{date+2}", dated), judged),
  {
    id: "unavailable-recorded",
    name: "The payout is recorded, and the client gets 503 with Retry-After",
    creates: [{ process: "now", answer: unavailable("1") }],
    ...judged,
  },
  {
    id: "limited-for-ever",
    name: "Every create gets 429 without Retry-After",
    entries: entries("success", "failed"),
    afterwards: { process: "never", answer: limited(undefined) },
    judges: ["client.backs-off"],
    ...mayGiveUp,
  },
  {
    id: "reads-limited",
    name: "The response to the create is lost, and the first read gets 429 with Retry-After",
    creates: [{ process: "now", answer: "drop" }],
    reads: [limited("1")],
  },
  {
    id: "refused",
    name: "The service refuses some entries with 422",
    entries: entries("success", "refused", "failed", "refused"),
  },
  {
    id: "refused-key",
    name: "The service refuses the key of every create with 401",
    entries: entries("success", "failed"),
    afterwards: {
      process: "never",
      answer: { status: 401, body: { statusCode: 401, error: "Unauthorized", code: "unauthorized" } },
    },
    mayGiveUp: true,
  },
];
