import { limitTexts } from "../../domain/limits.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { termTexts } from "../../domain/terms.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import { markup } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { badge, bdi, card, code, form, link, pathOf, table, under } from "./parts.ts";
import { formIdOf, mayDo, type View } from "./view.ts";

/** The most payouts, and the most checkouts, that a search shows. */
const MOST_FOUND = 25;
const looksLike = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase());

async function foundPayments({ context: { storage }, query: { search = "" } }: View) {
  const number = parsePhoneNumber(search);
  const phoneNumber = "digits" in number ? number.digits : undefined;
  return search === "" ? [] : storage.searchPayments({ text: search, phoneNumber, limit: MOST_FOUND });
}

/** The first page of an operator: all merchants, and a search for payments of all merchants. */
const listPage = list<Merchant>({
  at: "",
  title: "merchants",
  isWhole: true,
  query: ["search"],
  filters: () => ({ search: { label: "merchantReferenceOrPhone", attributes: { type: "search", maxlength: 200 } } }),
  async read({ context: { storage }, query: { search = "" } }) {
    const found = (await storage.listMerchants()).filter(({ id, name }) => id === search || looksLike(name, search));
    return { items: found.toSorted((a, b) => a.name.localeCompare(b.name)) };
  },
  key: ({ id }) => id,
  columns: (view) => [
    {
      title: "name",
      cell: ({ id, name, state }) => [
        link(`${view.root}/m/${id}/disbursements`, bdi(name)),
        state && [" ", badge(view, state)],
      ],
    },
    { title: "id", class: "wide line", cell: ({ id }) => code(id) },
    { title: "created", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt) },
    { title: "action", cell: ({ id }) => link(`${view.root}/merchants/${id}`, view.t("manage")) },
  ],
  none: ({ t }, isFiltered) => markup`<p>${isFiltered ? t("noMerchantFound") : t("noMerchantYet")}</p>`,
  async above(view) {
    const payments = await foundPayments(view);
    if (payments.length === 0) return undefined;
    const names = new Map((await view.context.storage.listMerchants()).map(({ id, name }) => [id, name]));
    const found = table(
      view,
      payments,
      [
        {
          title: "payment",
          cell(payment) {
            const { merchantId, reference, merchantsReference } = payment;
            const kind = "locale" in payment ? "checkout" : "disbursement";
            return [
              link(`${view.root}/m/${merchantId}/${kind}s/${reference}`, bdi(merchantsReference)),
              under([view.t(kind), " · ", bdi(names.get(merchantId))]),
            ];
          },
        },
        {
          title: "amount",
          class: "number",
          cell: ({ amount, currency, status }) => [view.amount(amount, currency), markup`<br>`, badge(view, status)],
        },
        { title: "created", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt) },
      ],
      ({ reference }) => reference,
    );
    return card(found, { isLive: true });
  },
  below: (view) => form(view, "merchant.create", { values: { id: formIdOf(view) }, class: "card inline" }),
});

const section = (id: string, title: string, content: ReturnType<typeof form>) =>
  content && card(content, { id, title, class: "stack" });

/** What operators can do with a merchant. */
const managePage = record<Merchant>({
  at: "/merchants/:merchant",
  title: "manageAMerchant",
  under: "",
  missing: "error.noMerchant",
  find: ({ context, params }) => context.storage.findMerchant(params.merchant!),
  back: ({ root, t }) => [root, t("backToMerchants")],
  heading: (view, { name, state }) => [bdi(name), state && [" ", badge(view, state)]],
  facts: ({ t, root, stamp }, { id, createdAt }) => [
    [t("id"), code(id)],
    [t("created"), stamp(createdAt)],
    [t("payments"), link(`${root}/m/${id}/disbursements`, t("seePayments"))],
  ],
  below(view, { name, state, limits, terms }) {
    const { t } = view;
    const ways = state === "closed" ? [] : ([state ? "reopen" : "suspend", "close"] as const);
    const stateText = state === "closed" ? t("isClosed") : state ? t("isSuspended") : t("isActive");
    return [
      form(view, "merchant.rename", { values: { name }, class: "card inline" }),
      section(
        "limits",
        t("limitsOfMerchant"),
        form(view, "merchant.limit", { values: limitTexts(limits), prefix: "limit", class: "stack" }),
      ),
      section(
        "balance",
        t("balance"),
        form(view, "balance.adjust", { method: "get", prefix: "adjust", button: "continue", class: "stack" }),
      ),
      section(
        "terms",
        t("termsOfMerchant"),
        form(view, "merchant.terms", { values: termTexts(terms), prefix: "term", class: "stack" }),
      ),
      card(
        markup`<p>${stateText}</p>${mayDo(view, "merchant.close") && ways.map((way) => markup`<p>${link(pathOf(view, `merchant.${way}`), t(`${way}.opens`))}</p>`)}`,
        { id: "state", title: t("state"), class: "stack" },
      ),
    ];
  },
});

export const merchantPages: readonly Page[] = [listPage, managePage];
