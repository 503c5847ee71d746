// D13: servers that repeat webhooks too often, too seldom or at the wrong time.
import { fault, type Hooks } from "../fault.ts";
import { nothing, tells, plans, wait, follow } from "../messages.ts";
import { withHeader } from "../ways.ts";

export const retryFaults = [
  fault(
    "retries-three",
    "There are three attempts and no more.",
    "retries.schedule",
    plans((outcome) =>
      outcome.step >= 3 && outcome.status === "pending" ? { status: "exhausted", step: outcome.step } : outcome,
    ),
  ),
  fault(
    "retries-without-end",
    "Attempts never end.",
    "retries.schedule",
    plans((outcome, { at }) =>
      outcome.status === "exhausted" ? { status: "pending", step: 9, nextAttemptAt: at + 86_400_000 } : outcome,
    ),
  ),
  fault(
    "retries-too-early",
    "Attempts come in half the time.",
    "retries.schedule",
    plans((outcome, { at }) => wait(outcome, at, 0.5)),
  ),
  fault(
    "retries-too-late",
    "Attempts come in twice the time.",
    "retries.schedule",
    plans((outcome, { at }) => wait(outcome, at, 2)),
  ),
  fault(
    "retries-after-success",
    "A delivery that succeeded is repeated.",
    "retries.after-failure events.once",
    plans((outcome, { at }) =>
      outcome.status === "delivered" && outcome.step < 5
        ? { status: "pending", step: outcome.step, nextAttemptAt: at + 5000 }
        : outcome,
    ),
  ),
  fault("retries-with-other-body", "Each attempt has another body.", "retries.after-failure", () => {
    let count = 0;
    return tells((body) => ({ ...body, attempt: (count += 1) })) as Hooks;
  }),
  fault("redirect-followed", "A redirect of the receiver is followed.", "retries.redirect-fails", { webhook: follow }),
  fault("redirect-delivers", "A redirect counts as delivered.", "retries.redirect-fails", {
    webhook: async (message, deliver) => ({ ...(await deliver(message)), status: 200 }),
  }),
  fault("gone-ignored", "A 410 is tried again.", "retries.gone-ends", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? { ...reply, status: 500 } : reply;
    },
  }),
  fault("gone-delivers", "A 410 counts as delivered.", "retries.gone-ends", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return reply.status === 410 ? nothing : reply;
    },
  }),
  fault("retry-after-ignored", "Retry-After is ignored.", "retries.retry-after", {
    webhook: async (message, deliver) => {
      const reply = await deliver(message);
      return withHeader(reply, "retry-after");
    },
  }),
  fault(
    "retry-after-without-limit",
    "Retry-After puts the next attempt off by more than an hour.",
    "retries.retry-after",
    plans((outcome, { at, latencyMs }) =>
      outcome.nextAttemptAt === at + latencyMs + 3_600_000 ? { ...outcome, nextAttemptAt: at + 86_400_000 } : outcome,
    ),
  ),
  fault("one-after-the-other", "Deliveries wait for one another.", "retries.slow-receiver", () => {
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
