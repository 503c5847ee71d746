import { setTimeout as sleep } from "node:timers/promises";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";
import { ATTEMPT_TIMEOUT_MS, createSender, type AttemptResult, type Message } from "../webhooks/send.ts";

/** A receiver's response to a webhook, or the reason for its absence. */
export type Response = Omit<AttemptResult, "sentAt">;

/** The receiver to which `listen` passes webhooks. It never rejects. */
export interface Receiver {
  receive(webhook: Omit<Message, "url">): Promise<Response>;
  close(): Promise<void>;
}

/** Sends webhooks to an address that this machine can reach, as the server would. */
export function forwardTo(url: string): Receiver {
  const sender = createSender({
    allowPrivate: true,
    allowInsecure: true,
    lookup: hostsLookup(dnsLookup()),
    now: Date.now,
  });
  return {
    async receive(webhook) {
      const { sentAt: _, ...response } = await sender.send({ url, ...webhook });
      return response;
    },
    close: sender.close,
  };
}

/** A receiver that forwards nothing and responds with this status after this delay. */
export function respondWith({ status = 200, delayMs = 0 }): Receiver {
  return {
    async receive() {
      await sleep(Math.min(delayMs, ATTEMPT_TIMEOUT_MS));
      return delayMs < ATTEMPT_TIMEOUT_MS
        ? { httpStatus: status, latencyMs: delayMs }
        : { latencyMs: ATTEMPT_TIMEOUT_MS, error: `No response within ${ATTEMPT_TIMEOUT_MS / 1_000} s.` };
    },
    close: async () => undefined,
  };
}
