// Scenarios in which the response to a create is lost or damaged, whether or not the payout was recorded.
import { entry } from "./entries.ts";
import type { Answer, Scenario, Step } from "./scenario.ts";
import { gateway } from "./weather.ts";

/** The given answer to the first create of each entry, which is or is not processed. */
const first = (process: Step["process"], answer: Answer): readonly Step[] => [{ process, answer }];

const failure = {
  statusCode: 500,
  error: "Internal Server Error",
  message: "Try again later.",
  code: "internal_error",
};
const serviceFails = { status: 500, body: failure };

export const lostAnswers: readonly Scenario[] = [
  { id: "calm", name: "Every request is answered as the contract says" },
  {
    id: "recorded-dropped",
    name: "The payout is recorded, then the connection is closed",
    creates: first("now", "drop"),
  },
  {
    id: "dropped-unrecorded",
    name: "The connection is closed before anything is recorded",
    creates: first("never", "drop"),
  },
  {
    id: "dropped-recorded-late",
    name: "The connection is closed, and the request is recorded when the program has ended",
    creates: first("late", "drop"),
  },
  {
    id: "late-and-refused",
    name: "The first request is recorded late, and the second is refused meanwhile",
    creates: first("late", "drop"),
    afterwards: {
      process: "never",
      answer: { status: 422, body: { statusCode: 422, error: "Unprocessable Content", message: "No balance." } },
    },
    mayBeUnknown: 100,
  },
  ...[401, 403, 404, 429].map((status): Scenario => ({
    id: `recorded-then-${status}`,
    name: `The payout is recorded, the connection is closed, and every later create gets ${status}`,
    creates: first("now", "drop"),
    afterwards: {
      process: "never",
      answer: { status, body: { statusCode: status, error: "Refused", code: "refused" } },
    },
    lists: "none",
    mayBeUnknown: 100,
  })),
  {
    id: "balance-for-one",
    name: "The payout is recorded, the connection is closed, and the balance does not allow a second payout",
    creates: first("now", "drop"),
    balanceForOne: true,
    // Without the list, no client can find the payout.
    mayBeUnknown: 100,
  },
  {
    id: "dropped-three-times",
    name: "The connection is closed three times, and the payout is recorded at the second",
    creates: [
      { process: "never", answer: "drop" },
      { process: "now", answer: "drop" },
      { process: "now", answer: "drop" },
    ],
  },
  {
    id: "sent-twice",
    name: "The network delivers the first request twice, and the client sees the response to the second",
    creates: first("twice", "honest"),
  },
  {
    id: "cut-status",
    name: "The payout is recorded, and the response ends within the status line",
    creates: first("now", "cut-status"),
  },
  {
    id: "cut-headers",
    name: "The payout is recorded, and the response ends within the headers",
    creates: first("now", "cut-headers"),
  },
  {
    id: "cut-body",
    name: "The payout is recorded, and the response ends within the body",
    creates: first("now", "cut-body"),
  },
  {
    id: "short-body",
    name: "The payout is recorded, and half of the body arrives and looks complete",
    creates: first("now", "short-body"),
  },
  { id: "garbage", name: "The payout is recorded, and the response is no HTTP", creates: first("now", "garbage") },
  {
    id: "silence-recorded",
    name: "The payout is recorded, and no response comes",
    creates: first("now", "silence"),
  },
  {
    id: "silence-unrecorded",
    name: "Nothing is recorded, and no response comes",
    creates: first("never", "silence"),
  },
  { id: "drip", name: "The payout is recorded, and the response comes byte by byte", creates: first("now", "drip") },
  { id: "endless", name: "The payout is recorded, and the body never ends", creates: first("now", "endless") },
  {
    id: "endless-for-ever",
    name: "No response body ever ends",
    entries: [entry(0, "success")],
    afterwards: { process: "now", answer: "endless" },
    reads: Array.from({ length: 40 }, () => "endless" as const),
    lists: Array.from({ length: 40 }, () => "endless" as const),
    mayBeUnknown: 100,
  },
  {
    id: "failure-recorded",
    name: "The payout is recorded, and the service responds with 500",
    creates: first("now", serviceFails),
  },
  {
    id: "failure-unrecorded",
    name: "Nothing is recorded, and the service responds with 500",
    creates: first("never", serviceFails),
  },
  {
    id: "failure-for-ever",
    name: "The service responds with 500 to every create, and records none",
    afterwards: { process: "never", answer: serviceFails },
    mayBeUnknown: 100,
    mayGiveUp: true,
    judges: ["client.backs-off"],
  },
  {
    id: "failure-for-ever-recorded",
    name: "The payout is recorded, and every create gets 500",
    afterwards: { process: "now", answer: serviceFails },
    mayBeUnknown: 100,
    judges: ["client.backs-off"],
  },
  {
    id: "blackout",
    name: "The payout is recorded, and from then on every response is lost",
    afterwards: { process: "now", answer: "drop" },
    reads: Array.from({ length: 40 }, () => "drop" as const),
    lists: Array.from({ length: 40 }, () => "drop" as const),
    mayBeUnknown: 100,
    judges: ["client.backs-off"],
  },
  {
    id: "reads-fail",
    name: "The response to the create is lost, and the first two reads get 500",
    creates: first("now", "drop"),
    reads: [serviceFails, gateway(502)],
  },
  {
    id: "reads-lost",
    name: "The responses to the create and to the first two reads are lost",
    creates: first("now", "drop"),
    reads: ["drop", "cut-body"],
  },
  {
    id: "reads-of-somebody",
    name: "The response to the create is lost, and the first read shows a payout of somebody else",
    creates: first("now", "drop"),
    reads: ["someone-elses"],
  },
  {
    id: "replica-lag",
    name: "The response to the create is lost, and the first two reads and lists do not show the payout yet",
    creates: first("now", "drop"),
    reads: Array.from({ length: 2 }, () => ({ status: 404, body: { statusCode: 404, error: "Not Found" } })),
    lists: Array.from({ length: 2 }, () => ({ status: 200, body: { statusCode: 200, data: { items: [] } } })),
  },
  {
    id: "connections-closed",
    name: "The service closes each kept connection without a word after a response",
    connections: "close-after-response",
  },
  {
    id: "connections-stale",
    name: "A kept connection breaks when it is used again",
    connections: "break-when-reused",
  },
  { id: "weather-light", name: "One request in five meets a random fault", weather: 20, entries: many(12) },
  { id: "weather-bad", name: "One request in two meets a random fault", weather: 50, entries: many(12) },
  {
    id: "weather-no-lists",
    name: "One request in two meets a random fault, and the service has no lists",
    weather: 50,
    lists: "none",
    entries: many(12),
  },
];

function many(count: number) {
  const fates = ["success", "failed", "pending", "settles"] as const;
  return Array.from({ length: count }, (_, index) => entry(index, fates[index % fates.length]!));
}
