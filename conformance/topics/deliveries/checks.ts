// Checks the lists of events and deliveries, and which deliveries can be replayed, and by whom (D13, D18).
import { judges, type Context, type Check } from "../../check.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { arrived, type Box, expectAttempts, first, idOf, mailbox, webhooks } from "../../steps/notifications.ts";
import { isPage, listed } from "../../steps/responses.ts";
import { get, pages } from "../../steps/requests.ts";
import { paid } from "../../steps/records.ts";
import { advance, control, forcing } from "../../steps/sandbox-controls.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Responder } from "../../target/receiver.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** Returns a receiver that responds to the attempts with these statuses in turn, and repeats the last status. */
export const respondWith =
  (status: number | readonly number[], headers: Record<string, string> = {}): Responder =>
  (response, attempt) => {
    const statuses = [status].flat();
    response.writeHead(statuses[attempt - 1] ?? statuses.at(-1)!, headers).end();
  };

/** Returns a receiver that does not respond before `release`. */
export function holding() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const reply: Responder = (response) => void promise.then(() => response.writeHead(204).end());
  return { reply, release };
}

/** Creates a payout and waits for the first attempt to deliver its webhook. The receiver responds with `reply`. */
export async function delivered(
  context: Context,
  reply: Responder,
  key: "own" | "second" = "own",
  over: Record<string, unknown> = {},
) {
  const box = mailbox(context, reply);
  const { reference } = await paid(context, { phoneNumber: forcing("001"), webhookURL: box.url, ...over }, { key });
  const notification = await first(context, box);
  return { box, reference, notification, id: idOf(notification) };
}

/** Like `delivered`. Also gives the target the time to log the attempt, which it does after the receiver's response. */
export async function logged(context: Context, reply: Responder) {
  const made = await delivered(context, reply);
  await advance(context, 1);
  return made;
}

/** An attempt as a delivery's log describes it. */
type LoggedAttempt = Record<"number" | "httpStatus" | "responseBody" | "error" | "at", unknown>;

/**
 * Lists the deliveries of a record that has only one. Returns the response, that delivery, `{}` if none is listed, and
 * its attempts.
 */
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
  const expected = { received: responses.length, responses, status };
  same(context, id, "the delivery:", actual, expected, response);
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

/** The most pages of events that are read. */
const mostPages = 30;

export const replay = (context: Context, id: string, key: "own" | "second" = "own") =>
  control(context, `deliveries/${id}/replay`, undefined, key);

const timed = [...webhooks, "clock"] as const;

export const checks: readonly Check[] = [
  judges("sandbox.events", { pays: 2, needs: [...webhooks, "events"] }, async (context, id) => {
    const older = await delivered(context, respondWith(204));
    const newer = await delivered(context, respondWith(204));
    const own = await get(context, `/sandbox/events?reference=${older.reference}`);
    const actual = listed(own).map((event) => ({ reference: event["reference"], id: event["id"] }));
    const expected = [{ reference: older.reference, id: older.id }];
    same(context, id, "the events of the record:", actual, expected, own);
    // Payouts of other checks may settle meanwhile, so other events may be listed before and between these events.
    const seen: unknown[] = [];
    const read: TargetResponse[] = [];
    for await (const page of pages(context, "/sandbox/events?limit=1", mostPages)) {
      read.push(page);
      seen.push(...listed(page).map(({ reference }) => reference));
      if (seen.includes(older.reference)) break;
    }
    const [earlier, later] = [seen.indexOf(newer.reference), seen.indexOf(older.reference)];
    const ok = earlier >= 0 && earlier < later && seen.length === read.length;
    const order = `one event per page, and that of ${newer.reference} on a page before that of ${older.reference}`;
    context.judge(id, ok, order, `events of ${seen.join(", ")} on ${read.length} pages`, read.slice(-2));
  }),
  judges("sandbox.deliveries", { pays: 2, needs: [...timed, "deliveries"] }, async (context, id) => {
    for (const [response, status] of [
      [204, "delivered"],
      [410, "ended"],
    ] as const) {
      const made = await logged(context, respondWith(response));
      await expectDelivery(context, id, made, [response], status);
      const other = await get(context, `/sandbox/deliveries?reference=${made.reference}&status=pending`);
      const isEmpty = isPage(other) && listed(other).length === 0;
      context.judge(id, isEmpty, "no delivery of the record with status pending", other);
    }
  }),
  judges("sandbox.replay", { pays: 2, needs: [...timed, "replay"] }, async (context, judged) => {
    const { box, id } = await logged(context, respondWith(204));
    expectStatus(context, judged, await replay(context, id), 200, "for a replay");
    const received = await arrived(context, box, 2);
    same(context, judged, "webhook-ids", received.map(idOf), [id, id]);
    const waiting = await logged(context, (response, attempt) => {
      // Without this wait the next attempt could be made before the replay.
      if (attempt < 2) response.writeHead(503, { "retry-after": "3600" }).end();
      else response.writeHead(204).end();
    });
    const response = await replay(context, waiting.id);
    expectData(context, judged, response, { status: "delivered" }, "for a replay between two attempts");
    expectAttempts(context, judged, waiting.box, 2, "received");
  }),
  judges(
    ["uniqueness.merchants-apart", "sandbox.replay"],
    { name: "Replay of another merchant's delivery is refused", pays: 1, needs: [...timed, "replay", "second-key"] },
    async (context, apart) => {
      const { box, id } = await logged(context, respondWith(204));
      const foreign = await replay(context, id, "second");
      expectStatus(context, apart, foreign, 404, "for a replay of another merchant's delivery");
      // An id of the same form, which no delivery has.
      const unknown = await replay(context, id.slice(0, -1) + (id.endsWith("0") ? "1" : "0"));
      expectStatus(context, "sandbox.replay", unknown, 404, "for a replay of an unknown delivery");
      // The target responds to this request only after it has sent everything that is due.
      await advance(context, 1);
      expectAttempts(context, apart, box, 1, "received by the owner");
    },
  ),
  judges("sandbox.replay-in-progress", { pays: 1, needs: [...webhooks, "replay"] }, async (context, judged) => {
    const { reply, release } = holding();
    const { box, id } = await delivered(context, reply);
    const response = await replay(context, id);
    release();
    expectStatus(context, judged, response, 409, "for a replay while an attempt is in progress");
    expectAttempts(context, judged, box, 1, "received");
  }),
];
