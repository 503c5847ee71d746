// Servers that retry webhooks too often, too rarely or at the wrong time (D13).
import { type Fault, fault, type Hooks } from "../fault.ts";
import { noContent, changesBody, changesOutcome, scaleDelay, followRedirect } from "../messages.ts";
import { withHeader } from "../ways.ts";

export const faults: readonly Fault[] = [
  fault("retries-three", "Retries end after three attempts.", "retries.schedule", () =>
    changesOutcome((outcome) =>
      outcome.step >= 3 && outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome,
    ),
  ),
  fault("retries-without-end", "Retries never end.", "retries.schedule", () =>
    changesOutcome((outcome, { at }) =>
      outcome.status === "exhausted" ? { status: "pending", step: 9, nextAttemptAt: at + 86_400_000 } : outcome,
    ),
  ),
  fault("retries-too-early", "Retries come after half the delay.", "retries.schedule", () =>
    changesOutcome((outcome, { at }) => scaleDelay(outcome, at, 0.5)),
  ),
  fault("retries-too-late", "Retries come after twice the delay.", "retries.schedule", () =>
    changesOutcome((outcome, { at }) => scaleDelay(outcome, at, 2)),
  ),
  fault("retries-after-success", "A successful delivery is retried.", "retries.after-failure events.once", () =>
    changesOutcome((outcome, { at }) =>
      outcome.status === "delivered" && outcome.step < 5
        ? { status: "pending", step: outcome.step, nextAttemptAt: at + 5000 }
        : outcome,
    ),
  ),
  fault("retries-with-other-body", "Each attempt has a different body.", "retries.after-failure", () => {
    let count = 0;
    return changesBody((body) => ({ ...body, attempt: (count += 1) })) as Hooks;
  }),
  fault("redirect-followed", "A receiver's redirect is followed.", "retries.redirect-fails", () => ({
    webhook: followRedirect,
  })),
  fault("redirect-delivers", "A redirect counts as a successful delivery.", "retries.redirect-fails", () => ({
    webhook: async (message, deliver) => ({ ...(await deliver(message)), status: 200 }),
  })),
  fault("gone-ignored", "A delivery is retried after 410.", "retries.gone-ends", () => ({
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? { ...reply, status: 500 } : reply;
    },
  })),
  fault("gone-delivers", "A 410 counts as a successful delivery.", "retries.gone-ends", () => ({
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? noContent : reply;
    },
  })),
  fault("retry-after-ignored", "Retry-After is ignored.", "retries.retry-after", () => ({
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return withHeader(reply, "retry-after");
    },
  })),
  fault(
    "retry-after-without-limit",
    "Retry-After can delay the next attempt by more than an hour.",
    "retries.retry-after",
    () =>
      changesOutcome((outcome, { at, latencyMs }) =>
        outcome.nextAttemptAt === at + latencyMs + 3_600_000 ? { ...outcome, nextAttemptAt: at + 86_400_000 } : outcome,
      ),
  ),
  fault("deliveries-serialised", "Deliveries run one at a time.", "retries.slow-receiver", () => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      webhook(message, deliver) {
        const reply = last.then(() => deliver(message));
        last = reply;
        return reply;
      },
    };
  }),
];
