import type { Merchant } from "../../domain/merchants.ts";
import { parsePhoneNumber } from "../pages/formats.ts";
import { form } from "./forms.ts";
import { bdi, card, code, column, link, markup, table, under, type Html } from "./html.ts";
import { list } from "./page.ts";
import type { View } from "./view.ts";

/** The most payouts, and the most checkouts, that a search shows. */
const MOST_FOUND = 25;
const looksLike = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase());

/** The payments of all merchants that a search finds. */
async function paymentsPart(view: View): Promise<Html | undefined> {
  const { search = "" } = view.query;
  if (search === "") return undefined;
  const number = parsePhoneNumber(search);
  const phoneNumber = "digits" in number ? number.digits : undefined;
  const payments = await view.context.storage.searchPayments({ text: search, phoneNumber, limit: MOST_FOUND });
  if (payments.length === 0) return undefined;
  await view.nameMerchants(payments);
  const found = table(
    view,
    payments,
    [
      column("payment", "", (payment) => {
        const kind = view.t("locale" in payment ? "checkout" : "disbursement");
        return [view.toPayment(payment), under([kind, " · ", view.whose(payment.merchantId)])];
      }),
      column("amount", "number", (payment) => [view.money(payment), markup`<br>`, view.badge(payment.status)]),
      column("created", "wide", ({ createdAt }) => view.stamp(createdAt)),
    ],
    ({ reference }) => reference,
  );
  return card(found, { isLive: true });
}

/** The first page of an operator: all merchants, and a search for payments of all merchants. */
export const merchantsPage = list<Merchant>({
  at: "",
  title: "merchants",
  isWhole: true,
  filters: { search: { label: "merchantReferenceOrPhone", type: "search", attributes: { maxlength: 200 } } },
  async read({ context: { storage }, query: { search = "" } }) {
    const found = (await storage.listMerchants()).filter(({ id, name }) => id === search || looksLike(name, search));
    return { items: found.toSorted((a, b) => a.name.localeCompare(b.name)) };
  },
  columns: ({ root, badge, stamp }) => [
    column("name", "", ({ id, name, state }) => [
      link(`${root}/m/${id}/disbursements`, bdi(name)),
      state && [" ", badge(state)],
    ]),
    column("id", "wide line", ({ id }) => code(id)),
    column("created", "wide", ({ createdAt }) => stamp(createdAt)),
  ],
  above: paymentsPart,
  below: (view) => form(view, "merchant.create", { class: "card inline" }),
});
