// Checks notifications (§6). The interface requires that they are sent and that they are true. It does not define their
// format.
import { judges, type Context, type Check, type Ids } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { Notification } from "../../target/receiver.ts";
import { shapeOf, checkoutStatus, ended, noneEnded } from "../../steps/checkouts.ts";
import { respondWith } from "../../steps/deliveries.ts";
import { arrived, eventName, expectArrival, expectNotification, first, mailbox } from "../../steps/notifications.ts";
import { checkoutBody } from "../../steps/bodies.ts";
import { textsIn } from "../../steps/responses.ts";
import { dataOf } from "../../target/exchange.ts";
import { paid, verified } from "../../steps/records.ts";
import { startCheckout } from "../../steps/requests.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
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
];
