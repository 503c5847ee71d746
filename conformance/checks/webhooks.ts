// Checks notifications (§6). The interface requires that they are sent and that they are true. It does not define their
// format.
import type { Check, Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { Notification } from "../target/receiver.ts";
import { shapeOf } from "./checkout.ts";
import { respondWith } from "./deliveries.ts";
import { holds } from "./expect.ts";
import { checkoutStatus, ended, noneEnded } from "./finishing.ts";
import { arrived, eventName, expectArrival, expectNotification, first, mailbox, type Box } from "./notifications.ts";
import {
  checkoutBody,
  dataOf,
  disbursementBody,
  paid,
  pay,
  payInvalid,
  pays,
  startCheckout,
  verified,
} from "./requests.ts";
import { advance } from "./sandbox-controls.ts";
import { settled } from "./settlement.ts";

/** The ids of the requirements that can be judged on a single notification. */
const ofOne = ["webhook.truth", "webhook.event-names", "webhook.payload", "webhook.headers"];
/** Words for each status, as they occur in statuses and event names. */
const statusWords: [status: string, words: RegExp][] = [
  ["failed", /fail|reject|declin|unsuccess/i],
  ["success", /succe(ss|ed)|(?<!in)complete|(?<!un)paid/i],
  ["pending", /pending|processing/i],
];

/** Creates a payout with a mailbox as its webhookURL and waits until its status is final. */
async function* notified(context: Context, phoneNumber: string) {
  const box = mailbox(context);
  const made = await paid(context, { phoneNumber, webhookURL: box.url });
  yield;
  const { data, seen } = await settled(context, made.reference);
  return { ...made, box, data, seen: [made.data.status, ...seen] };
}

/** The flags that name a recipient whose payouts end in a status, and what the caller then provides. */
const recipients = {
  success: ["recipient", "a recipient to whom payouts succeed (--recipient)", "--recipient PHONE"],
  failed: ["failing-recipient", "a recipient to whom payouts fail (--failing-recipient)", "--failing-recipient PHONE"],
} as const;

/**
 * Records that a payout did not end in the status to be judged. If the caller named the recipient, the target cannot do
 * it; a default recipient proves nothing.
 */
export function otherStatus(context: Context, id: string, wanted: "success" | "failed", actual: string) {
  const [flag, what, provide] = recipients[wanted];
  const text = `a payout's status became ${actual}, not ${wanted}`;
  if (context.options.assumed.includes(flag))
    context.notApplicable(id, `${what}: with the default, ${text}`, "caller", provide);
  else context.notApplicable(id, text);
}

/** Verifies a payout as soon as its outcome was notified, for `life.ends-as-notified` to judge. */
const lookAgain = (context: Context, reference: string) => verified(context, reference);

/** Judges that a payout with this status is notified. */
async function* judgeOutcome(context: Context, id: string, phoneNumber: string, status: "success" | "failed") {
  const { box, data, reference } = yield* notified(context, phoneNumber);
  if (data.status !== status) return otherStatus(context, id, status, data.status);
  await expectArrival(context, id, box, `a notification for the payout with status ${status}`);
  await lookAgain(context, reference);
}

/** Returns the strings in a JSON value whose field names match. */
function valuesUnder(value: unknown, name: RegExp, key = ""): string[] {
  if (typeof value === "string") return name.test(key) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([inner, next]) => valuesUnder(next, name, inner));
}

/** Returns the status that each text names, for the texts that name one. */
const recognised = (texts: readonly string[]) =>
  texts.flatMap((text) => statusWords.filter(([, words]) => words.test(text)).slice(0, 1)).map(([status]) => status);

/**
 * Returns the statuses that a notification states: in fields named status or, if none is recognised there, by the words
 * of its event's name and similar fields.
 */
function statedStatuses(json: unknown): string[] {
  const stated = recognised(valuesUnder(json, /^(payment|payout|disbursement|transaction)?_?(status|state)$/i));
  return stated.length > 0 ? stated : recognised([eventName(json) ?? "", ...valuesUnder(json, /^(outcome|result)$/i)]);
}

/**
 * Judges that every notification of a payout states only statuses that the payout had, and returns the first one. A
 * payout that fails reveals a target that always notifies success.
 */
async function* judgeTruth(context: Context, phoneNumber: string): AsyncGenerator<void, Notification> {
  const { box, seen, reference } = yield* notified(context, phoneNumber);
  const notification = await first(context, box);
  await lookAgain(context, reference);
  const named = box.received.flatMap(({ json }) => statedStatuses(json));
  const isTrue = named.every((status) => seen.includes(status));
  const unknown = "the notification states no status that the suite can recognise";
  if (named.length === 0) context.notApplicable("webhook.truth", unknown);
  else
    expectNotification(context, "webhook.truth", notification, isTrue, `one of ${seen.join(", ")}`, named.join(", "));
  return notification;
}

const transport = new Set([
  "host",
  "connection",
  "content-length",
  "accept",
  "accept-encoding",
  "user-agent",
  "transfer-encoding",
]);
const headerNames = ({ headers }: Notification) =>
  Object.keys(headers)
    .filter((name) => !transport.has(name))
    .toSorted();

