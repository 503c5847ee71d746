import { refused } from "../../actions/action.ts";
import { ATTENTION_AFTER_MINUTES } from "../../domain/handovers.ts";
import {
  MOST_FAILURES_COUNTED,
  MOST_GIVEN_UP_COUNTED,
  MOST_WAITING_COUNTED,
  type Figure,
  type PaymentKind,
} from "../../domain/figures.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import {
  attributes,
  code,
  column,
  dim,
  facts,
  items,
  link,
  markup,
  scroll,
  soft,
  table,
  under,
  type Column,
  type Html,
  type Part,
} from "./html.ts";
import type { Page } from "./page.ts";
import { dayOf, queryOf, type View, type Words } from "./view.ts";

/** The number of receivers, and of merchants with late payouts, that the page names. */
const MOST_NAMED = 20;
/** For how long the page names receivers whose webhooks failed for good. */
const GIVEN_UP_MS = 7 * DAY_MS;

/** What needs a person at a merchant, with the figures of its payments, or at all merchants. */
export const overviewPage: Page = {
  at: "{scope}/overview",
  title: "overview",
  query: ["range", "of", "until"],
  async show(view) {
    const { t, merchant } = view;
    const [issues, figures] = await Promise.all([issuesOf(view), merchant && figuresOf(view, merchant)]);
    return {
      body: markup`<h1>${t("overview")}</h1>
<section class="card${issues.length === 0 && " calm"}" aria-labelledby="attention" data-live><h2 id="attention">${t("needsAttention")}</h2>
${items(issues, "issues")}<p class="nothing">${t("nothing")}</p></section>
${figures?.body}`,
      ...(figures && { address: figures.address }),
    };
  },
};

/** An issue with where to look, if there is any. */
const issueOf = (found: readonly unknown[], text: string, href: string, look: string) =>
  found.length > 0 ? [[text, " ", link(href, look)]] : [];

/** What a person should look at: what is worst comes first. */
async function issuesOf(view: View): Promise<Part[]> {
  const { context, merchant, root, area, t, rich, stamp, whose } = view;
  const { storage, config, clock } = context;
  const merchantId = merchant?.id;
  const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
  const tooLong = clock.now() - minutes * 60_000;
  const limit = MOST_NAMED + 1;
  const isOperator = view.visit.session.merchantId === undefined;
  const [failing, givenUp, late, waiting, proposals, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit }),
    storage.listGivenUp({ merchantId, after: clock.now() - GIVEN_UP_MS, limit }),
    storage.listLate({ merchantId, before: tooLong, limit }),
    storage.listWaiting({ merchantId, limit: 1 }),
    isOperator ? storage.listProposals() : [],
    config.sandbox
      ? []
      : storage.listAttention({ ...(merchant && { merchantId: merchant.id }), unknownBefore: tooLong, limit: 1 }),
    config.sandbox || merchant ? [] : storage.readPauses(),
  ]);
  await view.nameMerchants([...failing, ...givenUp, ...late]);
  const changes = proposals.filter((proposal) => merchant === undefined || proposal.merchantId === merchant.id);
  const shift = merchant?.clockOffset ?? 0;

  /** A link to what an issue counts. */
  const counted = (id: string, path: string, query: Record<string, string>, text: string, isAll: boolean) =>
    link(`${root}/m/${id}/${path}${queryOf(query)}`, isAll ? text : `≥ ${text}`);
  /** The merchant that an issue is of, on the page of all merchants. */
  const of = (id: string) => whose(id) && [" (", link(`${root}/m/${id}/overview`, whose(id)), ")"];

  const issues = [
    failing
      .toSorted((a, b) => b.waiting - a.waiting)
      .map(({ merchantId: id, host, waiting: count, since }) => {
        const query = { status: "pending", host };
        const text = t("webhooksWait", { count });
        const webhooks = counted(id, "webhooks", query, text, count < MOST_WAITING_COUNTED);
        const now = counted(id, "replays/new", query, t("sendThemNow.opens"), true);
        return [rich("receiverFails", { host, of: of(id), webhooks, time: stamp(since) }), " ", now];
      }),
    givenUp
      .toSorted((a, b) => b.failed - a.failed)
      .map(({ merchantId: id, host, failed: count, since }) => {
        const query = { status: "failed", host };
        const text = t("webhooksFailed", { count });
        const webhooks = counted(id, "webhooks", query, text, count < MOST_GIVEN_UP_COUNTED);
        const again = counted(id, "replays/new", query, t("sendThemAgain"), true);
        return [rich("receiverGaveUp", { host, of: of(id), webhooks, time: stamp(since) }), " ", again];
      }),
    issueOf(unclear, t("outcomeUnknown"), `${area}/attention`, t("seePayments")),
    pauses.map(({ rail, at }) => [
      rich("railIsPaused", { rail, time: stamp(at) }),
      " ",
      link(`${root}/rails`, t("seeRails")),
    ]),
    issueOf(waiting, t("approvalsWait"), `${area}/approvals`, t("decideAboutThem")),
    issueOf(changes, t("changesWait"), `${root}/balances`, t("decideAboutThem")),
    late.map(({ merchantId: id, payouts: count, since }) => {
      const text = t("payoutsPending", { count });
      const payouts = counted(id, "disbursements", { status: "pending" }, text, count < MOST_WAITING_COUNTED);
      return rich("payoutsAreLate", { payouts, of: of(id), minutes, time: stamp(since + shift) });
    }),
  ];
  const isCut = issues.some(({ length }) => length > MOST_NAMED);
  return [...issues.flatMap((each): Part[] => each.slice(0, MOST_NAMED)), ...(isCut ? [t("moreThere")] : [])];
}

