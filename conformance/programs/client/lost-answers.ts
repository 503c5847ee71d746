// Scenarios in which requests fail for longer, never end, or fail at random. The scenarios with a single loss are in
// `crossed.ts`.
import { entries, entry } from "./entries.ts";
import type { Scenario } from "./scenario.ts";

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
    id: "recorded-then-429",
    name: "The payout is recorded, the connection is closed, and every later create gets 429",
    entries: entries("success", "failed"),
    creates: [{ process: "now", answer: "drop" }],
    afterwards: {
      process: "never",
      answer: { status: 429, body: { statusCode: 429, error: "Refused", code: "refused" } },
    },
    lists: "none",
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
    creates: [{ process: "twice", answer: "honest" }],
  },
  {
    id: "drip",
    name: "The payout is recorded, and the response comes byte by byte",
    creates: [{ process: "now", answer: "drip" }],
  },
  {
    id: "endless",
    name: "The payout is recorded, and the body never ends",
    creates: [{ process: "now", answer: "endless" }],
  },
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
