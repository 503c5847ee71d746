// Checks notifications (§6): that they are sent and true, and the type, content and signature of each event (D11, D12). The
// interface requires that notifications are sent and that they are true. It does not define their format.
import { CouldNotJudge, given, judges, type Context, type Check, type Ids } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { Notification } from "../../target/receiver.ts";
import { shapeOf, checkoutStatus, ended, noneEnded } from "../../steps/checkouts.ts";
import { delivered, respondWith } from "../../steps/deliveries.ts";
import { same } from "../../steps/expect.ts";
import {
  arrived,
  describeNotification,
  eventName,
  expectArrival,
  expectNotification,
  first,
  idOf,
  isSignedWith,
  mailbox,
  secretOf,
  webhooks,
} from "../../steps/notifications.ts";
import { type Body, checkoutBody } from "../../steps/bodies.ts";
import { textsIn } from "../../steps/responses.ts";
import { dataOf, describeResponse, type TargetResponse } from "../../target/exchange.ts";
import { paid, started, verified } from "../../steps/records.ts";
import { startCheckout, verifyCheckout, verifyDisbursement } from "../../steps/requests.ts";
import { advance, finishCheckout, forcing, type Key, moveClock, rotateSecond } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import { equal, textOf } from "../../target/values.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** Words for each status, as they occur in statuses and event names. */
const statusWords: [status: string, words: RegExp][] = [
  ["failed", /fail|reject|declin|unsuccess/i],
  ["success", /succe(ss|ed)|(?<!in)complete|(?<!un)paid/i],
  ["pending", /pending|processing/i],
];

/** Creates a payout with a mailbox as its webhookURL and waits until its status is final. */
async function* notified(context: Context, phoneNumber: string) {
  const box = mailbox(context);
  const payout = await paid(context, { phoneNumber, webhookURL: box.url });
  yield;
  const hasClock = hasControl(context.options, "clock");
  // A merchant who relies on notifications does not verify a payout before its notification. After the notification,
  // the payout may still be pending.
  if (hasClock) await advance(context, 60);
  const isTold = !hasClock || (await arrived(context, box)).length > 0;
  const { data, seen } = await settled(context, payout.reference);
  return { ...payout, box, data, seen: [payout.data.status, ...seen], isTold: isTold || seen.length > 1 };
}

/** For each status, the default recipient in `assumed`, and what the caller can provide instead. */
const recipients = {
  success: ["recipient", "a recipient to whom payouts succeed (--recipient)", "--recipient PHONE"],
  failed: ["failing-recipient", "a recipient to whom payouts fail (--failing-recipient)", "--failing-recipient PHONE"],
} as const;

/**
 * Records that a payout did not end in the status to be judged. If the caller named the recipient, the target cannot
 * produce this status; a default recipient proves nothing.
 */
export function otherStatus(context: Context, ids: Ids, wanted: "success" | "failed", actual: string) {
  const [flag, what, provide] = recipients[wanted];
  const text = `a payout's status became ${actual}, not ${wanted}`;
  if (context.options.assumed.includes(flag))
    context.notApplicable(ids, `${what}: with the default, ${text}`, "caller", provide);
  else context.notApplicable(ids, text);
}

/** Returns the strings in a JSON value whose field names match. */
const valuesUnder = (json: unknown, field: RegExp) =>
  textsIn(json).flatMap(([name, text]) => (field.test(name) ? [text] : []));

/** Returns the statuses that these texts name. Texts that name no status are left out. */
const recognised = (texts: readonly string[]) =>
  texts.flatMap((text) => statusWords.filter(([, words]) => words.test(text)).slice(0, 1)).map(([status]) => status);

/**
 * Returns the statuses that a notification states: in fields named status or, if no status is recognised there, by the
 * words of its event's name and similar fields.
 */
