// Checks that opening the link to a payment page does not pay the checkout (§4.3, D3).
import { given, type Check, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { TargetResponse } from "../../target/exchange.ts";
import type { Notification, Receiver } from "../../target/receiver.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { pageLink } from "../checkout/checkout.ts";
import { expectData } from "../../steps/expect.ts";
import { arrived, type Box } from "../../steps/notifications.ts";
import { addressOf } from "../refused/refused-requests.ts";
import { checkoutBody, is2xx, startCheckout } from "../../steps/requests.ts";
import { advance, finishAny } from "../../steps/sandbox-controls.ts";

const id = "checkout.link-pays-nothing";

/** The requests of a browser, of a messenger's link preview and of a scanner for mail. */
const openings: { method?: "GET" | "HEAD"; headers?: Record<string, string> }[] = [
  { method: "HEAD" },
  {},
  {},
  { headers: { "user-agent": "WhatsApp/2.23", accept: "*/*" } },
  { headers: { "user-agent": "facebookexternalhit/1.1", purpose: "prefetch" } },
  { headers: { "sec-purpose": "prefetch;prerender" } },
];

/** Opens the link of a checkout in every way. */
async function openAll(context: Context, created: TargetResponse, sent: readonly string[]) {
  const link = pageLink(created, sent);
  for (const opening of openings) await context.target.openLink(link, opening);
}

/** Returns true if the body names success as a value or as the last word of an event's name. */
const statesSuccess = ({ body }: Notification) =>
  /"(?:[^"]*[._-])?(?:success|successful|succeeded|completed|paid|captured)"/i.test(body);

/** The checkout whose link was opened. `provable` is true if the target notifies a success. */
const opened = new WeakMap<Receiver, { box: Box; created: TargetResponse; provable: boolean }>();

function judgeUnpaid(context: Context) {
  const { box, created, provable } = (context.receiver && opened.get(context.receiver)) ?? {};
  if (!box || !created) return context.couldNotRun(id, "no link was opened");
  const lie = box.received.find(statesSuccess);
  if (!lie && !provable) {
    return context.notApplicable(id, "the suite cannot pay the target's checkouts, so it would not notice a payment");
  }
  const actual = lie ? lie.body.slice(0, 120) : "none received";
  const expected = "no notification of success for a checkout whose link was only opened";
  context.judge(id, !lie, expected, actual, created);
}

export const checks: Check[] = [
  {
    name: "Opening the link to the payment page pays nothing",
    ids: [id],
    effect: "moves-money",
    needs: ["receiver"],
    async run(context) {
      const { receiver, options } = context;
      if (!receiver) return;
      const box = receiver.openMailbox();
      const created = await startCheckout(context, checkoutBody(context, addressOf(box)));
      given(is2xx(created), "a 2xx for a valid checkout", created);
      await openAll(context, created, [box.url]);
      // A second checkout is really paid, to show that the check would notice a payment of the first checkout.
      const paid = receiver.openMailbox();
      const other = await startCheckout(context, checkoutBody(context, addressOf(paid)));
      const finish = hasControl(options, "finish");
      if (finish && (await finishAny(context, other, "success")) !== undefined) await arrived(context, paid);
      opened.set(receiver, { box, created, provable: paid.received.some(statesSuccess) });
      judgeUnpaid(context);
    },
  },
  {
    name: "No checkout whose link was only opened was paid by the end of the run",
    ids: [id],
    effect: "moves-money",
    needs: ["receiver"],
    phase: "closing",
    offline: true,
    run: async (context) => judgeUnpaid(context),
  },
  {
    name: "Opening the link to the payment page leaves the checkout pending",
    ids: ["checkout-states.opened-stays-pending"],
    effect: "moves-money",
    needs: ["clock"],
    async run(context) {
      const { reference, response } = await started(context);
      await openAll(context, response, []);
      await advance(context, 60);
      const record = await verifyCheckout(context, reference);
      const when = "after the link was opened";
      expectData(context, "checkout-states.opened-stays-pending", record, { status: "pending" }, when);
    },
  },
];
