// Servers that act only when the clock is advanced, that time out too early, or that do not record a time-out.
import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, fault } from "../fault.ts";

export const faults: readonly Fault[] = [
  fault("settles-by-advance-only", "Payouts settle only when the clock is moved.", "sandbox.time-passes", () => ({
    storage: (inner) => ({
      settleDue: async (limit, merchantId) => (merchantId === undefined ? 0 : inner.settleDue(limit, merchantId)),
    }),
  })),
  fault("retries-by-advance-only", "Webhooks are repeated only when the clock is moved.", "retries.real-time", () => ({
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
  })),
  fault(
    "receiver-has-a-second",
    "A receiver that takes longer than a second has failed.",
    "retries.slow-receiver",
    () => ({
      webhook: (message, deliver) =>
        Promise.race([deliver(message), sleep(1000).then(() => ({ status: 502, headers: {}, text: "" }))]),
    }),
  ),
  fault("no-response-ends", "A delivery ends when the receiver closes the connection.", "retries.no-response", () => ({
    storage: (inner) => ({
      recordAttempt(claim, attempt, next) {
        const isEnd = attempt.httpStatus === undefined;
        return inner.recordAttempt(claim, attempt, isEnd ? { status: "exhausted", step: next.step } : next);
      },
    }),
  })),
  fault("no-response-unrecorded", "An attempt without a response is not recorded.", "retries.no-response", () => ({
    storage: (inner) => ({
      recordAttempt: async (claim, attempt, next) =>
        attempt.httpStatus === undefined
          ? { isValid: true, hasAdvanced: false }
          : inner.recordAttempt(claim, attempt, next),
    }),
  })),
];
