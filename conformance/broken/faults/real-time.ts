// Servers in which only an advance of the clock makes things happen, or that do not record attempts without a response.
import { fault } from "../fault.ts";

export const realTimeFaults = [
  fault("settles-by-advance-only", "Payouts settle only when the clock is moved.", "sandbox.time-passes", {
    storage: (inner) => ({
      settleDue: async (limit, merchantId) => (merchantId === undefined ? 0 : inner.settleDue(limit, merchantId)),
    }),
  }),
  fault("retries-by-advance-only", "Webhooks are repeated only when the clock is moved.", "retries.real-time", {
    storage: (inner) => ({
      promoteDue: async (limit, merchantId) => (merchantId === undefined ? 0 : inner.promoteDue(limit, merchantId)),
    }),
  }),
  fault("no-response-ends", "A delivery ends when the receiver closes the connection.", "retries.no-response", {
    storage: (inner) => ({
      recordAttempt(claim, attempt, next) {
        const isEnd = attempt.httpStatus === undefined;
        return inner.recordAttempt(claim, attempt, isEnd ? { status: "exhausted", step: next.step } : next);
      },
    }),
  }),
  fault("no-response-unrecorded", "An attempt without a response is not recorded.", "retries.no-response", {
    storage: (inner) => ({
      recordAttempt: async (claim, attempt, next) =>
        attempt.httpStatus === undefined || inner.recordAttempt(claim, attempt, next),
    }),
  }),
];
