// Checks the type and content of events (D11).
import { describeResponse, type Check, type Context } from "../../check.ts";
import type { Notification } from "../../target/receiver.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { expectNoFaults, holds, same } from "../../steps/expect.ts";
import { expectNotification, first, idOf, mailbox } from "../../steps/notifications.ts";
import { dataOf, paid, pays, verified, verifyDisbursement } from "../../steps/requests.ts";
import { advance, finishCheckout, forcing } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import { equal, textOf } from "../../target/values.ts";

const needs = ["receiver", "forced-outcomes", "clock"] as const;

const payouts: [suffix: string, event: string, schema: string][] = [
  ["001", "disbursement.completed", "DisbursementCompletedEvent"],
  ["002", "disbursement.failed", "DisbursementFailedEvent"],
  ["089", "disbursement.failed", "DisbursementFailedEvent"],
  ["473", "disbursement.completed", "DisbursementCompletedEvent"],
];

const ends: [outcome: string, event: string, schema: string][] = [
  ["success", "checkout.completed", "CheckoutCompletedEvent"],
  ["failed", "checkout.failed", "CheckoutFailedEvent"],
  ["cancelled", "checkout.cancelled", "CheckoutCancelledEvent"],
];

const eventOf = (json: unknown) => (json ?? {}) as { event?: unknown; data?: Record<string, unknown> };

/** Expects a notification to have this event, with this schema and the data of a record. */
function expectEvent(
  context: Context,
  id: string,
  notification: Notification,
  { event, schema, record, when }: { event: string; schema: string; record: unknown; when: string },
) {
  const { event: name, data } = eventOf(notification.json);
  expectNotification(context, id, notification, name === event, `${event} ${when}`);
  const faults = context.validator(schema)(notification.json);
  expectNoFaults(context, "events.data-is-the-record", `a body that matches ${schema}`, faults);
  same(context, "events.data-is-the-record", { what: "the event's data", actual: data, expected: record });
}

/** Creates a payout that the phone number's suffix settles, and returns its first notification. */
async function notified(context: Context, suffix: string, box = mailbox(context)) {
  const { reference } = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url });
  await settled(context, reference);
  return { box, reference, notification: await first(context, box) };
}

export const checks: Check[] = [
  {
    name: "Finished disbursement sends the right event",
    ids: ["events.disbursement", "events.data-is-the-record"],
    ...pays(payouts.length),
    needs,
    async run(context) {
      for (const [suffix, event, schema] of payouts) {
        const { reference, notification } = await notified(context, suffix);
        const { data: record } = await verified(context, reference);
        const when = `for a phone number ending in ${suffix}`;
        expectEvent(context, "events.disbursement", notification, { event, schema, record, when });
      }
    },
  },
  {
    name: "Finished checkout sends the right event",
    ids: ["events.checkout", "events.data-is-the-record"],
    effect: "moves-money",
    needs: ["receiver", "clock", "finish"],
    async run(context) {
      for (const [outcome, event, schema] of [
        ...ends,
        ["expiry", "checkout.cancelled", "CheckoutCancelledEvent"] as const,
      ]) {
        const box = mailbox(context);
        const { reference } = await started(context, { webhookURL: box.url });
        await (outcome === "expiry" ? advance(context, 1860) : finishCheckout(context, reference, outcome));
        const notification = await first(context, box);
        const record = dataOf(await verifyCheckout(context, reference));
        expectEvent(context, "events.checkout", notification, { event, schema, record, when: `after ${outcome}` });
      }
    },
  },
  {
    name: "Event data equals the record during the delivery",
    ids: ["events.data-is-the-record"],
    ...pays(1),
    needs,
    async run(context) {
      const looked = Promise.withResolvers<TargetResponse>();
      // If the check ends early, nothing else handles a rejection.
      looked.promise.catch(() => undefined);
      const box = mailbox(context, (response) => {
        const { data } = eventOf(box.received[0]?.json);
        void verifyDisbursement(context, textOf(data?.["reference"]))
          .then(looked.resolve, looked.reject)
          .finally(() => response.writeHead(204).end());
      });
      const { data } = eventOf((await notified(context, "473", box)).notification.json);
      const response = await looked.promise;
      const isEqual = equal(data, dataOf(response));
      const expected = "data equal to the record from verify during the delivery";
      holds(context, "events.data-is-the-record", isEqual, expected, describeResponse(response), response);
    },
  },
  {
    name: "Each status change sends one event",
    ids: ["events.once"],
    ...pays(2),
    needs,
    async run(context) {
      for (const suffix of ["001", "473"]) {
        const { box } = await notified(context, suffix);
        await advance(context, 3 * 86_400);
        const ids = box.received.map(idOf);
        context.judge("events.once", ids.length === 1, "exactly one notification", ids.join(", "), context.responses);
      }
    },
  },
];
