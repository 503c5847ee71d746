import { setTimeout as sleep } from "node:timers/promises";
import type { components } from "../../generated/openapi.ts";
import { dnsLookup, hostsLookup } from "../webhooks/lookup.ts";
import { ATTEMPT_TIMEOUT_MS, createSender, type AttemptResult } from "../webhooks/send.ts";

export type ClaimedDelivery = components["schemas"]["ClaimedDelivery"];
type EventName = components["schemas"]["EventName"];

/** A receiver's response to a delivery, or the reason for its absence. */
export type Response = Omit<AttemptResult, "sentAt">;

/** The receiver to which a listener passes deliveries. It never rejects. */
export interface Receiver {
  /** The address of the receiver, for the log of deliveries. */
  url: string;
  receive(delivery: ClaimedDelivery): Promise<Response>;
  close(): Promise<void>;
}

/**
 * The headers of a webhook. Other headers are dropped: with Host or Authorization, a service could act as somebody else
 * on this machine.
 */
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

/** A receiver that forwards nothing and responds with this status after this delay. */
export function respondWith({ status = 200, delayMs = 0 }): Receiver {
  return {
    // A reserved name that belongs to nobody.
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

/** The response to a delivery that the filter leaves out: a success, so that it is not retried. */
const SKIPPED = { httpStatus: 204, latencyMs: 0, responseBody: "Not forwarded: left out by --events." };
export const isSkipped = (response: Response): boolean => response === SKIPPED;

/** Passes only these events to the receiver. Other events count as delivered. */
export function onlyEvents(names: readonly EventName[], receiver: Receiver): Receiver {
  const wanted = new Set<string>(names);
  return {
    ...receiver,
    receive: async (delivery) => (wanted.has(delivery.event) ? receiver.receive(delivery) : SKIPPED),
  };
}
