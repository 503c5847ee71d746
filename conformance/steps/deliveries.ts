// Creates payouts whose webhooks a receiver responds to, and reads the log of deliveries (D13, D18).
import type { Context } from "../check.ts";
import type { Body } from "./bodies.ts";
import { same } from "./expect.ts";
import { type Box, expectAttempts, first, idOf, mailbox } from "./notifications.ts";
import { listed } from "./responses.ts";
import { get } from "./requests.ts";
import { paid } from "./records.ts";
import { advance, control, forcing, type Key } from "./sandbox-controls.ts";
import type { Responder } from "../target/receiver.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

/** Returns a receiver that responds to the attempts with these statuses in turn, and repeats the last status. */
export const respondWith =
  (status: number | readonly number[], headers: Record<string, string> = {}): Responder =>
  (response, attempt) => {
    const statuses = [status].flat();
    response.writeHead(statuses[attempt - 1] ?? statuses.at(-1)!, headers).end();
  };

/** Returns a receiver that does not respond with these statuses before `release`. */
export function holding(status: number | readonly number[] = 204) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const responder = respondWith(status);
  const reply: Responder = (response, attempt) => void promise.then(() => responder(response, attempt));
  return { reply, release };
}

/** Creates a payout and waits for the first attempt to deliver its webhook. The receiver responds with `reply`. */
export async function delivered(context: Context, reply: Responder, key: Key = "own", over: Body = {}) {
  const box = mailbox(context, reply);
  const { reference } = await paid(context, { phoneNumber: forcing("001"), webhookURL: box.url, ...over }, { key });
  const notification = await first(context, box);
  return { box, reference, notification, id: idOf(notification) };
}

/** Like `delivered`. Also gives the target the time to log the attempt, which it does after the receiver's response. */
export async function logged(context: Context, reply: Responder) {
  const delivery = await delivered(context, reply);
  await advance(context, 1);
  return delivery;
}

/** An attempt as a delivery's log describes it. */
type LoggedAttempt = Record<"number" | "httpStatus" | "responseBody" | "error" | "at", unknown>;

/** Reads the only delivery of a record. Returns the response, the delivery (`{}` if none is listed) and its attempts. */
export async function deliveryOf(context: Context, reference: string) {
  const response = await get(context, `/sandbox/deliveries?reference=${reference}`);
  const [delivery = {}] = listed(response);
  const { attempts } = delivery;
  return { response, delivery, attempts: (Array.isArray(attempts) ? attempts : []) as LoggedAttempt[] };
}

/**
 * Expects the log and the mailbox to agree that a delivery had this status and these responses ("none" if there was no
 * response).
 */
export async function expectDelivery(
  context: Context,
  id: RequirementId,
  { box, reference }: { box: Box; reference: string },
  responses: readonly (number | "none")[],
  status: string,
) {
  const { response, delivery, attempts } = await deliveryOf(context, reference);
  const received = attempts.map(({ httpStatus = "none" }) => httpStatus);
  const actual = { received: box.received.length, responses: received, status: delivery["status"] };
  same(context, id, "the delivery:", actual, { received: responses.length, responses, status }, response);
  return { response, delivery, attempts };
}

/** Moves the sandbox time forward in steps. After each step, expects this number of attempts so far. */
export async function expectSteps(
  context: Context,
  id: RequirementId,
  box: Box,
  ...steps: readonly (readonly [seconds: number, attempts: number])[]
) {
  let passed = 0;
  for (const [seconds, attempts] of steps) {
    await advance(context, seconds);
    passed += seconds;
    expectAttempts(context, id, box, attempts, `after ${passed} s`);
  }
}

export const replay = (context: Context, id: string, key?: Key) =>
  control(context, `deliveries/${id}/replay`, undefined, { key });
