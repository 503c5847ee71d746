// Uses the sandbox controls (D17, D18) for the checks that need them.
import { given, type Context } from "../check.ts";
import { forcedStart } from "../generate/countries.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";

/**
 * Returns a phone number that ends in `suffix`, and so forces an outcome (D17). A disbursement gets a similar number.
 */
export const forcing = (suffix: string) => `${forcedStart}${suffix}`;

/** The merchant whose key a request has. */
export type Key = "own" | "second";

/**
 * The time limit is long, because the target responds to an advance only after it has processed everything that fell
 * due.
 */
const longestMoveMs = 60_000;

/** Sends a request to a control of the sandbox. */
export function control(context: Context, path: string, json?: unknown, more: Partial<TargetRequest> = {}) {
  const { clockTimeoutMs: timeoutMs = longestMoveMs } = context.options;
  const request = { method: "POST", path: `/sandbox/${path}`, effect: "moves-money", json, timeoutMs } as const;
  return context.target.send({ ...request, ...more });
}

/** Advances a merchant's sandbox time, by a number of seconds or to a time. Returns the response, whatever it is. */
export const moveClock = (context: Context, json: { seconds: number } | { to: string }, key?: Key) =>
  control(context, "clock/advance", json, { key });

/** Advances the merchant's sandbox time. Throws `Prerequisite` if the target refuses. */
export async function advance(context: Context, seconds: number): Promise<TargetResponse> {
  const response = await moveClock(context, { seconds });
  given(response.status === 200, `200 for advancing the sandbox time by ${seconds} s`, response);
  return response;
}

/** Sets the chaos switch for the time of an action. Throws `Prerequisite` if the target refuses. */
export async function withChaos(context: Context, settings: object, act: () => Promise<void>): Promise<void> {
  const set = (json: object) => control(context, "chaos", json, { method: "PUT" });
  const response = await set(settings);
  given(response.status === 200, "200 for setting the chaos switch", response);
  await act().finally(() => set({}));
}

export const finishPayout = (context: Context, reference: string, json: object, key?: Key) =>
  control(context, `disbursements/${encodeURIComponent(reference)}/finish`, json, { key });

export const finishCheckout = (context: Context, reference: string, outcome: string, key?: Key) =>
  control(context, `checkouts/${encodeURIComponent(reference)}/finish`, { outcome }, { key });

/** Rotates the webhook secret of the second merchant, because the caller's receivers may rely on the first merchant's. */
export const rotateSecond = (context: Context) =>
  control(context, "webhook-secret/rotate", undefined, { key: "second" });