/** The periods, in days. */
const RANGES = { day: 1, week: 7, month: 31 } as const;
/** The kinds of payments, with their statuses. */
const KINDS = {
  payouts: { kind: "disbursement", list: "disbursements", statuses: ["success", "failed", "pending"] },
  checkouts: { kind: "checkout", list: "checkouts", statuses: ["success", "failed", "cancelled", "pending"] },
} as const satisfies Record<string, { kind: PaymentKind; list: string; statuses: string[] }>;

const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** What a person has chosen. @throws Refused if a parameter is not one that a link sends */
function chosen({ query, context: { clock } }: View, merchant: Merchant) {
  const { until = "" } = query;
  const range = (query.range || "week") as keyof typeof RANGES;
  const of = (query.of || "payouts") as keyof typeof KINDS;
  for (const [all, choice] of [[RANGES, range] as const, [KINDS, of] as const])
    if (!Object.hasOwn(all, choice)) throw refused(422, "error.noChoice", { choice });
  const today = Math.floor(sandboxTime(merchant, clock.now()) / DAY_MS);
  const to = until === "" ? today : Math.min(today, dayOf(until) / DAY_MS);
  return { range, of, from: to - RANGES[range] + 1, to, today };
}
type Choice = ReturnType<typeof chosen>;

/** The figures of a merchant's payments, with the address that keeps the choice. */
async function figuresOf(view: View, merchant: Merchant): Promise<{ body: Html; address: string }> {
  const { t, context } = view;
  const choice = chosen(view, merchant);
  const { from, to, of, range, today } = choice;
  const { kind } = KINDS[of];
  const query = { merchantId: merchant.id, kind, from, to };
  const [figures, times, failures] = await Promise.all([
    // The figures include the period before, for comparison, if they are of at most 31 days.
    context.storage.readFigures({ ...query, from: range === "month" ? from : from - RANGES[range] }),
    kind === "disbursement" ? context.storage.readTimes(query) : [],
    context.storage.countFailures(query),
  ]);
  const linkTo = (changes: { range?: string; of?: string; until?: number }) => {
    const { until = to, ...others } = { range, of, ...changes };
    return queryOf({ ...others, until: until < today ? isoDay(until) : "" });
  };
  const choices = (label: string, names: readonly string[], current: string, name: "range" | "of") => {
    const links = names.map((each) => {
      const about = attributes({ href: linkTo({ [name]: each }), "aria-current": each === current && "true" });
      return markup`<a${about}>${view.word(name, each)}</a>`;
    });
    return markup`<nav class="choice" aria-label="${label}">${links}</nav>`;
  };
  const values = { kind: t(of), first: view.day(isoDay(from)), last: view.day(isoDay(to)) };
  const later = to < today && link(linkTo({ until: Math.min(today, to + RANGES[range]) }), t("later"));
  const isEmpty = figures.every(({ day }) => day < from);
  return {
    body: markup`<div class="head choices">${choices(t("payments"), Object.keys(KINDS), of, "of")}${choices(t("period"), Object.keys(RANGES), range, "range")}</div>
<section class="card" aria-labelledby="figures" data-live><div class="head"><h2 id="figures">${from === to ? t("kindOn", values) : t("kindFromTo", values)}</h2>
<p class="steps">${link(linkTo({ until: from - 1 }), t("earlier"))} ${later}</p></div>
${isEmpty ? markup`<p>${t(of === "payouts" ? "noPayouts" : "noCheckouts")}</p>` : figuresPart(view, choice, figures, times, failures)}
${soft(t("daysMean"))}</section>`,
    address: linkTo({}),
  };
}

type Counted = readonly Figure[];
const sum = (counted: Counted) => counted.reduce((total, { payments }) => total + payments, 0);
const withStatus = (counted: Counted, status: string) => counted.filter((each) => each.status === status);
const byCurrency = (counted: Counted) => [...Map.groupBy(counted, ({ currency }) => currency)].toSorted();

