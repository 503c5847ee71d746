import { refused } from "../../actions/refused.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { failureIn, fieldOf, fieldsByName } from "../../domain/representation.ts";
import { DAY_MS } from "../../domain/time.ts";
import { curlLine } from "../curl-line.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import { keyName } from "./audit-words.ts";
import { sendCsv } from "./export.ts";
import { attributes, markup, type Html } from "./html.ts";
import { list, record, type Page } from "./page.ts";
import { badge, bdi, card, code, link, pathOf, payerOf, pre, under } from "./parts.ts";
import { readPayments, type Kind, type Payment, type PaymentSearch } from "./payment-search.ts";
import { railOf, railPart } from "./rail-of-payment.ts";
import { timeline, timelineOf } from "./timeline.ts";
import { dayOf, mayDo, merchantOf, queryOf, type View } from "./view.ts";

/** How the pages of each kind of payment differ. */
const KINDS = {
  disbursements: {
    one: "disbursement",
    all: "allDisbursements",
    none: "noDisbursementsYet",
    create: "createTestDisbursement",
    who: "recipient",
    statuses: ["pending", "success", "failed"],
    creation: "createDisbursement",
  },
  checkouts: {
    one: "checkout",
    all: "allCheckouts",
    none: "noCheckoutsYet",
    create: "createTestCheckout",
    who: "payer",
    statuses: ["pending", "success", "failed", "cancelled"],
    creation: "createCheckout",
  },
} as const satisfies Record<Kind, object>;

/** @throws Refused if a parameter is not one that the form or a link sends */
function searchIn({ query }: View, kind: Kind): PaymentSearch {
  const { search = "", status = "", from = "", to = "" } = query;
  if (status !== "" && !(KINDS[kind].statuses as readonly string[]).includes(status))
    throw refused(422, "error.noStatus");
  const number = parsePhoneNumber(search);
  return {
    ...(search !== "" && { search }),
    ...("digits" in number && { phoneNumber: number.digits }),
    ...(status !== "" && { status }),
    ...(from !== "" && { createdAfter: dayOf(from) }),
    // The last day is included.
    ...(to !== "" && { createdBefore: dayOf(to) + DAY_MS }),
  };
}

const SEARCH = ["search", "status", "from", "to"];

const listPage = (kind: Kind): Page =>
  list<Payment>({
    at: `/m/:merchant/${kind}`,
    title: kind,
    query: SEARCH,
    filters: () => ({
      search: { label: "referenceOrPhoneNumber", attributes: { type: "search", maxlength: 200 } },
      status: {
        label: "status",
        type: "select",
        isMore: true,
        options: Object.fromEntries([
          ["", "any"],
          ...KINDS[kind].statuses.map((status) => [status, `status.${status}`] as const),
        ]),
      },
      from: { label: "from", isMore: true, attributes: { type: "date" } },
      to: { label: "to", isMore: true, attributes: { type: "date" } },
    }),
    read: (view, cursor) =>
      readPayments(view.context, kind, merchantOf(view).id, { ...searchIn(view, kind), ...cursor }),
    key: ({ reference }) => reference,
    columns: (view) => [
      {
        title: "reference",
        cell: ({ reference, merchantsReference, createdAt }) => [
          link(`${view.area}/${kind}/${reference}`, bdi(merchantsReference)),
          view.stamp(createdAt, "time", "under small"),
        ],
      },
      {
        title: "phoneNumber",
        class: "wide line",
        cell: (payment) =>
          markup`<span${attributes({ class: payment.customer ? undefined : "soft" })}>${payerOf(view, payment as Checkout)}</span>`,
      },
      {
        title: "amount",
        class: "number",
        cell: (payment) => [view.amount(payment.amount, payment.currency), statusBelow(view, payment)],
      },
      { title: "status", class: "wide", cell: (payment) => statusOf(view, payment) },
      { title: "created", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt) },
    ],
    beside: ({ area, t }, rows, query) => rows.length > 0 && link(`${area}/${kind}.csv${query}`, t("exportCsv")),
    none: (view, isFiltered) =>
      isFiltered
        ? markup`<h2>${view.t("nothingFound")}</h2><p>${view.t("searchWholeReference")}</p>`
        : markup`<h2>${view.t(KINDS[kind].none)}</h2>
${view.context.config.sandbox && markup`<p>${link(`${view.area}/sandbox`, view.t(KINDS[kind].create), "button primary")}</p>`}
<p>${view.rich("fromTerminal", { area: view.area })}</p>${pre(curlLine(view.context.config.publicUrl, "$API_KEY", kind))}`,
  });

/** The status on a narrow screen. */
function statusBelow(view: View, payment: Payment): Html {
  const failure = payment.status === "failed" && payment.failure;
  return markup`<span class="small"><br>${badge(view, payment.status)}${failure && markup`<br>${failure.code}`}</span>`;
}

