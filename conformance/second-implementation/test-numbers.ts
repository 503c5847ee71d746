// The test phone numbers that choose a response instead of an outcome.
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import { Problem } from "./problem.ts";

/** Thrown to close the connection without a response. */
export class Dropped extends Error {
  drop(c: Context<{ Bindings: HttpBindings }>): Response {
    c.env.incoming.socket.destroy();
    return RESPONSE_ALREADY_SENT;
  }
}

/**
 * Refuses a payment whose number chooses a refusal: always with 500, or twice with 503.
 * @param refusals how often each payment was refused with 503
 */
export function refuseByNumber(refusals: Map<string, number>, phoneNumber: string, payment: string): void {
  if (phoneNumber.endsWith("500")) throw new Problem("internal_error", "An internal error occurred.");
  const before = refusals.get(payment) ?? 0;
  if (!phoneNumber.endsWith("503") || before >= 2) return;
  refusals.set(payment, before + 1);
  throw new Problem("unavailable", "Nothing was recorded. Retry the same request.", {
    headers: { "Retry-After": "1" },
  });
}

/** Returns the delay of the response to a payment, in milliseconds. */
export const responseDelay = (phoneNumber: string) => (phoneNumber.endsWith("408") ? 30_000 : 0);
