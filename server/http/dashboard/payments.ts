import { choices, missing } from "../../actions/action.ts";
import { MOST_DECIDED, sumsOf } from "../../actions/payments.ts";
import type { Checkout, Disbursement } from "../../domain/records.ts";
import { failureIn, fieldOf, fieldsByName } from "../../domain/representation.ts";
import { DAY_MS } from "../../domain/time.ts";
import { formatPhoneNumber, parsePhoneNumber } from "../pages/formats.ts";
import { keyName } from "./audit.ts";
import { form, pathOf } from "./forms.ts";
import { attributes, bdi, card, code, column, dim, facts, items, link, markup, soft, under } from "./html.ts";
import type { Part } from "./html.ts";
import { checkSearch, list, record, type Filters, type Page } from "./page.ts";
import { KINDS, readPayments, sendCsv, type Kind, type Payment, type PaymentSearch } from "./payment-search.ts";
import { railPart } from "./rails.ts";
import { timeline, timelineOf } from "./timeline.ts";
import { mayDo, merchantOf, type View, type Words } from "./view.ts";

const filtersOf = (kind: Kind): Filters => ({
  search: { label: "referenceOrPhoneNumber", type: "search", attributes: { maxlength: 200 } },
  status: {
    label: "status",
    ...choices(Object.fromEntries(KINDS[kind].statuses.map((status) => [status, `status.${status}`] as const))),
  },
  from: { label: "from", type: "date" },
  to: { label: "to", type: "date" },
});

function searchIn({ query }: View): PaymentSearch {
  const { search = "", status = "", from = "", to = "" } = query;
  const number = parsePhoneNumber(search);
  return {
    ...(search !== "" && { search }),
    ...("digits" in number && { phoneNumber: number.digits }),
    ...(status !== "" && { status }),
    ...(from !== "" && { createdAfter: Date.parse(from) }),
    // The last day is included.
    ...(to !== "" && { createdBefore: Date.parse(to) + DAY_MS }),
  };
}

/** Who gets a payout or has paid a checkout. A payment that was ended by hand has no payer. */
const payerOf = ({ t }: Words, { customer }: Payment) =>
  customer ? formatPhoneNumber(customer.phoneNumber) : dim(t("none"));

const pageOf = ({ context }: View, { reference }: Payment) => `${context.config.publicUrl}/checkouts/${reference}`;
const codeOf = (payment: Payment) => payment.status === "failed" && payment.failure && payment.failure.code;

const listPage = (kind: Kind): Page =>
  list<Payment>({
    at: `/m/:merchant/${kind}`,
    title: kind,
    filters: filtersOf(kind),
    read: (view, cursor) => readPayments(view.context, kind, merchantOf(view).id, { ...searchIn(view), ...cursor }),
    key: ({ reference }) => reference,
    columns: (view) => [
      column("reference", "", view.toPayment),
      column("phoneNumber", "wide line", (payment) => payerOf(view, payment)),
      column("amount", "number", view.money),
      column("status", "wide", (payment) => [view.badge(payment.status), codeOf(payment) && under(codeOf(payment))]),
      column("created", "wide", ({ createdAt }) => view.stamp(createdAt)),
    ],
    beside: ({ area, t }, rows, query) => rows.length > 0 && link(`${area}/${kind}.csv${query}`, t("exportCsv")),
  });

const csvPage = (kind: Kind): Page => ({
  at: `/m/:merchant/${kind}.csv`,
  title: kind,
  under: `/m/:merchant/${kind}`,
  query: [...Object.keys(filtersOf(kind)), "cursor"],
  async show(view) {
    checkSearch(view, filtersOf(kind));
    await sendCsv(view.context, kind, searchIn(view), view.res);
    return undefined;
  },
});

/** What happened to a payment, and what comes next. */
async function storyOf(view: View, kind: Kind, payment: Payment) {
  const { storage, config } = view.context;
  const { id: merchantId } = merchantOf(view);
  // A record has one event. Without a webhook address it has no delivery.
  const query = { merchantId, reference: payment.reference, limit: 1 };
  const [events, deliveries, requests, keys] = await Promise.all([
    storage.listEvents(query),
    storage.listDeliveries(query),
    // Finds only the successful request: a refused duplicate has the same reference.
    storage.listRequests({ ...query, operation: KINDS[kind].creation, statusClass: 2 }),
    storage.listKeysOf(merchantId),
  ]);
  const request = config.requestLog ? requests.items[0] : undefined;
  const key = keyName(keys, request?.keyId, view) ?? request?.keyId;
  return timelineOf(payment, { event: events.items[0], delivery: deliveries.items[0], request, key }, view);
}

