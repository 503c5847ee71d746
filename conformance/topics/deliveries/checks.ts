// Checks the lists of events and deliveries, and which deliveries can be replayed, and by whom (D13, D18).
import { define, type Context } from "../../check.ts";
import { expectData, expectStatus, same, shows } from "../../steps/expect.ts";
import { arrived, type Box, expectAttempts, first, idOf, mailbox } from "../../steps/notifications.ts";
import { dataOf, isPage, listed } from "../../steps/responses.ts";
import { get } from "../../steps/requests.ts";
import { paid } from "../../steps/records.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Responder } from "../../target/receiver.ts";
import { textOf } from "../../target/values.ts";
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

const list = (context: Context, what: string, query: string) => get(context, `/sandbox/${what}?${query}`);

/** An attempt as a delivery's log describes it. */
type LoggedAttempt = Record<"number" | "httpStatus" | "responseBody" | "error" | "at", unknown>;

/**
 * Lists the deliveries of a record that has only one. Returns the response, that delivery, `{}` if none is listed, and
 * its attempts.
 */
export async function deliveryOf(context: Context, reference: string) {
  const response = await list(context, "deliveries", `reference=${reference}`);
  const [delivery = {}] = listed(response);
  return { response, delivery, attempts: (delivery["attempts"] ?? []) as LoggedAttempt[] };
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
  const logged = attempts.map(({ httpStatus = "none" }) => httpStatus);
  const actual = { received: box.received.length, responses: logged, status: delivery["status"] };
  const expected = { received: responses.length, responses, status };
  same(context, id, { what: "the delivery:", actual, expected }, response);
  return { response, delivery, attempts };
}

/** Moves the sandbox time forward in steps. After each step, expects this number of attempts so far. */
export async function expectSteps(
  context: Context,
  id: RequirementId,
  box: Box,
  ...steps: readonly [seconds: number, attempts: number][]
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
  context.target.send({ method: "POST", path: `/sandbox/deliveries/${id}/replay`, effect: "moves-money", key });

/** Returns an id of the same form, which no delivery has. */
const unknownLike = (id: string) => id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");

export const checks = define([
  {
    name: "Events are listed by record, newest first and in pages",
    ids: ["sandbox.events"],
    pays: 2,
    needs: ["receiver", "forced-outcomes", "events"],
    async run(context) {
      const older = await delivered(context, respondWith(204));
      const newer = await delivered(context, respondWith(204));
      const own = await list(context, "events", `reference=${older.reference}`);
      const [event = {}, ...more] = listed(own);
      const right = more.length === 0 && event["reference"] === older.reference && event["id"] === older.id;
      shows(context, "sandbox.events", own, right, "only the event of the record, with its webhook-id");
      // Payouts of other checks may settle meanwhile, so other events may be listed before and between these two
      // events.
      const seen: unknown[] = [];
      const pages: TargetResponse[] = [];
      for (let query = "limit=1"; !seen.includes(older.reference) && pages.length < mostPages;) {
        const page = await list(context, "events", query);
        pages.push(page);
        seen.push(...listed(page).map(({ reference }) => reference));
        query = `limit=1&cursor=${encodeURIComponent(textOf(dataOf(page)["nextCursor"]))}`;
      }
      const [earlier, later] = [seen.indexOf(newer.reference), seen.indexOf(older.reference)];
      const ok = earlier >= 0 && earlier < later && seen.length === pages.length;
      const expected = `one event per page, and that of ${newer.reference} on a page before that of ${older.reference}`;
      const actual = `events of ${seen.join(", ")} on ${pages.length} pages`;
      context.judge("sandbox.events", ok, expected, actual, pages.slice(-2));
    },
  },
  {
    name: "Deliveries are listed by record and by status",
    ids: ["sandbox.deliveries"],
    pays: 2,
    needs: ["receiver", "forced-outcomes", "deliveries", "clock"],
    async run(context) {
      const good = await delivered(context, respondWith(204));
      const bad = await delivered(context, respondWith(410));
      // The target records an attempt only after it has received the response. This request gives the target the time
      // to record the attempt.
      await advance(context, 1);
      for (const [{ reference }, status] of [
        [good, "delivered"],
        [bad, "ended"],
      ] as const) {
        const { response, delivery, attempts } = await deliveryOf(context, reference);
        const ok = delivery["status"] === status && attempts.length === 1;
        shows(context, "sandbox.deliveries", response, ok, `a delivery with status ${status} and one attempt`);
        const other = await list(context, "deliveries", `reference=${reference}&status=pending`);
        const isEmpty = isPage(other) && listed(other).length === 0;
        shows(context, "sandbox.deliveries", other, isEmpty, "no delivery of the record with status pending");
      }
    },
  },

  {
    name: "Delivery can be replayed",
    ids: ["sandbox.replay"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "replay", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith(204));
      await advance(context, 1);
      const response = await replay(context, id);
      const received = await arrived(context, box, 2);
      expectStatus(context, "sandbox.replay", response, 200, "for a replay");
      same(context, "sandbox.replay", { what: "webhook-ids", actual: received.map(idOf), expected: [id, id] });
    },
  },
  {
    name: "Delivery that waits for its next attempt can be replayed",
    ids: ["sandbox.replay"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "replay", "clock"],
    async run(context) {
      const { box, id } = await delivered(context, (response, attempt) => {
        // Without this wait the next attempt could be made before the replay.
        if (attempt < 2) response.writeHead(503, { "retry-after": "3600" }).end();
        else response.writeHead(204).end();
      });
      await advance(context, 1);
      const response = await replay(context, id);
      expectData(context, "sandbox.replay", response, { status: "delivered" }, "for a replay between two attempts");
      expectAttempts(context, "sandbox.replay", box, 2, "received");
    },
  },
  {
    name: "Replay of a delivery that the merchant does not have sends nothing",
    ids: ["uniqueness.merchants-apart", "sandbox.replay"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "replay", "clock", "second-key"],
    async run(context) {
      const { box, id } = await delivered(context, respondWith(204));
      await advance(context, 1);
      const foreign = await replay(context, id, "second");
      expectStatus(context, "uniqueness.merchants-apart", foreign, 404, "for a replay of another merchant's delivery");
      const unknown = await replay(context, unknownLike(id));
      expectStatus(context, "sandbox.replay", unknown, 404, "for a replay of an unknown delivery");
      // The target responds to this request only after it has sent everything that is due.
      await advance(context, 1);
      expectAttempts(context, "uniqueness.merchants-apart", box, 1, "received by the owner");
    },
  },
  {
    name: "Replay during an attempt is refused",
    ids: ["sandbox.replay-in-progress"],
    pays: 1,
    needs: ["receiver", "forced-outcomes", "replay"],
    async run(context) {
      const { reply, release } = holding();
      const { box, id } = await delivered(context, reply);
      const response = await replay(context, id);
      release();
      const when = "for a replay while an attempt is in progress";
      expectStatus(context, "sandbox.replay-in-progress", response, 409, when);
      expectAttempts(context, "sandbox.replay-in-progress", box, 1, "received");
    },
  },
]);