function statedStatuses(json: unknown): string[] {
  const stated = recognised(valuesUnder(json, /^(payment|payout|disbursement|transaction)?_?(status|state)$/i));
  return stated.length > 0 ? stated : recognised([eventName(json) ?? "", ...valuesUnder(json, /^(outcome|result)$/i)]);
}

/**
 * Judges that a payout with this status is notified, and that its notifications state only statuses that it had. Returns
 * the first one. A payout that fails reveals a target that always notifies success.
 */
async function* judgeOutcome(context: Context, id: RequirementId, phoneNumber: string, status: "success" | "failed") {
  const { box, data, seen, reference, isTold } = yield* notified(context, phoneNumber);
  if (data.status !== status) otherStatus(context, id, status, data.status);
  else if (await expectArrival(context, id, box, `a notification for the payout with status ${status}`))
    context.judge(id, isTold, "a notification before the payout is verified", "none until then");
  const notification = await first(context, box);
  // Verify the payout at once, for life.ends-as-notified, which judges that the outcome can be retrieved as soon as it
  // is notified.
  await verified(context, reference);
  const named = box.received.flatMap(({ json }) => statedStatuses(json));
  const isTrue = named.every((each) => seen.includes(each));
  const unknown = "the notification states no status that the suite can recognise";
  if (named.length === 0) context.notApplicable("webhook.truth", unknown);
  else
    expectNotification(context, "webhook.truth", notification, isTrue, `one of ${seen.join(", ")}`, named.join(", "));
  return notification;
}

const transport = /^(host|connection|content-length|accept|accept-encoding|user-agent|transfer-encoding)$/;
const headerNames = ({ headers }: Notification) =>
  Object.keys(headers)
    .filter((name) => !transport.test(name))
    .toSorted();

const ofCheckouts = ["webhook.checkout-outcome", "checkout.states"] as const;

const forms: [header: string, form: RegExp][] = [
  ["webhook-id", /^msg_[0-9a-f]{32}$/],
  ["webhook-timestamp", /^\d{10}$/],
  ["webhook-signature", /^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$/],
];

/** Judges the webhook headers of a delivery. The texts do not contain the headers' values. */
function judgeHeaders(context: Context, notification: Notification) {
  const { headers } = notification;
  const faults = forms
    .filter(([name, form]) => !form.test(String(headers[name] ?? "")))
    .map(([name, { source }]) => `${name} ${headers[name] === undefined ? "is missing" : `does not match ${source}`}`);
  const expected = "webhook-id, webhook-timestamp and webhook-signature in their documented formats";
  const actual = faults.join(", ") || "as expected";
  expectNotification(context, "signature.headers", notification, faults.length === 0, expected, actual);
}

/** Creates a payout that settles immediately. Returns its notification. */
const notifiedOfPayout = async (context: Context, key?: Key, over?: Body) =>
  (await delivered(context, respondWith(204), key, over)).notification;

/** Ends of references. Programs often change the bytes of such a body before they compute its signature. */
const awkwardEnds = ["é", "世界", "💸", "</script>&amp;", String.raw`\"/`];
const needs = [...webhooks, "clock"] as const;

/** The event of a payout, by the end of its phone number. */
const payouts = {
  "001": "disbursement.completed",
  "002": "disbursement.failed",
  "089": "disbursement.failed",
  "473": "disbursement.completed",
};
/** The event of a checkout, by what ends it. */
const ends = {
  success: "checkout.completed",
  failed: "checkout.failed",
  cancelled: "checkout.cancelled",
  expiry: "checkout.cancelled",
};

const asRecord = "events.data-is-the-record";

const eventOf = (json: unknown) => (json ?? {}) as { event?: unknown; data?: Record<string, unknown> };

/** Expects a notification to have this event and the data of a record. */
function expectEvent(
  context: Context,
  id: RequirementId,
  notification: Notification,
  { event, record, when }: { event: string; record: unknown; when: string },
) {
  const { event: name, data } = eventOf(notification.json);
  expectNotification(context, id, notification, name === event, `${event} ${when}`);
  same(context, asRecord, "the event's data", data, record);
}

