import type { Decided } from "../domain/payments.ts";
import type { Disbursement } from "../domain/records.ts";
import type { Merchant } from "../domain/merchants.ts";
import type { Handover } from "../domain/handovers.ts";
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
const decideAbout = (how: "approve" | "reject", decided: "payoutsApproved" | "payoutsRejected") =>
  ({
    at: `{scope}/approvals/${how}`,
    needs: "decide about payments",
    from: "{scope}/approvals",
    async asks({ context, merchant }: Doer<Merchant | undefined>, { payments }: { payments: readonly Chosen[] }) {
      const chosenOnes = within(merchant, payments).map((ids) => context.storage.findDisbursement(...ids));
      const found = await Promise.all(chosenOnes);
      const payouts = found.flatMap((payout) => (payout?.approval && payout.status === "pending" ? [payout] : []));
      if (payouts.length === 0) throw refused(422, "error.choosePayouts");
      const lines = payouts.map(({ merchantsReference: reference, customer, ...money }) =>
        say("payoutTo", { reference, amount: money, number: customer }),
      );
      return {
        about: [...sumsOf(payouts), ...lines],
        effects: [say(`payment.${how}.effect`)],
      };
    },
    leadsTo: "{scope}/approvals",
    says: (results: ReadonlyMap<Decided, number>) => ({
      lines: [...results].map(([result, count]) =>
        result === "decided" ? say(decided, { count }) : say("payoutsNot", { count, why: say(`undecided.${result}`) }),
      ),
    }),
  }) as const;

async function decideAll(
  { context, actor, merchant }: Doer<Merchant | undefined>,
  payments: readonly Chosen[],
  rejection?: string,
): Promise<ReadonlyMap<Decided, number>> {
  const results = new Map<Decided, number>();
  for (const [merchantId, reference] of within(merchant, payments)) {
    const result = await context.storage.decideApproval(merchantId, reference, actor, rejection);
    results.set(result, (results.get(result) ?? 0) + 1);
  }
  return results;
}

async function handoverOf({ context, merchant, params }: Doer): Promise<Handover> {
  const found = await context.storage.findHandover(params.reference!);
  if (found?.merchantId === merchant.id) return found;
  throw missing();
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
  "payment.approve": action({
    ...decideAbout("approve", "payoutsApproved"),
    input: { payments: chosen },
    style: "primary",
    run: (doer, { payments }) => decideAll(doer, payments),
  }),
  "payment.reject": action({
    ...decideAbout("reject", "payoutsRejected"),
    input: { payments: chosen, reason: { ...aReason, isLate: true } },
    style: "danger",
    run: (doer, { payments, reason }) => decideAll(doer, payments, reason),
  }),
  "payment.ask": action({
    at: "/m/:merchant/payments/:reference/ask",
    ...OF_PAYMENT,
    input: {},
    async run(doer) {
      const { payment } = await handoverOf(doer);
      if (!(await doer.context.storage.askRailAgain(payment.reference, doer.actor))) throw refused(409, "error.done");
    },
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
      const { payment } = await handoverOf(doer);
      const { storage, config } = doer.context;
      const result = await storage.decideByHand(payment.reference, decision, doer.actor, !config.oneOperatorDecides);
      if (result === "in-progress") throw refused(409, "error.railIsAsked");
      if (result === "not-pending") throw refused(409, "error.done");
      return result;
    },
  }),
  "payment.close-conflict": action({
    at: "/m/:merchant/payments/:reference/close",
    ...OF_PAYMENT,
    isFolded: true,
    input: { reason: aReason },
    style: "danger",
    async run(doer, { reason }) {
      const { payment } = await handoverOf(doer);
      const isClosed = await doer.context.storage.closeConflict(payment.reference, reason, doer.actor);
      if (!isClosed) throw refused(409, "error.done");
    },
  }),
  "rail.pause": action({
    at: "/rails/:rail/pause",
    ...OF_RAIL,
    isFolded: true,
    input: { reason: aReason },
    style: "danger",
    async run({ context: { rails, storage }, actor, params }, { reason }) {
      const name = params.rail!;
      if (!rails!.names.includes(name)) throw missing();
      if (!(await storage.pauseRail(name, reason, actor))) throw refused(409, "error.done");
    },
  }),
  "rail.resume": action({
    at: "/rails/:rail/resume",
    ...OF_RAIL,
    input: {},
    async run({ context, actor, params }) {
      if (!(await context.storage.resumeRail(params.rail!, actor))) throw refused(409, "error.done");
    },
  }),
};