const paymentPage = (kind: Kind): Page => ({
  at: `/m/:merchant/${kind}/:reference`,
  title: KINDS[kind].one,
  under: `/m/:merchant/${kind}`,
  async show(view) {
    const { t, area, context, params } = view;
    const { storage, rails } = context;
    const find = kind === "disbursements" ? storage.findDisbursement : storage.findCheckout;
    const payment = await find(merchantOf(view).id, params.reference!);
    if (!payment) throw missing();
    const { reference, merchantsReference } = payment;
    const [moments, rail] = await Promise.all([storyOf(view, kind, payment), rails && railPart(view, reference)]);
    const body = record({
      back: [`${area}/${kind}`, t(kind)],
      heading: [t(KINDS[kind].one), " ", bdi(merchantsReference)],
      main: [
        markup`<p class="total">${view.money(payment)} ${view.badge(payment.status)}</p>`,
        "approval" in payment && payment.approval && payment.status === "pending" && waits(view, payment),
        facts(factsOf(view, kind, payment)),
      ],
      beside: card(timeline(view, moments), { title: t("timeline"), isLive: true }),
      below: rail,
    });
    return { body, about: merchantsReference };
  },
});

function factsOf(view: View, kind: Kind, payment: Payment): Parameters<typeof facts>[0] {
  const { t } = view;
  const failure = failureIn(payment);
  // What the provider said is in English.
  const reason = failure && (view.language === "fr" ? view.word("failure", failure.code) : failure.message);
  const { redirectURL } = payment as Checkout;
  return [
    [t("servicesReference"), code(payment.reference)],
    [t("fee"), view.amount(payment.fee, payment.currency)],
    [t(KINDS[kind].who), payerOf(view, payment)],
    failure && [t("whyFailed"), [reason, " ", code(failure.code)]],
    [t("country"), payment.country],
    [t("created"), view.stamp(payment.createdAt)],
    kind === "checkouts" && [t("payersPage"), link(pageOf(view, payment), pageOf(view, payment))],
    redirectURL !== undefined && [t("returnsTo"), redirectURL],
    payment.webhookURL !== undefined && [t("webhookTo"), payment.webhookURL],
    ...fieldsByName(kind).map((name) => {
      const value = fieldOf(payment, name);
      return value !== undefined && ([code(name), bdi(String(value))] as const);
    }),
  ];
}

/** Leads from a payout to the decision about it. */
function waits(view: View, payout: Disbursement): Part {
  const why = payout.approval!.level === "operator" ? view.t("waitsForOperator") : view.t("waitsForApproval");
  const values = { payment: chosenBy(payout) };
  const ways = (["approve", "reject"] as const).map((how) => form(view, `payment.${how}`, { values, class: "inline" }));
  return [markup`<p>${why}</p>`, ways];
}

/** The value of a payout's input in the forms. */
const chosenBy = ({ merchantId, reference }: Disbursement) => `${merchantId}/${reference}`;
/** When a waiting payout fails. A merchant reads times of its own clock, and the page of all merchants has real time. */
const failsAt = ({ merchant }: View, { due }: Disbursement) => due!.at + (merchant?.clockOffset ?? 0);

/** Payouts that wait for approval (D93): of a merchant or, for operators, of all. */
const approvalPage = list<Disbursement>({
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
      const input = { form: "chosen", type: "checkbox", name: "payment", value: chosenBy(payout), "aria-label": label };
      return [
        markup`<label class="tick"><input${attributes(input)}> ${view.toPayment(payout)}</label>`,
        view.whose(merchantId) && under(view.whose(merchantId)),
        approval!.level === "operator" && under(view.t("waitsForOperator")),
      ];
    }),
    column("recipient", "wide line", ({ customer, country }) => [
      formatPhoneNumber(customer.phoneNumber),
      under(country),
    ]),
    column("amount", "number", view.money),
    column("failsAt", "wide", (payout) => view.stamp(failsAt(view, payout))),
  ],
  before: ({ t }) => soft(t("approvalsMeaning")),
  after: (view, found) =>
    found.items.length > 0 && [
      items(
        sumsOf(found.items).map((each) => view.t(each)),
        "plain",
      ),
      mayDo(view, "payment.approve") &&
        markup`<form class="inline" id="chosen" method="get">
<button class="primary" formaction="${pathOf(view, "payment.approve")}">${view.t("payment.approve")}…</button>
<button class="danger" formaction="${pathOf(view, "payment.reject")}">${view.t("payment.reject")}…</button></form>`,
    ],
});

export const paymentPages: readonly Page[] = [
  ...(["disbursements", "checkouts"] as const).flatMap((kind) => [listPage(kind), csvPage(kind), paymentPage(kind)]),
  approvalPage,
];
