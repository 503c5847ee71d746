import type { Decided } from "../domain/payments.ts";
import type { Disbursement } from "../domain/records.ts";
import { say, type Said } from "../texts/index.ts";
import { action, aReason, choice, missing, refused, type Doer, type Field } from "./action.ts";

/** How many payouts are decided at a time. */
export const MOST_DECIDED = 100;

type Chosen = [merchantId: string, reference: string];

/** The payouts that a person has ticked. */
const chosen: Field<Chosen[]> = {
  inputs: { payment: { type: "hidden" } },
  read: (sent) =>
    [...new Set([sent?.payment].flat())].slice(0, MOST_DECIDED).flatMap((text): Chosen[] => {
      const [merchantId = "", reference = "", ...more] = typeof text === "string" ? text.split("/") : [];
      return reference === "" || more.length > 0 ? [] : [[merchantId, reference]];
    }),
};

/** A merchant's person decides only about payouts of the merchant. */
const within = (merchant: { id: string } | undefined, payments: readonly Chosen[]): Chosen[] =>
  payments.filter(([merchantId]) => merchant === undefined || merchant.id === merchantId);

/** The sum of payouts in each currency. */
export const sumsOf = (payouts: readonly Disbursement[]): Said[] =>
  [...Map.groupBy(payouts, ({ currency }) => currency)].toSorted().map(([currency, each]) => {
    const amount = each.reduce((sum, payout) => sum + BigInt(payout.amount), 0n);
    return say("sumOfPayouts", { sum: { amount, currency }, payouts: say("somePayouts", { count: each.length }) });
  });

/** Approves or rejects the payouts that a person has ticked, if they wait. */
const decideAbout = (how: "approve" | "reject") =>
  action({
    at: `{scope}/approvals/${how}`,
    needs: "decide about payments",
    from: "{scope}/approvals",
    input: { payments: chosen, ...(how === "reject" && { reason: { ...aReason, isLate: true } }) },
    style: how === "approve" ? "primary" : "danger",
    async asks({ context, merchant }, { payments }) {
      const chosenOnes = within(merchant, payments).map((ids) => context.storage.findDisbursement(...ids));
      const found = await Promise.all(chosenOnes);
      const payouts = found.flatMap((payout) => (payout?.approval && payout.status === "pending" ? [payout] : []));
      if (payouts.length === 0) throw refused(422, "error.choosePayouts");
      const lines = payouts.map(({ merchantsReference: reference, customer, ...money }) =>
        say("payoutTo", { reference, amount: money, number: customer }),
      );
      return { about: [...sumsOf(payouts), ...lines], effects: [say(`payment.${how}.effect`)] };
    },
    async run({ context, actor, merchant }, { payments, reason }: { payments: Chosen[]; reason?: string }) {
      const results = new Map<Decided, number>();
      for (const [merchantId, reference] of within(merchant, payments)) {
        const result = await context.storage.decideApproval(merchantId, reference, actor, reason);
        results.set(result, (results.get(result) ?? 0) + 1);
      }
      return results;
    },
    leadsTo: "{scope}/approvals",
    says: (results: ReadonlyMap<Decided, number>) => ({
      lines: [...results].map(([result, count]) =>
        result === "decided"
          ? say(how === "approve" ? "payoutsApproved" : "payoutsRejected", { count })
          : say("payoutsNot", { count, why: say(`undecided.${result}`) }),
      ),
    }),
  });

/** Does something with the hand-over of the payment in the path. @param work returns false if it is done already */
async function onHandover<T>(doer: Doer, work: (reference: string) => Promise<T>): Promise<T> {
  const reference = doer.params.reference!;
  const found = await doer.context.storage.findHandover(reference);
  if (found?.merchantId !== doer.merchant.id) throw missing();
  return done(await work(reference));
}

/** @throws Refused if nothing was done */
function done<T>(result: T): T {
  if (result === false) throw refused(409, "error.done");
  return result;
}

/** The list that a payment belongs to. */
export const listOf = (reference: string): "checkouts" | "disbursements" =>
  reference.startsWith("CHK") ? "checkouts" : "disbursements";

const OF_PAYMENT = {
  needs: "decide about payments",
  byOperators: true,
  where: "live",
  leadsTo: (_: unknown, { params }: Doer) => `/m/:merchant/${listOf(params.reference!)}/:reference`,
} as const;
const OF_RAIL = { needs: "pause a rail", where: "live", leadsTo: "/rails" } as const;

/** What people decide about payments, and about rails (D74, D93). */
export const paymentActions = {
  "payment.approve": decideAbout("approve"),
  "payment.reject": decideAbout("reject"),
  "payment.ask": action({
    at: "/m/:merchant/payments/:reference/ask",
    ...OF_PAYMENT,
    input: {},
    run: (doer) => onHandover(doer, (reference) => doer.context.storage.askRailAgain(reference, doer.actor)),
  }),
  "payment.decide": action({
    at: "/m/:merchant/payments/:reference/decide",
    ...OF_PAYMENT,
    isFolded: true,
    input: {
      status: choice("status", {
        label: "paymentHas",
        options: { "": "choose", success: "succeededWasPaid", failed: "failedWasNotPaid" },
      }),
      reason: aReason,
    },
    style: "danger",
    async run(doer, decision) {
      const { context, actor } = doer;
      const needsSecondPerson = !context.config.oneOperatorDecides;
      const result = await onHandover(doer, (reference) =>
        context.storage.decideByHand(reference, decision, actor, needsSecondPerson),
      );
      if (result === "in-progress") throw refused(409, "error.railIsAsked");
      return done(result !== "not-pending" && result);
    },
  }),
  "payment.close-conflict": action({
    at: "/m/:merchant/payments/:reference/close",
    ...OF_PAYMENT,
    isFolded: true,
    input: { reason: aReason },
    style: "danger",
    run: (doer, { reason }) =>
      onHandover(doer, (reference) => doer.context.storage.closeConflict(reference, reason, doer.actor)),
  }),
  "rail.pause": action({
    at: "/rails/:rail/pause",
    ...OF_RAIL,
    isFolded: true,
    input: { reason: aReason },
    style: "danger",
    async run({ context: { rails, storage }, actor, params }, { reason }) {
      if (!rails!.names.includes(params.rail!)) throw missing();
      return done(await storage.pauseRail(params.rail!, reason, actor));
    },
  }),
  "rail.resume": action({
    at: "/rails/:rail/resume",
    ...OF_RAIL,
    input: {},
    run: async ({ context, actor, params }) => done(await context.storage.resumeRail(params.rail!, actor)),
  }),
};
