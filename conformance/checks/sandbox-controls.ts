// Uses the sandbox controls (D17, D18) for the checks that need them.
import { Prerequisite, describeResponse, type Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { referencesOf } from "./checkout.ts";
import { dataOf, paid, verified, type Disbursement } from "./requests.ts";

/** Returns a phone number that ends in `suffix` and thereby forces an outcome (D17). */
export const forcing = (suffix: string) => `2250000000${suffix}`;

/**
 * This timeout is long because the target responds to an advance only after it has processed everything that fell due.
 */
const timeoutMs = 60_000;

const control = (context: Context, path: string, json?: unknown): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: `/sandbox/${path}`, effect: "moves-money", json, timeoutMs });

/** Advances the merchant's sandbox time. Throws `Prerequisite` if the target refuses. */
export async function advance(context: Context, seconds: number): Promise<TargetResponse> {
  const response = await control(context, "clock/advance", { seconds });
  if (response.status !== 200)
    throw new Prerequisite(`200 for advancing the sandbox time by ${seconds} s`, describeResponse(response));
  return response;
}

/** Finishes a checkout without a browser. */
export const finishCheckout = (context: Context, reference: string, outcome: string): Promise<TargetResponse> =>
  control(context, `checkouts/${encodeURIComponent(reference)}/finish`, { outcome });

/**
 * Finishes a checkout when it is not known which string in the create response is its reference. Tries each candidate.
 * @returns the reference; undefined if the target accepted none of the candidates
 */
export async function finishAny(context: Context, created: TargetResponse, outcome: string) {
  for (const reference of referencesOf(created)) {
    const { status = 0 } = await finishCheckout(context, reference, outcome);
    if (status >= 200 && status < 300) return reference;
  }
  return undefined;
}

/** How long to wait for a final status. After one timeout, later waits on the same target use `shortPatienceMs`. */
const patienceMs = 8000;
const shortPatienceMs = 500;
const slow = new WeakSet<Target>();

/**
 * Polls a disbursement until its status is final or the wait times out. In a sandbox, it advances the time once.
 * @returns the last record, and the distinct statuses in the order in which they were seen
 */
export async function settled(context: Context, reference: string): Promise<{ data: Disbursement; seen: string[] }> {
  const seen: string[] = [];
  const end = context.now().getTime() + (slow.has(context.target) ? shortPatienceMs : patienceMs);
  for (let round = 0; ; round += 1) {
    const { data } = await verified(context, reference);
    if (data.status !== seen.at(-1)) seen.push(data.status);
    if (data.status !== "pending") return { data, seen };
    if (context.now().getTime() > end) {
      slow.add(context.target);
      return { data, seen };
    }
    if (round === 0 && hasControl(context.options, "clock")) await advance(context, 60);
    else await context.sleep(100);
  }
}

/** Creates a disbursement to this phone number and waits for its final status. */
export async function paidAndSettled(context: Context, phoneNumber: string, over: Record<string, unknown> = {}) {
  const made = await paid(context, { phoneNumber, ...over });
  return { ...made, ...(await settled(context, made.reference)) };
}

/** Returns the items of a page; an empty array if the response contains no list. */
export const listed = (response: TargetResponse): Record<string, unknown>[] => {
  const { items } = dataOf(response);
  return Array.isArray(items) ? (items as Record<string, unknown>[]) : [];
};
