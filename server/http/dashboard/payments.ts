import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { choices, missing } from "../../actions/action.ts";
import { MOST_DECIDED, sumsOf } from "../../actions/payments.ts";
import type { Page as ListPage } from "../../domain/pages.ts";
import type { Checkout, Disbursement, Payment, RecordQuery } from "../../domain/records.ts";
import { csvLine, failureIn, fieldOf, fieldsByName, timestamp } from "../../domain/representation.ts";
import { DAY_MS } from "../../domain/time.ts";
import { formatPhoneNumber, parsePhoneNumber } from "../pages/formats.ts";
import { stateOf } from "../request-state.ts";
import { keyName } from "./audit.ts";
import { form, pathOf } from "./forms.ts";
import { attributes, bdi, card, code, column, dim, facts, items, link, markup, soft, under } from "./html.ts";
import type { Part } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { railPart } from "./rails.ts";
import { timeline, timelineOf } from "./timeline.ts";
import { mayDo, merchantOf, type Filters, type View, type Words } from "./view.ts";

/** How the kinds of payments differ. */
export const KINDS = {
  disbursements: {
    one: "disbursement",
    who: "recipient",
    statuses: ["success", "failed", "pending"],
    creation: "createDisbursement",
  },
  checkouts: {
    one: "checkout",
    who: "payer",
    statuses: ["success", "failed", "cancelled", "pending"],
    creation: "createCheckout",
  },
} as const;
export type Kind = keyof typeof KINDS;

const filtersOf = (kind: Kind): Filters => ({
  search: { label: "referenceOrPhoneNumber", type: "search", attributes: { maxlength: 200 } },
  status: {
    label: "status",
    ...choices(Object.fromEntries(KINDS[kind].statuses.map((status) => [status, `status.${status}`] as const))),
  },
  from: { label: "from", type: "date" },
  to: { label: "to", type: "date" },
});

const ON_A_PAGE = 25;
/** How many payments an export reads at once: few enough that a read blocks the event loop no longer than a page does. */
const EXPORTED_AT_ONCE = 100;
/** If a visitor reads nothing for this long, the export ends, because others may need the connection. */
const STALLED_MS = 30_000;

const find = ({ context: { storage }, merchant }: View, kind: Kind, reference: string) =>
  storage[kind === "disbursements" ? "findDisbursement" : "findCheckout"](merchant!.id, reference);

/** Reads a part of what a person searches for by the service's or the merchant's reference, or by a phone number. */
async function read(view: View, kind: Kind, limit: number, cursor?: string): Promise<ListPage<Payment>> {
  const { search = "", status = "", from = "", to = "" } = view.query;
  const { storage } = view.context;
  // The filter has only statuses of this kind.
  const found = (kind === "disbursements" ? storage.listDisbursements : storage.listCheckouts) as (
    query: RecordQuery,
  ) => Promise<ListPage<Payment>>;
  const query = {
    merchantId: merchantOf(view).id,
    status: status || undefined,
    createdAfter: from === "" ? undefined : Date.parse(from),
    // The last day is included.
    createdBefore: to === "" ? undefined : Date.parse(to) + DAY_MS,
    limit,
    cursor,
  };
  if (search === "") return found(query);
  const own = await find(view, kind, search);
  const named = await found({ ...query, merchantsReference: own?.merchantsReference ?? search });
  const number = parsePhoneNumber(search);
  return named.items.length > 0 || "fault" in number ? named : found({ ...query, phoneNumber: number.digits });
}

/** Who gets a payout or has paid a checkout. A payment that was ended by hand has no payer. */
const payerOf = ({ t }: Words, { customer }: Payment) =>
  customer ? formatPhoneNumber(customer.phoneNumber) : dim(t("none"));

const listPage = (kind: Kind): Page =>
  list<Payment>({
    at: `/m/:merchant/${kind}`,
    title: kind,
    filters: filtersOf(kind),
    read: (view, { cursor }) => read(view, kind, ON_A_PAGE, cursor),
    key: ({ reference }) => reference,
    columns: (view) => [
      column("reference", "", view.toPayment),
      column("phoneNumber", "wide line", (payment) => payerOf(view, payment)),
      column("amount", "number", view.money),
      column("status", "wide", (payment) => {
        const failure = failureIn(payment);
        return [view.badge(payment.status), failure && under(failure.code)];
      }),
      column("created", "wide", ({ createdAt }) => view.stamp(createdAt)),
    ],
    beside: ({ area, t }, rows, query) => rows.length > 0 && link(`${area}/${kind}.csv${query}`, t("exportCsv")),
  });

