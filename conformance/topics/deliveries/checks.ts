// Checks the lists of events and deliveries, and which deliveries can be replayed, and by whom (D13, D18).
import { judges, type Check } from "../../check.ts";
import { expectData, expectStatus, same } from "../../steps/expect.ts";
import { arrived, expectAttempts, idOf, webhooks } from "../../steps/notifications.ts";
import { isPage, listed } from "../../steps/responses.ts";
import { respondWith, holding, delivered, logged, expectDelivery, replay } from "../../steps/deliveries.ts";
import { get, pages } from "../../steps/requests.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import type { TargetResponse } from "../../target/exchange.ts";

/** The most pages of events that are read. */
const mostPages = 30;

const timed = [...webhooks, "clock"] as const;

export const checks: readonly Check[] = [
  judges("sandbox.events", { pays: 2, needs: [...webhooks, "events"] }, async (context, id) => {
    const older = await delivered(context, respondWith(204));
    const newer = await delivered(context, respondWith(204));
    const own = await get(context, `/sandbox/events?reference=${older.reference}`);
    const actual = listed(own).map((event) => ({ reference: event["reference"], id: event["id"] }));
    same(context, id, "the events of the record:", actual, [{ reference: older.reference, id: older.id }], own);
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
      const delivery = await logged(context, respondWith(response));
      await expectDelivery(context, id, delivery, [response], status);
      const other = await get(context, `/sandbox/deliveries?reference=${delivery.reference}&status=pending`);
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
      // Without this Retry-After, the next attempt could be made before the replay.
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