function statusOf(view: View, payment: Payment): (Html | false | undefined)[] {
  const failure = payment.status === "failed" && payment.failure;
  return [badge(view, payment.status), failure && under(failure.code)];
}

const csvPage = (kind: Kind): Page => ({
  at: `/m/:merchant/${kind}.csv`,
  title: kind,
  under: `/m/:merchant/${kind}`,
  query: [...SEARCH, "cursor"],
  async show(view) {
    await sendCsv(view.context, kind, searchIn(view, kind), view.res);
    return undefined;
  },
});

interface Told {
  payment: Payment;
  moments: ReturnType<typeof timelineOf>;
  rail: Awaited<ReturnType<typeof railOf>>;
}

async function findPayment(view: View, kind: Kind): Promise<Told | undefined> {
  const { storage, config, rails } = view.context;
  const { id } = merchantOf(view);
  const reference = view.params.reference!;
  const payment = await (kind === "disbursements" ? storage.findDisbursement : storage.findCheckout)(id, reference);
  if (!payment) return undefined;
  // A record has one event. Without a webhook address it has no delivery.
  const query = { merchantId: id, reference, limit: 1 };
  const [events, deliveries, requests, rail, keys] = await Promise.all([
    storage.listEvents(query),
    storage.listDeliveries(query),
    // Finds only the successful request: a refused duplicate has the same reference.
    storage.listRequests({ ...query, operation: KINDS[kind].creation, statusClass: 2 }),
    rails && railOf(view, reference),
    storage.listKeysOf(id),
  ]);
  const request = config.requestLog ? requests.items[0] : undefined;
  const key = keyName(keys, request?.keyId, view) ?? request?.keyId;
  const related = { event: events.items[0], delivery: deliveries.items[0], request, key };
  return { payment, moments: timelineOf(payment, related, view), rail };
}

const paymentPage = (kind: Kind): Page =>
  record<Told>({
    at: `/m/:merchant/${kind}/:reference`,
    title: KINDS[kind].one,
    under: `/m/:merchant/${kind}`,
    missing: "error.noPayment",
    find: (view) => findPayment(view, kind),
    back: ({ area, t }) => [`${area}/${kind}`, t(KINDS[kind].all)],
    about: ({ payment }) => payment.merchantsReference,
    heading: ({ t }, { payment }) => [t(KINDS[kind].one), " ", bdi(payment.merchantsReference)],
    before: (view, { payment }) =>
      markup`<p class="total">${view.amount(payment.amount, payment.currency)} ${badge(view, payment.status)}</p>
${"approval" in payment && payment.approval && payment.status === "pending" && waits(view, payment)}`,
    facts(view, { payment }) {
      const { t, stamp } = view;
      const failure = failureIn(payment);
      return [
        [t("servicesReference"), code(payment.reference)],
        [t("fee"), view.amount(payment.fee, payment.currency)],
        [t(KINDS[kind].who), payerOf(view, payment as Checkout)],
        failure && [t("whyFailed"), markup`${reasonOf(failure, view)} ${code(failure.code)}`],
        [t("country"), payment.country],
        [t("created"), stamp(payment.createdAt)],
        kind === "checkouts" && [
          t("payersPage"),
          link(`${view.context.config.publicUrl}/checkouts/${payment.reference}`, t("openIt")),
        ],
        "redirectURL" in payment && payment.redirectURL !== undefined && [t("returnsTo"), payment.redirectURL],
        payment.webhookURL !== undefined && [t("webhookTo"), payment.webhookURL],
        ...fieldsByName(kind).map((name) => {
          const value = fieldOf(payment, name);
          return value !== undefined && ([code(name), bdi(String(value))] as const);
        }),
      ];
    },
    beside: (view, { moments }) => card(timeline(view, moments), { title: view.t("timeline"), isLive: true }),
    below: (view, { payment, rail }) => rail && railPart(view, payment, rail),
  });

/** Why a payment failed: the text of its code, or what the provider said. */
const reasonOf = ({ code: why, message }: { code: string; message: string }, { word, language }: View) =>
  language === "fr" ? word("failure", why) : message;

/** Leads from a payout to the decision about it. */
function waits(view: View, { merchantId, reference, approval }: Disbursement): Html {
  const chosen = queryOf({ payment: `${merchantId}/${reference}` });
  const why = approval!.level === "operator" ? view.t("waitsForOperator") : view.t("waitsForApproval");
  const ways = (["approve", "reject"] as const).map(
    (how) =>
      mayDo(view, `payment.${how}`) &&
      markup` ${link(pathOf(view, `payment.${how}`) + chosen, view.t(`${how}.opens`))}`,
  );
  return markup`<p>${why}${ways}</p>`;
}

export const paymentPages: Record<Kind, readonly Page[]> = {
  disbursements: [listPage("disbursements"), csvPage("disbursements"), paymentPage("disbursements")],
  checkouts: [listPage("checkouts"), csvPage("checkouts"), paymentPage("checkouts")],
};
