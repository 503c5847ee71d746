import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";
import { ATTEMPT_TIMEOUT_MS, createSender, type AttemptResult } from "../webhooks/send.ts";

export type ClaimedDelivery = components["schemas"]["ClaimedDelivery"];
type EventName = components["schemas"]["EventName"];

/** What a receiver responded to a delivery, or why it did not. */
export type Response = Omit<AttemptResult, "sentAt">;

/** Something that a listener can give deliveries to. It never rejects. */
export interface Receiver {
  /** Where the deliveries go, for the log of deliveries. */
  url: string;
  receive(delivery: ClaimedDelivery): Promise<Response>;
  close(): Promise<void>;
}

/** The headers of a webhook. With others, such as Host or Authorization, a service could act as somebody else on this machine. */
const HEADERS = new Set([
  "content-type",
  "user-agent",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "traceparent",
]);

const allowed = (headers: ClaimedDelivery["headers"]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => HEADERS.has(name.toLowerCase())));

/** Sends deliveries to an address that this machine can reach, as the server would. */
export function forwardTo(url: string): Receiver {
  const sender = createSender({
    allowPrivate: true,
    allowInsecure: true,
    lookup: hostsLookup(dnsLookup()),
    now: Date.now,
  });
  return {
    url,
    async receive({ id, headers, body }) {
      const { sentAt: _, ...response } = await sender.sendSigned({ url, id, headers: allowed(headers), body });
      return response;
    },
    close: sender.close,
  };
}

/** Sends nothing, and responds like a receiver with this status after this delay. */
export function respondWith({ status = 200, delayMs = 0 }): Receiver {
  return {
    // Reserved for examples, so that it is nobody's.
    url: "http://listener.invalid/",
    async receive() {
      await sleep(Math.min(delayMs, ATTEMPT_TIMEOUT_MS));
      return delayMs < ATTEMPT_TIMEOUT_MS
        ? { httpStatus: status, latencyMs: delayMs }
        : { latencyMs: ATTEMPT_TIMEOUT_MS, error: `No response within ${ATTEMPT_TIMEOUT_MS / 1_000} s.` };
    },
    close: async () => undefined,
  };
}

/** What a delivery gets that the filter leaves out: a success, so that it does not come again. */
const SKIPPED = { httpStatus: 204, latencyMs: 0, responseBody: "Not forwarded: left out by --events." };
export const isSkipped = (response: Response): boolean => response === SKIPPED;

/** Gives only these events to the receiver. The others count as delivered. */
export function onlyEvents(names: readonly EventName[], receiver: Receiver): Receiver {
  const wanted = new Set<string>(names);
  return {
    ...receiver,
    receive: async (delivery) => (wanted.has(delivery.event) ? receiver.receive(delivery) : SKIPPED),
  };
}
