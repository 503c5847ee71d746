// Checks notifications (§6). The interface requires that they are sent and that they are true. It does not define their
// format.
import type { Check, Context } from "../check.ts";
import { hasControl } from "../run-options.ts";
import type { Notification } from "../target/receiver.ts";
import { shapeOf } from "./checkout.ts";
import { verifyCheckout } from "./checkout-record.ts";
import { arrived, eventName, first, mailbox, tally, type Box } from "./notifications.ts";
import {
  checkoutBody,
  dataOf,
  disbursementBody,
  paid,
  pay,
  payInvalid,
  startCheckout,
  usualAmount,
} from "./requests.ts";
import { advance, finishAny, settled } from "./sandbox-controls.ts";

const one = { effect: "moves-money", payouts: 1, amount: usualAmount } as const;
/** The ids of the requirements that can be judged on a single notification. */
const ofOne = ["webhook.truth", "webhook.event-names", "webhook.payload", "webhook.headers"];
const statuses = new Set(["pending", "success", "failed"]);

/** Creates a payout with a mailbox as its webhookURL and waits until its status is final or the wait times out. */
async function notified(context: Context, phoneNumber: string) {
  const box = mailbox(context);
  const made = await paid(context, { phoneNumber, webhookURL: box.url });
  const outcome = await settled(context, made.reference);
  return { ...made, box, ...outcome };
}

/**
 * Returns true if the payout is still pending. No notification is due then, so the requirements are not judged.
 */
function stillPending(context: Context, ids: readonly string[], status: string): boolean {
  if (status !== "pending") return false;
  for (const id of ids) context.notApplicable(id, "more time: the payout was still pending", "caller");
  return true;
}

/** Judges that a payout with this status is notified. If its status is another, the requirement is not applicable. */
async function judgeOutcome(context: Context, id: string, phoneNumber: string, status: string) {
  const { box, data } = await notified(context, phoneNumber);
  if (data.status !== status) return context.notApplicable(id, `the payout's status is ${data.status}, not ${status}`);
  const received = await arrived(context, box);
  context.judge(
    id,
    received.length > 0,
    `a notification for the payout with status ${status}`,
    await tally(context, box),
  );
}

/** Returns the strings in a JSON value whose field names match. */
function valuesUnder(value: unknown, name: RegExp, key = ""): string[] {
  if (typeof value === "string") return name.test(key) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([inner, next]) => valuesUnder(next, name, inner));
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

async function strayNotifications(context: Context): Promise<string[]> {
  const boxes: [Box, Box] = [mailbox(context), mailbox(context)];
  const refused = mailbox(context);
  const made = [
    await paid(context, { webhookURL: boxes[0].url }),
    await paid(context, { webhookURL: boxes[1].url }),
  ] as const;
  const silent = await paid(context);
  await payInvalid(context, disbursementBody(context, { amount: -1, webhookURL: refused.url }));
  await pay(context, { ...made[0].body, webhookURL: refused.url });
  for (const { reference } of [...made, silent]) await settled(context, reference);
  for (const box of boxes) await arrived(context, box);
  const others = refused.received.map(({ body }) => `for a refused request: ${body.slice(0, 80)}`);
  const mixed = boxes.flatMap((box, index) =>
    box.received
      .filter((notification) => [made[1 - index], silent].some((other) => other && about(notification, other)))
      .map(({ body }) => body.slice(0, 80)),
  );
  return [...others, ...mixed];
}

export const webhookChecks: Check[] = [
  {
    name: "Success is notified",
    ids: ["webhook.disbursement-success"],
    ...one,
    needs: ["receiver"],
    run: (context) => judgeOutcome(context, "webhook.disbursement-success", context.options.recipient, "success"),
  },
  {
    name: "Failure is notified",
    ids: ["webhook.disbursement-failure"],
    ...one,
    needs: ["receiver", "failing-recipient"],
    run: (context) =>
      judgeOutcome(context, "webhook.disbursement-failure", context.options.failingRecipient ?? "", "failed"),
  },
  {
    name: "Each outcome of a checkout is notified",
    ids: ["webhook.checkout-outcome", "checkout.states"],
    effect: "moves-money",
    needs: ["receiver", "finish"],
    async run(context) {
      const seen: Record<string, unknown[]> = {};
      for (const outcome of ["success", "failed", "cancelled"]) {
        const box = mailbox(context);
        const created = await startCheckout(context, checkoutBody({ webhookURL: box.url }));
        const reference = await finishAny(context, created, outcome);
        if (reference === undefined) continue;
        const received = await arrived(context, box);
        const expected = `a notification for a checkout finished as ${outcome}`;
        context.judge("webhook.checkout-outcome", received.length > 0, expected, await tally(context, box));
        seen[outcome] = [dataOf(created)["status"], dataOf(await verifyCheckout(context, reference))["status"]];
      }
      if (Object.keys(seen).length > 0) context.observe("checkout.states", "statuses by outcome", seen);
      else for (const id of this.ids) context.notApplicable(id, "the suite cannot finish the target's checkouts");
    },
  },
  {
    name: "Notifications go only to their own webhookURL",
    ids: ["webhook.only-with-address"],
    effect: "moves-money",
    payouts: 4,
    amount: 4 * usualAmount,
    needs: ["receiver"],
    async run(context) {
      const strays = await strayNotifications(context);
      const actual = strays.length === 0 ? "as expected" : `also received: ${strays.join("; ")}`;
      context.judge(
        "webhook.only-with-address",
        strays.length === 0,
        "notifications only of an address's own disbursement, and none at the address of a refused request",
        actual,
      );
    },
  },
  {
    name: "Notification states the true status",
    ids: ofOne,
    ...one,
    needs: ["receiver"],
    async run(context) {
      const { box, seen, data } = await notified(context, context.options.recipient);
      if (stillPending(context, ofOne, data.status)) return;
      const notification = await first(context, box);
      const named = valuesUnder(notification.json, /^status$/i).filter((status) => statuses.has(status));
      const real = new Set<string>([...seen, data.status]);
      const wrong = named.filter((status) => !real.has(status));
      if (named.length === 0) context.notApplicable("webhook.truth", "the notification states no status");
      else
        context.judge(
          "webhook.truth",
          wrong.length === 0,
          `one of the statuses ${[...real].join(", ")}`,
          named.join(", "),
        );
      context.observe("webhook.event-names", "name", eventName(notification.json));
      context.observe("webhook.payload", "fields", shapeOf(notification.json));
      context.observe("webhook.headers", "names", headerNames(notification));
    },
  },
  {
    name: "Records whether a refused notification is repeated",
    ids: ["webhook.retries"],
    ...one,
    needs: ["receiver"],
    async run(context) {
      const box = mailbox(context, (response) => void response.writeHead(500).end());
      const { reference } = await paid(context, { webhookURL: box.url });
      const { data } = await settled(context, reference);
      if (stillPending(context, ["webhook.retries"], data.status)) return;
      await first(context, box);
      if (hasControl(context.options, "clock")) await advance(context, 60);
      const received = await arrived(context, box, 2);
      context.observe("webhook.retries", "repeated after a 500 response", received.length > 1);
    },
  },
];