const about = (
  { body }: Notification,
  { reference, body: sent }: { reference: string; body: Record<string, unknown> },
) => body.includes(reference) || body.includes(String(sent["reference"]));

/** Creates payouts with two addresses and with none, and requests that are refused. Returns what was received. */
async function* threePayouts(context: Context) {
  const boxes: [Box, Box] = [mailbox(context), mailbox(context)];
  const refused = mailbox(context);
  const made = [
    await paid(context, { webhookURL: boxes[0].url }),
    await paid(context, { webhookURL: boxes[1].url }),
  ] as const;
  const silent = await paid(context);
  await payInvalid(context, disbursementBody(context, { amount: -1, webhookURL: refused.url }));
  await pay(context, { ...made[0].body, webhookURL: refused.url });
  yield;
  for (const { reference } of [...made, silent]) await settled(context, reference);
  for (const box of boxes) await first(context, box);
  return { boxes, made, silent, refused };
}

type Payouts = ReturnType<typeof threePayouts> extends AsyncGenerator<void, infer Made> ? Made : never;

const describeStray = ({ body }: Notification) => body.slice(0, 80);

const strayNotifications = ({ boxes, made, silent }: Payouts) =>
  boxes.flatMap((box, index) =>
    box.received
      .filter((notification) => [made[1 - index], silent].some((other) => other && about(notification, other)))
      .map(describeStray),
  );

/** Returns true if each address received a notification that names its payout. Otherwise strays cannot be recognised. */
const areNamed = ({ boxes, made }: Payouts) =>
  boxes.every((box, index) => box.received.some((notification) => about(notification, made[index]!)));

export const checks: Check[] = [
  {
    name: "Success is notified",
    ids: ["webhook.disbursement-success"],
    ...pays(1),
    needs: ["receiver"],
    async *run(context) {
      yield* judgeOutcome(context, "webhook.disbursement-success", context.options.recipient, "success");
    },
  },
  {
    name: "Failure is notified",
    ids: ["webhook.disbursement-failure"],
    ...pays(1),
    needs: ["receiver", "failing-recipient"],
    async *run(context) {
      yield* judgeOutcome(context, "webhook.disbursement-failure", context.options.failingRecipient ?? "", "failed");
    },
  },
  {
    name: "Each outcome of a checkout is notified",
    ids: ["webhook.checkout-outcome", "checkout.states"],
    effect: "moves-money",
    needs: ["receiver", "finish-or-person"],
    async run(context) {
      const seen: Record<string, unknown[]> = {};
      for (const outcome of ["success", "failed", "cancelled"]) {
        const box = mailbox(context);
        const created = await startCheckout(context, checkoutBody(context, { webhookURL: box.url }));
        if (!(await ended(context, created, outcome))) continue;
        const expected = `a notification for a checkout finished as ${outcome}`;
        await expectArrival(context, "webhook.checkout-outcome", box, expected);
        seen[outcome] = [dataOf(created)["status"], await checkoutStatus(context, created)];
      }
      if (Object.keys(seen).length > 0) context.observe("checkout.states", "statuses by outcome", seen);
      else noneEnded(context, this.ids);
    },
  },
  {
    name: "Notifications go only to their own webhookURL",
    ids: ["webhook.only-with-address"],
    ...pays(4),
    needs: ["receiver"],
    async *run(context) {
      const id = "webhook.only-with-address";
      const payouts = yield* threePayouts(context);
      const refused = payouts.refused.received.map((stray) => `for a refused request: ${describeStray(stray)}`);
      const strays = [...refused, ...strayNotifications(payouts)];
      if (strays.length === 0 && !areNamed(payouts))
        return context.notApplicable(id, "notifications do not name their payout, so a stray one cannot be recognised");
      const expected =
        "notifications only of an address's own disbursement, and none at the address of a refused request";
      holds(context, id, strays.length === 0, expected, `also received: ${strays.join("; ")}`);
    },
  },
  {
    name: "Notification states the true status",
    ids: ofOne,
    ...pays(1),
    needs: ["receiver"],
    async *run(context) {
      const notification = yield* judgeTruth(context, context.options.recipient);
      context.observe("webhook.event-names", "name", eventName(notification.json));
      context.observe("webhook.payload", "fields", shapeOf(notification.json));
      context.observe("webhook.headers", "names", headerNames(notification));
    },
  },
  {
    name: "Notification of a failing payout states the true status",
    ids: ["webhook.truth"],
    ...pays(1),
    needs: ["receiver", "failing-recipient"],
    async *run(context) {
      yield* judgeTruth(context, context.options.failingRecipient ?? "");
    },
  },
  {
    name: "Records whether a refused notification is repeated",
    ids: ["webhook.retries"],
    ...pays(1),
    alone: true,
    needs: ["receiver"],
    async *run(context) {
      const box = mailbox(context, respondWith(500));
      const { reference } = await paid(context, { webhookURL: box.url });
      yield;
      await settled(context, reference);
      await first(context, box);
      if (hasControl(context.options, "clock")) await advance(context, 60);
      const received = await arrived(context, box, 2);
      context.observe("webhook.retries", "repeated after a 500 response", received.length > 1);
    },
  },
];
