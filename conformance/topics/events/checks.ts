// Checks the type, the content and the signature of each event (D11, D12).
import { define, type Context, describeResponse, given } from "../../check.ts";
import { expectNoFaults, holds, same } from "../../steps/expect.ts";
import {
  describeNotification,
  expectNotification,
  first,
  idOf,
  isSignedWith,
  mailbox,
  secretOf,
} from "../../steps/notifications.ts";
import { dataOf } from "../../steps/responses.ts";
import { paid, verified, started } from "../../steps/records.ts";
import { verifyDisbursement, verifyCheckout } from "../../steps/requests.ts";
import { advance, finishCheckout, forcing, moveClock } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Notification } from "../../target/receiver.ts";
import { equal, textOf } from "../../target/values.ts";
import { delivered, respondWith } from "../deliveries/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const needsReceiver = ["receiver", "forced-outcomes"] as const;

const forms: [header: string, form: RegExp][] = [
  ["webhook-id", /^msg_[0-9a-f]{32}$/],
  ["webhook-timestamp", /^\d{10}$/],
  ["webhook-signature", /^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$/],
];

/** Describes the faults of a delivery's webhook headers. The texts do not contain the headers' values. */
const headerFaults = ({ headers }: Notification): string[] =>
  forms
    .filter(([name, form]) => !form.test(String(headers[name] ?? "")))
    .map(([name, form]) =>
      headers[name] === undefined ? `${name} is missing` : `${name} does not match ${form.source}`,
    );

/** Judges the webhook headers of a delivery. */
function judgeHeaders(context: Context, notification: Notification) {
  const expected = "webhook-id, webhook-timestamp and webhook-signature in their documented formats";
  const faults = headerFaults(notification);
  const actual = faults.join(", ") || "as expected";
  expectNotification(context, "signature.headers", notification, faults.length === 0, expected, actual);
}

/** Creates a payout that settles immediately. Returns its notification. */
const notifiedOfPayout = async (context: Context, key: "own" | "second" = "own", over: Record<string, unknown> = {}) =>
  (await delivered(context, respondWith(204), key, over)).notification;

/** Ends of references. They lead to bodies whose bytes programs often change before they verify the signature. */
const awkwardEnds = ["é", "世界", "💸", "</script>&amp;", String.raw`\"/`];
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
  id: RequirementId,
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

export const checks = define([
  {
    name: "Delivery is a POST of JSON with the documented headers",
    ids: ["signature.headers", "events.json"],
    pays: 1,
    needs: needsReceiver,
    async run(context) {
      const notification = await notifiedOfPayout(context);
      judgeHeaders(context, notification);
      const { method, headers } = notification;
      const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "no Content-Type";
      const ok = method === "POST" && mediaType === "application/json";
      context.judge("events.json", ok, "POST, application/json", `${method}, ${mediaType}`, context.responses);
    },
  },
  {
    name: "Delivery is signed with the merchant's secret",
    ids: ["signature.verifies"],
    pays: 1 + awkwardEnds.length,
    needs: ["receiver", "forced-outcomes", "webhook-secret"],
    async run(context) {
      const secret = await secretOf(context);
      const notification = await notifiedOfPayout(context);
      const expectSigned = (sent: Notification, by: string, expected: boolean, when: string) => {
        const actual = isSignedWith(sent, by) ? "verifies" : "does not verify";
        const wanted = expected ? "verifies" : "does not verify";
        same(context, "signature.verifies", { what: `${when}, the signature`, actual, expected: wanted });
      };
      expectSigned(notification, secret, true, "with the merchant's secret");
      for (const end of awkwardEnds) {
        const sent = await notifiedOfPayout(context, "own", { reference: context.fresh() + end });
        expectSigned(sent, secret, true, `for a reference with ${end}`);
      }
      for (const other of ["", "whsec_Y2VydGlmeS13cm9uZy1zZWNyZXQtMDEyMzQ1Njc4OQ=="])
        expectSigned(notification, other, false, "with another secret");
      const body = notification.body.replace(/\d/, (digit) => String((Number(digit) + 1) % 10));
      expectSigned({ ...notification, body }, secret, false, "for an altered body");
    },
  },
  {
    name: "Delivery has the real time as its timestamp",
    ids: ["signature.timestamp-real"],
    pays: 1,
    needs: [...needsReceiver, "clock"],
    async run(context) {
      await advance(context, 10 * 86_400);
      const notification = await notifiedOfPayout(context);
      const off = Number(notification.headers["webhook-timestamp"]) - notification.at.getTime() / 1000;
      const actual = `${Math.round(off)} s off`;
      const isReal = Math.abs(off) <= 60;
      const expected = "the real time, within a minute";
      expectNotification(context, "signature.timestamp-real", notification, isReal, expected, actual);
    },
  },
  {
    name: "Both secrets sign for a day after a rotation",
    ids: ["signature.rotation"],
    pays: 2,
    // This check rotates the second merchant's secret, because the caller's receivers may rely on the first merchant's
    // secret.
    needs: ["receiver", "forced-outcomes", "clock", "secret", "rotate", "second-key"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated, and its sandbox time moves forward by a day.",
    async run(context) {
      const old = await secretOf(context, "second");
      const second = { method: "POST", effect: "moves-money", key: "second" } as const;
      const rotated = await context.target.send({ ...second, path: "/sandbox/webhook-secret/rotate" });
      given(rotated.status === 200, "200 for the rotation", rotated);
      const renewed = await secretOf(context, "second");
      const id = "signature.rotation";
      holds(context, id, renewed !== old, "a new secret", "the old one");
      const during = await notifiedOfPayout(context, "second");
      const both = isSignedWith(during, old) && isSignedWith(during, renewed);
      holds(context, id, both, "signatures with both secrets for a day", "a signature is missing");
      await moveClock(context, { seconds: 90_000 }, "second");
      const after = await notifiedOfPayout(context, "second");
      const onlyNew = !isSignedWith(after, old) && isSignedWith(after, renewed);
      holds(context, id, onlyNew, "only the new secret's signature after that", "other signatures");
    },
  },

  {
    name: "Finished disbursement sends the right event",
    ids: ["events.disbursement", "events.data-is-the-record"],
    pays: payouts.length,
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
    pays: 1,
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
    pays: 2,
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

  {
    name: "Every webhook of the run is well-formed",
    ids: ["events.data-is-the-record", "signature.headers"],
    needs: ["receiver"],
    offline: true,
    phase: "closing",
    async run(context) {
      const all = context.receiver?.all ?? [];
      if (all.length === 0) {
        for (const id of this.ids) context.couldNotRun(id, "no webhook was received");
        return;
      }
      const validate = context.validator("WebhookEvent");
      for (const notification of all) {
        const faults = validate(notification.json);
        const actual = `${describeNotification(notification)}: ${faults.slice(0, 5).join(", ") || "as expected"}`;
        const isRight = faults.length === 0;
        const expected = "a body that matches WebhookEvent";
        expectNotification(context, "events.data-is-the-record", notification, isRight, expected, actual);
        judgeHeaders(context, notification);
      }
    },
  },
]);
