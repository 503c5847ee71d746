// Servers that retry webhooks too often, too rarely or at the wrong time, or misread a receiver's response (D13).
import { also, type Faults } from "../../broken/fault.ts";
import { refusal, withHeader } from "../../broken/replies.ts";
import { changesOutcome, delivers, receives, receivesStatus } from "../../broken/webhooks.ts";

type Outcome = Parameters<Parameters<typeof changesOutcome>[0]>[0];

const ended = ({ step }: Outcome): Outcome => ({ status: "exhausted", step });

export const faults: Faults = {
  "retries.after-failure: A successful delivery is retried.": also(
    "events.once",
    changesOutcome((outcome, { at }) =>
      outcome.status === "delivered" && outcome.step < 5
        ? { status: "pending", step: outcome.step, nextAttemptAt: at + 5000 }
        : outcome,
    ),
  ),
  "retries.schedule: Retries end after three attempts.": changesOutcome((outcome) =>
    outcome.step >= 3 && outcome.status === "pending" ? ended(outcome) : outcome,
  ),
  "retries.schedule: Retries come after half the delay.": changesOutcome((outcome, { at }) =>
    outcome.nextAttemptAt === undefined
      ? outcome
      : { ...outcome, nextAttemptAt: Math.round((at + outcome.nextAttemptAt) / 2) },
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
    (outcome, { httpStatus }) => (httpStatus === undefined ? ended(outcome) : outcome),
  ),
  "retries.slow-receiver: A receiver that takes longer than a second has failed.": ({ sleep }) => ({
    webhook: (message, deliver) => Promise.race([deliver(message), sleep(1000).then(() => refusal(502))]),
  }),
  "retries.real-time: Webhooks are repeated only when the clock is moved.": () => ({
    storage(inner) {
      let isMoving = false;
      return {
        async moveClock(...which) {
          isMoving = true;
          return inner.moveClock(...which);
        },
        promoteDue: async (limit) => (isMoving ? inner.promoteDue(limit) : 0),
        hasDue: async (...which) => (isMoving = await inner.hasDue(...which)),
      };
    },
  }),
  "retries.replay-restarts: A delivery that has ended cannot be replayed.": () => ({
    storage: (inner) => ({
      async requestReplay(merchantId, id, actor) {
        const delivery = await inner.findDelivery(merchantId, id);
        return inner.requestReplay(merchantId, delivery?.status === "ended" ? "unknown" : id, actor);
      },
    }),
  }),
  "retries.apart: A success also ends the attempts in progress.": () => {
    let lastSuccess = 0;
    return changesOutcome((outcome, { sentAt }) => {
      if (outcome.status === "delivered") lastSuccess = sentAt;
      const isEnded = outcome.status === "pending" && sentAt < lastSuccess;
      return isEnded ? { status: "delivered", step: outcome.step } : outcome;
    });
  },
};