export const share = (part: number, whole: number, { number }: Words): string =>
  `${number(Math.floor((1_000 * part) / whole) / 10)} %`;

/** How long it took until a part of the payouts were final. */
function finalWithin(part: number, times: readonly number[], { duration }: Words): string {
  const sorted = times.toSorted((a, b) => a - b);
  return duration(Math.max(1, Math.ceil(sorted[Math.ceil(part * sorted.length) - 1]! / 1_000)) * 1_000);
}

/** @param all begins before the period, to compare with */
function figuresPart(
  view: View,
  { of, from, to }: Choice,
  all: Counted,
  times: readonly number[],
  failures: readonly { code?: string | undefined; payments: number }[],
): Html {
  const { t, number, word, area } = view;
  const { list, statuses } = KINDS[of];
  const [counted, before] = [all.filter(({ day }) => day >= from), all.filter(({ day }) => day < from)];
  const many = (count: number) => (of === "payouts" ? t("payoutCount", { count }) : t("checkoutCount", { count }));
  const amountOf = (among: Counted, currency: string) =>
    view.amount(
      among.reduce((total, { amount }) => total + amount, 0n),
      currency,
    );
  /** Leads to the payments that a figure counts. */
  const toList = (text: string, status: string, first: number, last: number) =>
    link(`${area}/${list}${queryOf({ status, from: isoDay(first), to: isoDay(last) })}`, text);
  /** The share of final payments that succeeded. It says 100 % only if all did. */
  const rateOf = (among: Counted) => {
    const total = sum(among) - sum(withStatus(among, "pending"));
    return total === 0 ? undefined : share(sum(withStatus(among, "success")), total, view);
  };
  const success = (among: Counted, earlier: Counted) => {
    const rate = rateOf(earlier);
    return [rateOf(among) ?? t("noneFinal"), rate !== undefined && under(t("earlierShare", { share: rate }))];
  };
  const currencies: Column<ReturnType<typeof byCurrency>[number]>[] = [
    column("currency", "names", ([currency]) => currency),
    column("successRate", "number", ([currency, among]) =>
      success(
        among,
        before.filter((each) => each.currency === currency),
      ),
    ),
    ...statuses.map((status): (typeof currencies)[number] =>
      column(`status.${status}`, "number", ([currency, among]) => {
        const found = withStatus(among, status);
        if (found.length === 0) return dim(t("none"));
        return [amountOf(found, currency), under(toList(many(sum(found)), status, from, to))];
      }),
    ),
  ];
  const days: Column<number>[] = [
    column("day", "names", (day) => `${view.weekday(isoDay(day))} ${view.day(isoDay(day))}`),
    ...statuses.map((status): Column<number> =>
      column(`status.${status}`, "number", (day) => {
        const count = sum(withStatus(counted, status).filter((each) => each.day === day));
        return count > 0 ? toList(number(count), status, day, day) : count;
      }),
    ),
    column("sumOfSuccess", "number", (day) =>
      byCurrency(withStatus(counted, "success").filter((each) => each.day === day)).map(
        ([currency, among]) => markup`<div>${amountOf(among, currency)}</div>`,
      ),
    ),
  ];
  const why: Column<(typeof failures)[number]>[] = [
    column("reason", "names", (each) =>
      each.code === undefined ? t("noReason") : [word("failure", each.code), under(code(each.code))],
    ),
    column(of, "number", ({ payments }) => number(payments)),
  ];
  const isCut = failures.reduce((total, { payments }) => total + payments, 0) >= MOST_FAILURES_COUNTED;
  const inOrder = failures.toSorted((a, b) => b.payments - a.payments);
  const withPayments = [...new Set(counted.map(({ day }) => day))].toSorted((a, b) => a - b);
  return markup`${facts(
    [
      [t(of), number(sum(counted))],
      [t("successOfFinal"), success(counted, before)],
      times.length > 0 && [t("halfFinal"), finalWithin(0.5, times, view)],
      times.length > 0 && [t("mostFinal"), finalWithin(0.95, times, view)],
    ],
    "tiles",
  )}
<h3>${t("sumsByCurrency")}</h3>${scroll(table(view, byCurrency(counted), currencies), { "aria-label": t("sumsByCurrency") })}
${failures.length > 0 && [markup`<h3>${t("whyTheyFailed")}</h3>`, table(view, inOrder, why), isCut && soft(t("ofTheNewest", { number: MOST_FAILURES_COUNTED }))]}
${from < to && [markup`<h3>${t("figuresEachDay")}</h3>`, scroll(table(view, withPayments, days, isoDay), { "aria-label": t("figuresEachDay") })]}`;
}
