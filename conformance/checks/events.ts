// Checks the type and content of events (D11).
import { isDeepStrictEqual } from "node:util";
import { describeResponse, type Check } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { verifyCheckout, started } from "./checkout-record.ts";
import { delivered, respondWith } from "./deliveries.ts";
import { expectNoFaults, same, holds } from "./expect.ts";
import { arrived, first, idOf, mailbox, describeNotification } from "./notifications.ts";
import { dataOf, paid, verified, verifyDisbursement, pays } from "./requests.ts";
import { advance, finishCheckout, forcing } from "./sandbox-controls.ts";
import { settled } from "./settlement.ts";

const one = pays(1);
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

export const checks: Check[] = [
  {
    name: "Event is sent by POST as JSON",
    ids: ["events.json"],
    ...one,
    needs: ["receiver", "forced-outcomes"],
    async run(context) {
      const { box } = await delivered(context, respondWith(204));
      for (const { method, headers } of box.received) {
        const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "no Content-Type";
        const ok = method === "POST" && mediaType === "application/json";
        context.judge("events.json", ok, "POST, application/json", `${method}, ${mediaType}`, context.responses);
      }
    },
  },
  {
    name: "Finished disbursement sends the right event",
    ids: ["events.disbursement", "events.data-is-the-record"],
    ...pays(payouts.length),
    needs,
    async run(context) {
      for (const [suffix, event, schema] of payouts) {
        const box = mailbox(context);
        const { reference } = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url });
        await settled(context, reference);
        const notification = await first(context, box);
        const { event: name, data } = eventOf(notification.json);
        context.judge(
          "events.disbursement",
          name === event,
          `${event} for a phone number ending in ${suffix}`,
          describeNotification(notification),
          context.responses,
        );
        const { data: record } = await verified(context, reference);
        const faults = context.validator(schema)(notification.json);
        expectNoFaults(context, "events.data-is-the-record", `a body that matches ${schema}`, faults);
        same(context, "events.data-is-the-record", { what: "the event's data", actual: data, expected: record });
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
        const { event: name, data } = eventOf(notification.json);
        context.judge(
          "events.checkout",
          name === event,
          `${event} after ${outcome}`,
          describeNotification(notification),
          context.responses,
        );
        const faults = context.validator(schema)(notification.json);
        expectNoFaults(context, "events.data-is-the-record", `a body that matches ${schema}`, faults);
        const record = dataOf(await verifyCheckout(context, reference));
        same(context, "events.data-is-the-record", { what: "the event's data", actual: data, expected: record });
      }
    },
  },
  {
    name: "Event data equals the record during the delivery",
    ids: ["events.data-is-the-record"],
    ...one,
    needs,
    async run(context) {
      const looked = Promise.withResolvers<TargetResponse>();
      const box = mailbox(context, (response) => {
        const { data } = eventOf(box.received[0]?.json);
        void verifyDisbursement(context, String(data?.["reference"]))
          .then(looked.resolve, looked.reject)
          .finally(() => response.writeHead(204).end());
      });
      const { reference } = await paid(context, { phoneNumber: forcing("473"), webhookURL: box.url });
      await settled(context, reference);
      const { data } = eventOf((await first(context, box)).json);
      const response = await looked.promise;
      const equal = isDeepStrictEqual(data, dataOf(response));
      const expected = "data equal to the record from verify during the delivery";
      holds(context, "events.data-is-the-record", equal, expected, describeResponse(response), [response]);
    },
  },
  {
    name: "Each status change sends one event",
    ids: ["events.once"],
    ...pays(2),
    needs,
    async run(context) {
      for (const suffix of ["001", "473"]) {
        const box = mailbox(context);
        const { reference } = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url });
        await settled(context, reference);
        await first(context, box);
        await advance(context, 3 * 86_400);
        const ids = box.received.map(idOf);
        context.judge("events.once", ids.length === 1, "exactly one notification", ids.join(", "), context.responses);
      }
    },
  },
  {
    name: "Repeated deliveries have the same webhook-id",
    ids: ["events.once"],
    ...one,
    needs,
    async run(context) {
      const box = mailbox(context, (response, attempt) => void response.writeHead(attempt === 1 ? 500 : 204).end());
      await paid(context, { phoneNumber: forcing("001"), webhookURL: box.url });
      await first(context, box);
      await advance(context, 60);
      const received = await arrived(context, box, 2);
      const ids = [...new Set(received.map(idOf))];
      context.judge(
        "events.once",
        received.length === 2 && ids.length === 1,
        "two deliveries with the same webhook-id",
        received.map(idOf).join(", "),
        context.responses,
      );
    },
  },
];
