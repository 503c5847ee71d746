// What the sandbox can be made to do (D17, D18), for the checks that need it.
import { Prerequisite, describeResponse, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { dataOf, paid, verified, type Disbursement } from "./requests.ts";

/** A number that forces an outcome (D17). */
export const forcing = (suffix: string) => `2250000000${suffix}`;

/** Moving the time makes everything that falls due on the way happen before the answer. */
const timeoutMs = 60_000;

const control = (context: Context, path: string, json?: unknown): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: `/sandbox/${path}`, effect: "moves-money", json, timeoutMs });

/** Moves the merchant's sandbox time forward. Throws `Prerequisite` when the target does not. */
export async function advance(context: Context, seconds: number): Promise<TargetResponse> {
  const response = await control(context, "clock/advance", { seconds });
  if (response.status !== 200)
    throw new Prerequisite(`200 to moving the sandbox time by ${seconds} s (D18)`, describeResponse(response));
  return response;
}

/** Ends a checkout without a browser. */
export const finishCheckout = (context: Context, reference: string, outcome: string): Promise<TargetResponse> =>
  control(context, `checkouts/${encodeURIComponent(reference)}/finish`, { outcome });

/** How long a disbursement may take to settle; where one took longer, later ones are not waited for so long. */
const patienceMs = 8000;
const littlePatienceMs = 500;
const slow = new WeakSet<Target>();

/** Looks a disbursement up until its status is final; the sandbox time is moved where there is one. */
export async function settled(context: Context, reference: string): Promise<{ data: Disbursement; seen: string[] }> {
  const seen: string[] = [];
  const end = context.now().getTime() + (slow.has(context.target) ? littlePatienceMs : patienceMs);
  for (let round = 0; ; round += 1) {
    const { data } = await verified(context, reference);
    if (data.status !== seen.at(-1)) seen.push(data.status);
    if (data.status !== "pending") return { data, seen };
    if (context.now().getTime() > end) {
      slow.add(context.target);
      return { data, seen };
    }
    if (round === 0 && context.options.environment === "sandbox") await advance(context, 60);
    else await context.sleep(100);
  }
}

/** Makes a disbursement whose outcome is forced, and waits for it. */
export async function paidAndSettled(context: Context, phoneNumber: string, over: Record<string, unknown> = {}) {
  const made = await paid(context, { phoneNumber, ...over });
  return { ...made, ...(await settled(context, made.reference)) };
}

/** What a list under /sandbox holds. */
export const listed = (response: TargetResponse, name: string): Record<string, unknown>[] => {
  const list = dataOf(response)[name];
  return Array.isArray(list) ? (list as Record<string, unknown>[]) : [];
};
