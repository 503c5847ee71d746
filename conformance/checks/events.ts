// D11: which event is told, and what it carries.
import { describeResponse, type Check } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { verifyCheckout, started } from "./checkout-record.ts";
import { arrived, first, idOf, mailbox, telling } from "./notifications.ts";
import { dataOf, paid, usualAmount, verified, verifyDisbursement } from "./requests.ts";
import { advance, finishCheckout, forcing, settled } from "./sandbox-controls.ts";

const one = { effect: "moves-money", payouts: 1, amount: usualAmount } as const;
const needs = ["receiver", "sandbox"] as const;

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
const same = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

/** The value with its keys in order, so that two can be compared as text. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, sorted(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

export const eventChecks: Check[] = [
  {
    name: "the event of a disbursement's end",
    ids: ["events.disbursement", "events.data-is-the-record"],
    effect: "moves-money",
    payouts: payouts.length,
    amount: payouts.length * usualAmount,
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
          `${event} for a number ending in ${suffix}`,
          telling(notification),
        );
        const { data: record } = await verified(context, reference);
        const faults = context.validator(schema)(notification.json);
        context.judge(
          "events.data-is-the-record",
          faults.length === 0,
          `a body of the form of ${schema}`,
          faults.join(", ") || "so it is",
        );
        const equal = same(data, record);
        context.judge(
          "events.data-is-the-record",
          equal,
          "data as verify returns it",
          equal ? "so it is" : "it differs",
        );
      }
    },
  },
  {
    name: "the event of a checkout's end",
    ids: ["events.checkout", "events.data-is-the-record"],
    effect: "moves-money",
    needs,
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
        context.judge("events.checkout", name === event, `${event} after ${outcome}`, telling(notification));
        const faults = context.validator(schema)(notification.json);
        context.judge(
          "events.data-is-the-record",
          faults.length === 0,
          `a body of the form of ${schema}`,
          faults.join(", ") || "so it is",
        );
        const record = dataOf(await verifyCheckout(context, reference));
        const equal = same(data, record);
        context.judge(
          "events.data-is-the-record",
          equal,
          "data as the record has it",
          equal ? "so it is" : "it differs",
        );
      }
    },
  },
  {
    name: "the record at the moment of its event",
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
      const equal = same(data, dataOf(response));
      const expected = "data as verify returns it while the event is being delivered";
      context.judge("events.data-is-the-record", equal, expected, equal ? "so it is" : describeResponse(response), [
        response,
      ]);
    },
  },
  {
    name: "one change, one event",
    ids: ["events.once"],
    effect: "moves-money",
    payouts: 2,
    amount: 2 * usualAmount,
    needs,
    async run(context) {
      for (const suffix of ["001", "473"]) {
        const box = mailbox(context);
        const { reference } = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url });
        await settled(context, reference);
        await first(context, box);
        await advance(context, 3 * 86_400);
        const ids = box.received.map(idOf);
        context.judge("events.once", ids.length === 1, "one notification, and none later", ids.join(", "));
      }
    },
  },
  {
    name: "deliveries under one id",
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
        "two deliveries under one webhook-id",
        received.map(idOf).join(", "),
      );
    },
  },
];
