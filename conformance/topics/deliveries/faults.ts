// Servers that retry webhooks too often, too rarely or at the wrong time, or misread a receiver's response (D13).
import type { Faults } from "../../broken/fault.ts";
import { untilAdvance } from "../../broken/memory.ts";
import { refusal, withHeader } from "../../broken/replies.ts";
import { changesOutcome, delivers, receives, receivesStatus } from "../../broken/webhooks.ts";

export const faults: Faults = {
  "retries.after-failure: A successful delivery is retried.": changesOutcome((outcome, _, { failures }) =>
    outcome.status === "delivered" && failures < 4 ? { status: "pending", waitMs: 5000 } : outcome,
  ),
  "retries.schedule: Retries end after three attempts.": changesOutcome((outcome, _, { failures }) =>
    failures >= 2 && outcome.status === "pending" ? { status: "exhausted" } : outcome,
  ),
  "retries.schedule: Retries come after half the delay.": changesOutcome((outcome) =>
    outcome.waitMs === undefined ? outcome : { ...outcome, waitMs: outcome.waitMs / 2 },
  ),
  "retries.redirect-fails: A receiver's redirect is followed.": delivers(async (message, deliver) => {
    const reply = await deliver(message);
    const { location } = reply.headers;
    return location === undefined ? reply : deliver({ ...message, url: location });
  }),
  "retries.gone-ends: A delivery is retried after 410.": receivesStatus((status) => (status === 410 ? 500 : status)),
  "retries.retry-after: Retry-After is ignored.": receives((reply) => withHeader(reply, "retry-after")),
  "retries.retry-after-date: A date in Retry-After is ignored.": receives((reply) =>
    /^\d+$/.test(reply.headers["retry-after"] ?? "") ? reply : withHeader(reply, "retry-after"),
  ),
  "retries.retry-after-statuses: Retry-After is honoured on every status.": receives((reply) =>
    reply.headers["retry-after"] === undefined ? reply : { ...reply, status: 503 },
  ),
  "retries.any-2xx: A response with status 300 ends a delivery.": receivesStatus((status) =>
    status === 300 ? 200 : status,
  ),
  "retries.any-2xx: A response with status 200, 201 or 202 leads to another attempt.": receivesStatus((status) =>
    status >= 200 && status <= 202 ? 500 : status,
  ),
  "retries.no-response: A delivery ends when the receiver closes the connection.": changesOutcome(
    (outcome, { httpStatus }) => (httpStatus === undefined ? { status: "exhausted" } : outcome),
  ),
  "retries.slow-receiver: A receiver that takes longer than a second has failed.": ({ sleep }) => ({
    webhook: (message, deliver) => Promise.race([deliver(message), sleep(1000).then(() => refusal(502))]),
  }),
  "retries.real-time: Webhooks are repeated only when the clock is moved.": () => {
    const sent = new Set<string>();
    const { hold, advancing } = untilAdvance();
    return {
      merchant: advancing,
      async webhook(message, deliver) {
        const isRepeat = sent.has(message.event.id);
        sent.add(message.event.id);
        if (isRepeat) await new Promise<void>(hold);
        return deliver(message);
      },
    };
  },
  "retries.replay-restarts: A delivery that has ended cannot be replayed.": () => {
    const ended = new Set<string>();
    return {
      merchant: ({ replay }) => ({
        attempted(_, outcome, { shown }) {
          if (outcome.status === "ended") ended.add(shown.id);
          return outcome;
        },
        replay: (id) => replay(ended.has(id) ? "unknown" : id),
      }),
    };
  },
  "retries.apart: A success also ends the attempts in progress.": () => {
    let lastSuccess = "";
    return changesOutcome((outcome, { sentAt }) => {
      if (outcome.status === "delivered") lastSuccess = sentAt;
      return outcome.status === "pending" && sentAt < lastSuccess ? { status: "delivered" } : outcome;
    });
  },
};
