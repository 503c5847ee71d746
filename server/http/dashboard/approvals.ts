import { MOST_DECIDED, within } from "../../actions/payments.ts";
import type { Decided } from "../../domain/approvals.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { refused } from "../../actions/refused.ts";
import { formatPhoneNumber } from "../pages/countries.ts";
import { attributes, markup, type Html } from "./html.ts";
import { list, type Page } from "./page.ts";
import { back, bdi, card, form, link, pathOf, small, soft, table, under } from "./parts.ts";
import { readInput } from "./serve.ts";
import { mayDo, merchantNames, type View } from "./view.ts";

type Waiting = Disbursement & { of: string | undefined };

/** The value of a payout's input in the forms. */
const idOf = ({ merchantId, reference }: Disbursement) => `${merchantId}/${reference}`;

/** The sum of the payouts in each currency. */
function totals({ t, rich, amount }: View, payouts: readonly Disbursement[]): Html {
  const groups = [...Map.groupBy(payouts, ({ currency }) => currency)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = groups.map(([currency, each]) => {
    const sum = each.reduce((all, payout) => all + BigInt(payout.amount), 0n);
    return markup`<li>${rich("sumOfPayouts", { sum: amount(sum, currency), count: each.length })}</li>`;
  });
  return markup`<ul class="plain" aria-label="${t("totals")}">${lines}</ul>`;
}

/** What became of each payout that a person has decided about. */
function results(view: View, name: "payment.approve" | "payment.reject"): Html[] {
  const lines = [...(view.resultOf(name) ?? new Map<Decided, number>())].map(([result, count]) =>
    result === "decided"
      ? view.t(name === "payment.approve" ? "payoutsApproved" : "payoutsRejected", { count })
      : view.t("payoutsNot", { count, why: view.t(`undecided.payout.${result}`) }),
  );
  return lines.map((line) => markup`<p>${line}</p>`);
}

/** Payouts that wait for approval (D93): of a merchant or, for operators, of all. */
const waitingPage = list<Waiting>({
  at: "{scope}/approvals",
  title: "approvals",
  isStill: true,
  isWhole: true,
  async read({ context, merchant }) {
    const payouts = await context.storage.listWaiting({ merchantId: merchant?.id, limit: MOST_DECIDED });
    const names = merchant ? new Map<string, string>() : await merchantNames(context, payouts);
    return { items: payouts.map((payout) => ({ ...payout, of: names.get(payout.merchantId) })) };
  },
  columns: (view) => [
    {
      title: "payout",
      cell(payout) {
        const { merchantId, reference, merchantsReference, customer, due, of, approval } = payout;
        const label = view.t("chooseReference", { reference: merchantsReference });
        const number = formatPhoneNumber(customer.phoneNumber);
        return [
          markup`<label class="tick"><input form="chosen"${attributes({ type: "checkbox", name: "payment", value: idOf(payout), "aria-label": label })}> ${link(`${view.root}/m/${merchantId}/disbursements/${reference}`, bdi(merchantsReference))}</label>`,
          of !== undefined && under(bdi(of)),
          approval!.level === "operator" && under(view.t("needsOperator")),
          small(view.t("toNumberUntil", { number, time: view.minute(due!.at) })),
        ];
      },
    },
    {
      title: "recipient",
      class: "wide line",
      cell: ({ customer, country }) => [formatPhoneNumber(customer.phoneNumber), under(country)],
    },
    { title: "amount", class: "number", cell: ({ amount, currency }) => view.amount(amount, currency) },
    { title: "failsAt", class: "wide", cell: ({ due }) => view.stamp(due!.at, "minute") },
  ],
  above(view) {
    const lines = [...results(view, "payment.approve"), ...results(view, "payment.reject")];
    return lines.length > 0 && markup`<div class="notice" role="status">${lines}</div>`;
  },
  before: ({ t }, { items }) => items.length > 0 && soft(t("approvalsMeaning")),
  after: (view, { items }) => [
    items.length > 0 && totals(view, items),
    items.length === MOST_DECIDED && soft(view.t("morePayouts")),
    items.length > 0 &&
      mayDo(view, "payment.approve") &&
      markup`<form class="inline" id="chosen" method="get">
<button class="primary" formaction="${pathOf(view, "payment.approve")}">${view.t("approve.opens")}</button>
<button class="danger" formaction="${pathOf(view, "payment.reject")}">${view.t("reject.opens")}</button></form>`,
  ],
  none: ({ t }) => markup`<h2>${t("noPayoutWaits")}</h2><p>${t("approvalsEmpty")}</p>`,
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
    const count = payouts.length;
    const effects = (
      how === "approve" ? (["approve.effect"] as const) : (["reject.effect", "reject.webhook"] as const)
    ).map((effect) => markup`<li>${view.t(effect)}</li>`);
    const columns = [
      {
        title: "payout",
        cell: ({ merchantsReference, customer }: Disbursement) => [
          bdi(merchantsReference),
          small(view.t("toNumber", { number: formatPhoneNumber(customer.phoneNumber) })),
        ],
      },
      {
        title: "recipient",
        class: "wide line",
        cell: ({ customer }: Disbursement) => formatPhoneNumber(customer.phoneNumber),
      },
      {
        title: "amount",
        class: "number",
        cell: ({ amount, currency }: Disbursement) => view.amount(amount, currency),
      },
    ] as const;
    const values = { payment: payouts.map(idOf) };
    const content = markup`${totals(view, payouts)}${table(view, payouts, columns)}<ul>${effects}</ul>
${form(view, name, { values, texts: { count }, isConfirmation: true, class: "stack" })}`;
    return {
      body: markup`${back(`${view.area}/approvals`, view.t("backChangeNothing"))}
<h1>${view.t(how === "approve" ? "approve.question" : "reject.question", { count })}</h1>
${card(content, { class: "stack", label: view.t("whatWillHappen") })}`,
      address: `?${new URLSearchParams(values.payment.map((id) => ["payment", id]))}`,
    };
  },
});

export const approvalPages: readonly Page[] = [waitingPage, decisionPage("approve"), decisionPage("reject")];
