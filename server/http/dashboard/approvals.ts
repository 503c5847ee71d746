import { refused } from "../../actions/action.ts";
import { readInput } from "../../actions/index.ts";
import { MOST_DECIDED, within } from "../../actions/payments.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { formatPhoneNumber } from "../pages/countries.ts";
import { asking, pathOf } from "./forms.ts";
import { attributes, bdi, column, items, markup, small, soft, table, under, type Column, type Html } from "./html.ts";
import { list, type Page } from "./page.ts";
import { mayDo, type View } from "./view.ts";

/** The value of a payout's input in the forms. */
const idOf = ({ merchantId, reference }: Disbursement) => `${merchantId}/${reference}`;
/** When a waiting payout fails. A merchant reads times of its own clock, and the page of all merchants has real time. */
const failsAt = ({ merchant }: View, { due }: Disbursement) => due!.at + (merchant?.clockOffset ?? 0);
const numberOf = ({ customer }: Disbursement) => formatPhoneNumber(customer.phoneNumber);

/** The sum of the payouts in each currency. */
function totals({ rich, amount }: View, payouts: readonly Disbursement[]): Html {
  const groups = [...Map.groupBy(payouts, ({ currency }) => currency)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = groups.map(([currency, each]) => {
    const sum = each.reduce((all, payout) => all + BigInt(payout.amount), 0n);
    return rich("sumOfPayouts", { sum: amount(sum, currency), count: each.length });
  });
  return items(lines, "plain");
}

/** What became of each payout that a person has decided about. */
function results(view: View, name: "payment.approve" | "payment.reject"): Html[] {
  const decided = name === "payment.approve" ? "payoutsApproved" : "payoutsRejected";
  return [...(view.resultOf(name) ?? [])].map(([result, count]) => {
    const why = result !== "decided" && view.t(`undecided.payout.${result}`);
    return markup`<p>${why ? view.t("payoutsNot", { count, why }) : view.t(decided, { count })}</p>`;
  });
}

/** Payouts that wait for approval (D93): of a merchant or, for operators, of all. */
const waitingPage = list<Disbursement>({
  at: "{scope}/approvals",
  title: "approvals",
  isStill: true,
  isWhole: true,
  read: async ({ context, merchant }) => ({
    items: await context.storage.listWaiting({ merchantId: merchant?.id, limit: MOST_DECIDED }),
  }),
  columns: (view) => [
    column("payout", "", (payout) => {
      const { merchantId, merchantsReference, approval } = payout;
      const label = view.t("chooseReference", { reference: merchantsReference });
      const input = { form: "chosen", type: "checkbox", name: "payment", value: idOf(payout), "aria-label": label };
      return [
        markup`<label class="tick"><input${attributes(input)}> ${view.toPayment(payout)}</label>`,
        view.whose(merchantId) && under(view.whose(merchantId)),
        approval!.level === "operator" && under(view.t("needsOperator")),
        small(view.t("toNumberUntil", { number: numberOf(payout), time: view.minute(failsAt(view, payout)) })),
      ];
    }),
    column("recipient", "wide line", (payout) => [numberOf(payout), under(payout.country)]),
    column("amount", "number", view.money),
    column("failsAt", "wide", (payout) => view.stampMinute(failsAt(view, payout))),
  ],
  above(view) {
    const lines = [...results(view, "payment.approve"), ...results(view, "payment.reject")];
    return lines.length > 0 && markup`<div class="notice" role="status">${lines}</div>`;
  },
  before: ({ t }, found) => found.items.length > 0 && soft(t("approvalsMeaning")),
  after: (view, found) =>
    found.items.length > 0 && [
      totals(view, found.items),
      found.items.length === MOST_DECIDED && soft(view.t("moreThere")),
      mayDo(view, "payment.approve") &&
        markup`<form class="inline" id="chosen" method="get">
<button class="primary" formaction="${pathOf(view, "payment.approve")}">${view.t("approve.opens")}</button>
<button class="danger" formaction="${pathOf(view, "payment.reject")}">${view.t("reject.opens")}</button></form>`,
    ],
  none: ({ t }) => markup`<h2>${t("noPayoutWaits")}</h2><p>${t("approvalsMeaning")}</p>`,
});

/** The page that says what a decision does, with the payouts that a person has ticked. */
const decisionPage = (how: "approve" | "reject"): Page => ({
  at: `{scope}/approvals/${how}`,
  title: "approvals",
  under: "{scope}/approvals",
  async show(view) {
    const name = `payment.${how}` as const;
    const { payments } = readInput(name, view.res.req.query, false);
    const { storage } = view.context;
    const found = await Promise.all(within(view.merchant, payments).map((ids) => storage.findDisbursement(...ids)));
    const payouts = found.flatMap((payout) => (payout?.approval && payout.status === "pending" ? [payout] : []));
    if (payouts.length === 0) throw refused(422, "error.choosePayouts");
    const columns: Column<Disbursement>[] = [
      column("payout", "", (payout) => [bdi(payout.merchantsReference), small(numberOf(payout))]),
      column("recipient", "wide line", numberOf),
      column("amount", "number", view.money),
    ];
    const payment = payouts.map(idOf);
    const texts = { count: payouts.length };
    const body = asking(view, name, {
      backTo: `${view.area}/approvals`,
      question: view.t(`${how}.question`, texts),
      before: [totals(view, payouts), table(view, payouts, columns)],
      effects: [view.t(`${how}.effect`)],
      values: { payment },
      texts,
      class: "stack",
    });
    return { body, address: `?${new URLSearchParams(payment.map((id) => ["payment", id]))}` };
  },
});

export const approvalPages: readonly Page[] = [waitingPage, decisionPage("approve"), decisionPage("reject")];
