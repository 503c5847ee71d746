import { MOST_DECIDED, sumsOf } from "../../actions/payments.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { formatPhoneNumber } from "../pages/formats.ts";
import { pathOf } from "./forms.ts";
import { attributes, column, items, markup, soft, under } from "./html.ts";
import { list } from "./page.ts";
import { mayDo, type View } from "./view.ts";

/** The value of a payout's input in the forms. */
const idOf = ({ merchantId, reference }: Disbursement) => `${merchantId}/${reference}`;
/** When a waiting payout fails. A merchant reads times of its own clock, and the page of all merchants has real time. */
const failsAt = ({ merchant }: View, { due }: Disbursement) => due!.at + (merchant?.clockOffset ?? 0);

/** Payouts that wait for approval (D93): of a merchant or, for operators, of all. */
export const approvalPage = list<Disbursement>({
  at: "{scope}/approvals",
  title: "approvals",
  isStill: true,
  isWhole: true,
  async read({ context, merchant }) {
    const found = await context.storage.listWaiting({ merchantId: merchant?.id, limit: MOST_DECIDED });
    return { items: found, isCut: found.length === MOST_DECIDED };
  },
  columns: (view) => [
    column("payout", "", (payout) => {
      const { merchantId, merchantsReference, approval } = payout;
      const label = view.t("chooseReference", { reference: merchantsReference });
      const input = { form: "chosen", type: "checkbox", name: "payment", value: idOf(payout), "aria-label": label };
      return [
        markup`<label class="tick"><input${attributes(input)}> ${view.toPayment(payout)}</label>`,
        view.whose(merchantId) && under(view.whose(merchantId)),
        approval!.level === "operator" && under(view.t("needsOperator")),
      ];
    }),
    column("recipient", "wide line", ({ customer, country }) => [
      formatPhoneNumber(customer.phoneNumber),
      under(country),
    ]),
    column("amount", "number", view.money),
    column("failsAt", "wide", (payout) => view.stampMinute(failsAt(view, payout))),
  ],
  before: ({ t }) => soft(t("approvalsMeaning")),
  after: (view, found) =>
    found.items.length > 0 && [
      items(sumsOf(found.items).map(view.said), "plain"),
      mayDo(view, "payment.approve") &&
        markup`<form class="inline" id="chosen" method="get">
<button class="primary" formaction="${pathOf(view, "payment.approve")}">${view.t("approve.opens")}</button>
<button class="danger" formaction="${pathOf(view, "payment.reject")}">${view.t("reject.opens")}</button></form>`,
    ],
  none: "noPayoutWaits",
});