const COLUMNS: Readonly<Record<string, (payment: Payment) => string | number>> = {
  reference: ({ reference }) => reference,
  merchantsReference: ({ merchantsReference }) => merchantsReference,
  status: ({ status }) => status,
  amount: ({ amount }) => amount,
  fee: ({ fee }) => fee,
  currency: ({ currency }) => currency,
  country: ({ country }) => country,
  phoneNumber: ({ customer }) => customer?.phoneNumber ?? "",
  createdAt: ({ createdAt }) => timestamp(createdAt),
  updatedAt: ({ updatedAt }) => timestamp(updatedAt),
  failureCode: (payment) => failureIn(payment)?.code ?? "",
  failureMessage: (payment) => failureIn(payment)?.message ?? "",
};

/** The payments that a search finds as CSV (RFC 4180), a few at a time, so that memory stays bounded. */
async function* linesOf(view: View, kind: Kind) {
  const fields = fieldsByName(kind);
  let lines = csvLine([...Object.keys(COLUMNS), ...fields]);
  let page: ListPage<Payment> | undefined;
  do {
    page = await read(view, kind, EXPORTED_AT_ONCE, page?.cursor);
    for (const payment of page.items) {
      const cells = Object.values(COLUMNS).map((cell) => cell(payment));
      lines += csvLine([...cells, ...fields.map((name) => String(fieldOf(payment, name) ?? ""))]);
    }
    yield lines;
    lines = "";
  } while (page.cursor !== undefined);
}

const csvPage = (kind: Kind): Page => ({
  at: `/m/:merchant/${kind}.csv`,
  title: kind,
  under: `/m/:merchant/${kind}`,
  filters: filtersOf(kind),
  async show(view) {
    const { context, res, actor } = view;
    const { id: merchantId } = merchantOf(view);
    const details = { list: kind };
    await context.storage.recordAction({ actor, action: "payments.export", merchantId, details });
    const lines = Readable.from(linesOf(view, kind));
    // The first lines are read before the status is sent, so that an error of the storage gets a page.
    await once(lines, "readable");
    res.type("text/csv").attachment(`${kind}.csv`);
    res.setTimeout(STALLED_MS, () => void res.destroy());
    // After an error the connection is closed, so that an incomplete file does not look complete.
    await pipeline(lines, res).catch((error: unknown) =>
      context.log.warn({ err: error, requestId: stateOf(res).requestId }, "export ended early"),
    );
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
    const { rails } = context;
    const payment = await find(view, kind, params.reference!);
    if (!payment) throw missing();
    const { reference, merchantsReference } = payment;
    const [moments, rail] = await Promise.all([storyOf(view, kind, payment), rails && railPart(view, reference)]);
    return record({
      back: [`${area}/${kind}`, t(kind)],
      heading: [t(KINDS[kind].one), " ", bdi(merchantsReference)],
      main: [
        markup`<p class="total">${view.money(payment)} ${view.badge(payment.status)}</p>`,
        kind === "disbursements" && payment.status === "pending" && waits(view, payment as Disbursement),
        facts(factsOf(view, kind, payment)),
      ],
      beside: card(timeline(view, moments), { title: t("timeline"), isLive: true }),
      below: rail,
    });
  },
});

function factsOf(view: View, kind: Kind, payment: Payment): Parameters<typeof facts>[0] {
  const { t } = view;
  const failure = failureIn(payment);
  // What the provider said is in English.
  const reason = failure && (view.language === "fr" ? view.word("failure", failure.code) : failure.message);
  const { redirectURL } = payment as Checkout;
  const page = `${view.context.config.publicUrl}/checkouts/${payment.reference}`;
  return [
    [t("servicesReference"), code(payment.reference)],
    [t("fee"), view.amount(payment.fee, payment.currency)],
    [t(KINDS[kind].who), payerOf(view, payment)],
    failure && [t("whyFailed"), [reason, " ", code(failure.code)]],
    [t("country"), payment.country],
    [t("created"), view.stamp(payment.createdAt)],
    kind === "checkouts" && [t("payersPage"), link(page, page)],
    redirectURL !== undefined && [t("returnsTo"), redirectURL],
    payment.webhookURL !== undefined && [t("webhookTo"), payment.webhookURL],
    ...fieldsByName(kind).map((name) => {
      const value = fieldOf(payment, name);
      return value !== undefined && ([code(name), bdi(String(value))] as const);
    }),
  ];
}

/** Leads from a pending payout to the decision about it; in a sandbox, ends it. */
function waits(view: View, payout: Disbursement): Part {
  if (!payout.approval) return view.context.config.sandbox && form(view, "sandbox.finish", { class: "inline" });
  const why = payout.approval.level === "operator" ? view.t("waitsForOperator") : view.t("waitsForApproval");
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