/** Creates a payout that the phone number's suffix settles, and returns its first notification. */
async function notifiedOfEnd(context: Context, suffix: string, box = mailbox(context)) {
  const { reference } = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url });
  await settled(context, reference);
  return { box, reference, notification: await first(context, box) };
}

export const checks: readonly Check[] = [
  judges(
    ["webhook.disbursement-success", "webhook.truth", "webhook.event-names", "webhook.payload", "webhook.headers"],
    { pays: 1, needs: ["receiver"] },
    async function* (context) {
      const { recipient } = context.options;
      const notification = yield* judgeOutcome(context, "webhook.disbursement-success", recipient, "success");
      context.observe("webhook.event-names", "name", eventName(notification.json));
      context.observe("webhook.payload", "fields", shapeOf(notification.json));
      context.observe("webhook.headers", "names", headerNames(notification));
    },
  ),
  judges(
    ["webhook.disbursement-failure", "webhook.truth"],
    { pays: 1, needs: ["receiver", "failing-recipient"] },
    async function* (context) {
      const { failingRecipient = "" } = context.options;
      yield* judgeOutcome(context, "webhook.disbursement-failure", failingRecipient, "failed");
    },
  ),
  judges(ofCheckouts, { needs: ["receiver", "finish-or-person"] }, async (context, id) => {
    const seen: Record<string, unknown[]> = {};
    for (const outcome of ["success", "failed", "cancelled"]) {
      const box = mailbox(context);
      const created = await startCheckout(context, checkoutBody(context, { webhookURL: box.url }));
      if (!(await ended(context, created, outcome))) continue;
      const expected = `a notification for a checkout finished as ${outcome}`;
      await expectArrival(context, id, box, expected);
      seen[outcome] = [dataOf(created)["status"], await checkoutStatus(context, created)];
    }
    if (Object.keys(seen).length > 0) context.observe("checkout.states", "statuses by outcome", seen);
    else noneEnded(context, ofCheckouts);
  }),
  judges("webhook.retries", { pays: 1, alone: true, needs: ["receiver"] }, async function* (context, id) {
    const box = mailbox(context, respondWith(500));
    const { reference } = await paid(context, { webhookURL: box.url });
    yield;
    await settled(context, reference);
    await first(context, box);
    if (hasControl(context.options, "clock")) await advance(context, 60);
    const received = await arrived(context, box, 2);
    context.observe(id, "repeated after a 500 response", received.length > 1);
  }),

  judges(["signature.headers", "events.json"], { pays: 1, needs: webhooks }, async (context) => {
    const notification = await notifiedOfPayout(context);
    judgeHeaders(context, notification);
    const { method, headers } = notification;
    const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "no Content-Type";
    const ok = method === "POST" && mediaType === "application/json";
    context.judge("events.json", ok, "POST, application/json", `${method}, ${mediaType}`);
  }),
  judges(
    "signature.verifies",
    { pays: 1 + awkwardEnds.length, needs: [...webhooks, "webhook-secret"] },
    async (context, id) => {
      const secret = await secretOf(context);
      const notification = await notifiedOfPayout(context);
      const expectSigned = (sent: Notification, by: string, expected: boolean, when: string) =>
        same(context, id, `${when}, the signature verifies:`, isSignedWith(sent, by), expected);
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
  ),
  judges("signature.timestamp-real", { pays: 1, needs }, async (context, id) => {
    await advance(context, 10 * 86_400);
    const notification = await notifiedOfPayout(context);
    const off = Number(notification.headers["webhook-timestamp"]) - notification.at.getTime() / 1000;
    const expected = "the real time, within a minute";
    expectNotification(context, id, notification, Math.abs(off) <= 60, expected, `${Math.round(off)} s off`);
  }),
  judges(
    "signature.rotation",
    {
      pays: 2,
      needs: [...needs, "secret", "rotate", "second-key"],
      leaves: "The webhook secret of API_KEY_2's merchant is rotated, and its sandbox time moves forward by a day.",
    },
    async (context, id) => {
      const old = await secretOf(context, "second");
      const rotated = await rotateSecond(context);
      given(rotated.status === 200, "200 for the rotation", rotated);
      const renewed = await secretOf(context, "second");
      context.judge(id, renewed !== old, "a new secret", ["the old one"]);
      const during = await notifiedOfPayout(context, "second");
      const both = isSignedWith(during, old) && isSignedWith(during, renewed);
      context.judge(id, both, "signatures with both secrets for a day", ["a signature is missing"]);
      await moveClock(context, { seconds: 90_000 }, "second");
      const after = await notifiedOfPayout(context, "second");
      const onlyNew = !isSignedWith(after, old) && isSignedWith(after, renewed);
      context.judge(id, onlyNew, "only the new secret's signature after that", ["other signatures"]);
    },
  ),
  judges(["events.disbursement", asRecord], { pays: Object.keys(payouts).length, needs }, async (context, id) => {
    for (const [suffix, event] of Object.entries(payouts)) {
      const { reference, notification } = await notifiedOfEnd(context, suffix);
      const { data: record } = await verified(context, reference);
      expectEvent(context, id, notification, { event, record, when: `for a phone number ending in ${suffix}` });
    }
  }),
  judges(["events.checkout", asRecord], { needs: ["receiver", "clock", "finish"] }, async (context, id) => {
    for (const [end, event] of Object.entries(ends)) {
      const box = mailbox(context);
      const { reference } = await started(context, { webhookURL: box.url });
      await (end === "expiry" ? advance(context, 1860) : finishCheckout(context, reference, end));
      const notification = await first(context, box);
      const record = dataOf(await verifyCheckout(context, reference));
      expectEvent(context, id, notification, { event, record, when: `after ${end}` });
    }
  }),
  judges(asRecord, { name: "Data equals the record during the delivery", pays: 1, needs }, async (context, id) => {
    const looked = Promise.withResolvers<TargetResponse>();
    // If the check ends early, nothing else handles a rejection.
    looked.promise.catch(() => undefined);
    const box = mailbox(context, (response) => {
      const { data } = eventOf(box.received[0]?.json);
      void verifyDisbursement(context, textOf(data?.["reference"]))
        .then(looked.resolve, looked.reject)
        .finally(() => response.writeHead(204).end());
    });
    const { data } = eventOf((await notifiedOfEnd(context, "473", box)).notification.json);
    const response = await looked.promise;
    const expected = "data equal to the record from verify during the delivery";
    context.judge(id, equal(data, dataOf(response)), expected, [describeResponse(response)], response);
  }),
  judges("events.once", { pays: 2, needs }, async (context, id) => {
    for (const suffix of ["001", "473"]) {
      const { box } = await notifiedOfEnd(context, suffix);
      await advance(context, 3 * 86_400);
      const ids = box.received.map(idOf);
      context.judge(id, ids.length === 1, "exactly one notification", ids.join(", "));
    }
  }),
  judges(
    [asRecord, "signature.headers"],
    { name: "Every webhook of the run is well-formed", needs: ["receiver"], offline: true, phase: "closing" },
    async (context, id) => {
      const all = context.receiver?.all ?? [];
      if (all.length === 0) throw new CouldNotJudge("no webhook was received");
      const validate = context.validator("WebhookEvent");
      for (const notification of all) {
        const faults = validate(notification.json);
        const actual = `${describeNotification(notification)}: ${faults.slice(0, 5).join(", ") || "as expected"}`;
        expectNotification(context, id, notification, faults.length === 0, "a body that matches WebhookEvent", actual);
        judgeHeaders(context, notification);
      }
    },
  ),
];
