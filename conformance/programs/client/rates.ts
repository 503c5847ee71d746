// Scenarios about temporary and final refusals.
import { gateway, lost, never, recorded, serviceError, type Forged } from "./answers.ts";
import { byTurns, entries, entry } from "./entries.ts";
import { scenario, type Rest, type Scenario } from "./scenario.ts";

const refusal = (status: number, code: string, retryAfter: string | undefined): Forged =>
  serviceError(status, code, {
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
    // A client compares a date with the service's own time.
    ...(retryAfter?.startsWith("{date") ? { date: "{date+0}" } : {}),
  });
const limited = (retryAfter?: string) => refusal(429, "rate_limited", retryAfter);
const unavailable = (retryAfter: string, code = "unavailable") => refusal(503, code, retryAfter);

/** A scenario in which the first create of each entry is refused temporarily, each in another way. */
const putOff = (
  id: string,
  what: string,
  ways: Readonly<Record<string, Forged>>,
  { mayGiveUp, ...more }: Rest = {},
): Scenario =>
  scenario(id, `The first create is refused temporarily, ${what}`, {
    entries: byTurns(
      ...Object.entries(ways).map(([about, answer]) => ({
        story: { about, creates: [never(answer)], ...(mayGiveUp ? { mayGiveUp, mayBeUnknown: true } : {}) },
      })),
    ),
    ...more,
  });

const dates = { "429 with a date": limited("{date+1}") };

export const rates: readonly Scenario[] = [
  putOff(
    "limited",
    "with Retry-After in seconds or as a date",
    {
      "429 with seconds": limited("1"),
      "429 with a date": limited("{date+2}"),
      "503 with seconds": unavailable("1"),
      "503 with a date": unavailable("{date+2}"),
    },
    { judges: ["client.waits-as-told"] },
  ),
  putOff("limited-vaguely", "and the response does not say for how long", {
    "429 without Retry-After": limited(),
    "429 with 0": limited("0"),
    "429 with a date in the past": limited("Wed, 21 Oct 2015 07:28:00 GMT"),
    "429 from a gateway, as a page": { ...gateway(429), headers: { "content-type": "text/html", "retry-after": "1" } },
  }),
  putOff(
    "limited-too-long",
    "for so long, or so unclearly, that a client may give up",
    {
      "429 with a day": limited("86400"),
      "429 with a date in 2099": limited("Wed, 21 Oct 2099 07:28:00 GMT"),
      "429 with more than 2^53 seconds": limited("99999999999999999999"),
      // Libraries read such values in their own ways.
      "429 with a negative number": limited("-5"),
      "429 with neither a number nor a date": limited("soon"),
      "429 with a fraction of a second": limited("0.5"),
    },
    { mayGiveUp: true },
  ),
  putOff("limited-clock-ahead", "with a date of a clock that is a day ahead", dates, {
    clockAhead: 86_400,
    mayGiveUp: true,
  }),
  putOff("limited-clock-behind", "with a date of a clock that is a day behind", dates, { clockAhead: -86_400 }),
  scenario("unavailable-recorded", "The payout is recorded, and the client gets 503 with Retry-After", {
    creates: [recorded(unavailable("1", "timeout"))],
    judges: ["client.waits-as-told"],
  }),
  scenario("limited-for-ever", "Every create gets 429 without Retry-After", {
    entries: entries("success", "failed"),
    afterwards: never(limited()),
    judges: ["client.backs-off"],
    mayGiveUp: true,
    mayBeUnknown: 100,
  }),
  scenario("reads-limited", "The response to the create is lost, and the first read gets 429 with Retry-After", {
    creates: [lost],
    reads: [limited("1")],
  }),
  scenario("refused", "The service refuses some entries with 422", {
    entries: entries("success", "refused", "failed", "refused"),
  }),
  scenario(
    "refused-until-the-end",
    "The service refuses every create in some way until the program has ended, and accepts what comes then",
    {
      entries: [serviceError(422, "invalid_value"), serviceError(401, "unauthorized"), limited()].map((answer, index) =>
        entry(index, "success", {
          story: { about: String(answer.status), afterwards: never(answer), mayBeUnknown: true },
        }),
      ),
      watched: true,
      mayGiveUp: true,
    },
  ),
  scenario("refused-key", "The service refuses the key of every create with 401", {
    entries: entries("success", "failed"),
    afterwards: never(serviceError(401, "unauthorized")),
    mayGiveUp: true,
  }),
];
