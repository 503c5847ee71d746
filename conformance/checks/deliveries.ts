// Checks the listing of events and deliveries (D18).
import type { Check, Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Responder } from "../target/receiver.ts";
import { first, idOf, mailbox } from "./notifications.ts";
import { dataOf, paid, pays, get } from "./requests.ts";
import { advance, forcing, isPage, listed } from "./sandbox-controls.ts";
import { shows } from "./expect.ts";

export const respondWith =
  (status: number, headers: Record<string, string> = {}): Responder =>
  (response) =>
    void response.writeHead(status, headers).end();

/** Creates a payout and waits for the first attempt to deliver its webhook. The receiver responds with `reply`. */
export async function delivered(context: Context, reply: Responder) {
  const box = mailbox(context, reply);
  const { reference } = await paid(context, { phoneNumber: forcing("001"), webhookURL: box.url });
  const notification = await first(context, box);
  return { box, reference, id: idOf(notification) };
}

const list = (context: Context, what: string, query: string) => get(context, `/sandbox/${what}?${query}`);

/**
 * Lists the deliveries of a record that has only one. Returns the response and that delivery, `{}` if none is listed.
 */
export async function deliveryOf(context: Context, reference: string) {
  const response = await list(context, "deliveries", `reference=${reference}`);
  const [delivery = {}] = listed(response);
  return { response, delivery };
}

/** The most pages of events that are read. */
const mostPages = 30;

export const checks: Check[] = [
  {
    name: "Events are listed by record, newest first and in pages",
    ids: ["sandbox.events"],
    ...pays(2),
    needs: ["receiver", "forced-outcomes", "events"],
    async run(context) {
      const older = await delivered(context, respondWith(204));
      const newer = await delivered(context, respondWith(204));
      const own = await list(context, "events", `reference=${older.reference}`);
      const [event = {}, ...more] = listed(own);
      const right = more.length === 0 && event["reference"] === older.reference && event["id"] === older.id;
      shows(context, "sandbox.events", own, right, "only the event of the record, with its webhook-id");
      // Payouts of other checks may settle meanwhile, so other events may be listed before and between these two.
      const seen: unknown[] = [];
      const pages: TargetResponse[] = [];
      for (let query = "limit=1"; !seen.includes(older.reference) && pages.length < mostPages;) {
        const page = await list(context, "events", query);
        pages.push(page);
        seen.push(...listed(page).map(({ reference }) => reference));
        query = `limit=1&cursor=${encodeURIComponent(String(dataOf(page)["nextCursor"]))}`;
      }
      const [earlier, later] = [seen.indexOf(newer.reference), seen.indexOf(older.reference)];
      context.judge(
        "sandbox.events",
        earlier >= 0 && earlier < later && seen.length === pages.length,
        `one event per page, and that of ${newer.reference} on a page before that of ${older.reference}`,
        `events of ${seen.join(", ")} on ${pages.length} pages`,
        pages.slice(-2),
      );
    },
  },
  {
    name: "Deliveries are listed by record and by status",
    ids: ["sandbox.deliveries"],
    ...pays(2),
    needs: ["receiver", "forced-outcomes", "deliveries", "clock"],
    async run(context) {
      const good = await delivered(context, respondWith(204));
      const bad = await delivered(context, respondWith(410));
      // The target records an attempt only after it has received the response. This request gives it the time to do so.
      await advance(context, 1);
      for (const [{ reference }, status] of [
        [good, "delivered"],
        [bad, "ended"],
      ] as const) {
        const { response, delivery } = await deliveryOf(context, reference);
        const attempts = (delivery["attempts"] ?? []) as unknown[];
        const ok = delivery["status"] === status && attempts.length === 1;
        shows(context, "sandbox.deliveries", response, ok, `a delivery with status ${status} and one attempt`);
        const other = await list(context, "deliveries", `reference=${reference}&status=pending`);
        shows(
          context,
          "sandbox.deliveries",
          other,
          isPage(other) && listed(other).length === 0,
          "no delivery of the record with status pending",
        );
      }
    },
  },
];
