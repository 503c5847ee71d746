import { refused } from "../../actions/refused.ts";
import { ATTENTION_AFTER_MINUTES } from "../../domain/attention.ts";
import {
  MOST_FAILURES_COUNTED,
  MOST_GIVEN_UP_COUNTED,
  MOST_WAITING_COUNTED,
  type PaymentKind,
} from "../../domain/figures.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { attributes, markup, type Html, type Part } from "./html.ts";
import { CHART, isoDay, summaryOf } from "./overview-figures.ts";
import type { Page } from "./page.ts";
import { bdi, code, facts, link, soft, table, under, type Column } from "./parts.ts";
import { dayOf, merchantNames, queryOf, type View } from "./view.ts";

/** The periods, in days. */
const RANGES = { day: 1, week: 7, month: 31 } as const;
const KINDS = { payouts: "disbursement", checkouts: "checkout" } as const satisfies Record<string, PaymentKind>;
/** The number of receivers, and of merchants with late payouts, that the page names. */
const MOST_NAMED = 20;
/** For how long the page names receivers whose webhooks failed for good. */
const GIVEN_UP_MS = 7 * DAY_MS;

interface Choice {
  range: keyof typeof RANGES;
  of: keyof typeof KINDS;
  kind: PaymentKind;
  from: number;
  to: number;
  today: number;
}

/** @throws Refused if a parameter is not one that a link sends */
function chosen({ query, context: { clock } }: View, merchant: Merchant): Choice {
  const { range = "", of = "", until = "" } = query;
  const [span, kind] = [range || "week", of || "payouts"];
  if (!Object.hasOwn(RANGES, span) || !Object.hasOwn(KINDS, kind)) throw refused(422, "error.noOverview");
  const today = Math.floor(sandboxTime(merchant, clock.now()) / DAY_MS);
  const to = until === "" ? today : Math.min(today, dayOf(until) / DAY_MS);
  const from = to - RANGES[span as keyof typeof RANGES] + 1;
  return {
    range: span as keyof typeof RANGES,
    of: kind as keyof typeof KINDS,
    kind: KINDS[kind as keyof typeof KINDS],
    from,
    to,
    today,
  };
}

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
<ul class="issues">${issues.map((issue) => markup`<li>${issue}</li>`)}</ul><p class="nothing">${t("nothing")}</p></section>
${figures?.body}`,
      ...(figures && { address: figures.address }),
    };
  },
};

async function figuresOf(view: View, merchant: Merchant): Promise<{ body: Html; address: string }> {
  const { t, context } = view;
  const choice = chosen(view, merchant);
  const { kind, from, to, of, range, today } = choice;
  const query = { merchantId: merchant.id, kind, from, to };
  const [figures, times, failures] = await Promise.all([
    // The figures include the period before, for comparison, if they are of at most 31 days.
    context.storage.readFigures({ ...query, from: range === "month" ? from : from - RANGES[range] }),
    kind === "disbursement" ? context.storage.readTimes(query) : [],
    context.storage.countFailures(query),
  ]);
  const summary = summaryOf(kind, { from, to }, figures, times, view);
  const linkTo = (changes: { range?: string; of?: string; until?: number }) => {
    const { until = to, ...others } = { range, of, ...changes };
    return queryOf({ ...others, until: until < today ? isoDay(until) : "" });
  };
  const choices = (label: string, names: readonly string[], current: string, name: "range" | "of") =>
    markup`<nav class="choice" aria-label="${label}">${names.map((each) => markup`<a href="${linkTo({ [name]: each })}"${attributes({ "aria-current": each === current && "true" })}>${view.word(name, each)}</a>`)}</nav>`;
  const values = { kind: t(of), first: view.day(isoDay(from)), last: view.day(isoDay(to)) };
  const later = to < today && link(linkTo({ until: Math.min(today, to + RANGES[range]) }), t("later"));
  const heading = from === to ? t("kindOn", values) : t("kindFromTo", values);
  return {
    body: markup`<div class="head choices">${choices(t("payments"), Object.keys(KINDS), of, "of")}${choices(t("period"), Object.keys(RANGES), range, "range")}</div>
<section class="card" aria-labelledby="figures" data-live><div class="head"><h2 id="figures">${heading}</h2>
<p class="steps">${link(linkTo({ until: from - 1 }), t("earlier"))} ${later}</p></div>
${summary.total === 0 ? markup`<p>${t(of === "payouts" ? "noPayouts" : "noCheckouts")}</p>` : figuresPart(view, choice, summary, failures)}
${soft([context.config.sandbox ? t("daysInSandbox") : t("daysInUtc"), " ", t("newResults")])}</section>`,
    address: linkTo({}),
  };
}

type Summary = ReturnType<typeof summaryOf>;

function figuresPart(
  view: View,
  choice: Choice,
  summary: Summary,
  failures: readonly { code?: string | undefined; payments: number }[],
): Html {
  const { t, number, word, area } = view;
  const { of, from, to } = choice;
  const kind = t(of);
  const { success, before, times, total } = summary;
  const many = (count: number) => (of === "payouts" ? t("payoutCount", { count }) : t("checkoutCount", { count }));
  /** Leads a merchant's figures to the payments that they count. */
  const counted = (text: string, status: string, first: string, last: string) => {
    const list = of === "payouts" ? "disbursements" : "checkouts";
    return link(`${area}/${list}${queryOf({ status, from: first, to: last })}`, text);
  };
  const earlier = (share: string | undefined) => share !== undefined && under(t("earlierShare", { share }));
  const currencies: Column<Summary["currencies"][number]>[] = [
    { title: "currency", isHead: true, cell: ({ currency }) => currency },
    { title: "successRate", class: "number", cell: (each) => [each.success ?? t("noneFinal"), earlier(each.before)] },
    ...summary.statuses.map((status, index): Column<Summary["currencies"][number]> => ({
      title: markup`${word("status", status)}`,
      class: "number",
      cell({ amounts }) {
        const { payments, amount } = amounts[index]!;
        if (payments === 0) return markup`<span class="soft">${t("none")}</span>`;
        return [amount, under(counted(many(payments), status, isoDay(from), isoDay(to)))];
      },
    })),
  ];
  const sums = failures.reduce((all, { payments }) => all + payments, 0);
  const why = table(
    view,
    failures.toSorted((a, b) => b.payments - a.payments),
    [
      {
        title: "reason",
        isHead: true,
        cell: (each) =>
          each.code === undefined ? t("noReason") : [word("failure", each.code), under(code(each.code))],
      },
      { title: of, class: "number", cell: ({ payments }) => number(payments) },
    ],
  );
  return markup`${facts(
    [
      [kind, number(total)],
      [t("successOfFinal"), [success ?? t("noneFinal"), earlier(before)]],
      times && [t("halfFinal"), times.half],
      times && [t("mostFinal"), times.most],
    ],
    "tiles",
  )}
${from < to && chart(view, choice, summary)}
<h3>${t("sumsByCurrency")}</h3>${scroll(t("sumsByCurrency"), table(view, summary.currencies, currencies))}
${failures.length > 0 && [markup`<h3>${t("whyTheyFailed")}</h3>`, why, sums >= MOST_FAILURES_COUNTED && soft(t("ofTheNewest", { number: MOST_FAILURES_COUNTED }))]}
${from < to && markup`<details><summary>${t("figuresAsTable")}</summary>${scroll(t("figuresEachDay"), daysTable(view, summary, counted))}</details>`}`;
}

const scroll = (label: string, content: Html) =>
  markup`<div class="scroll" tabindex="0" role="group" aria-label="${label}">${content}</div>`;

function chart({ t, word, day }: View, { of, from, to }: Choice, { bars, statuses, most }: Summary): Html {
  const size = attributes({ viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: "none" });
  const shapes = bars.map(
    ({ x, width, parts, text }) =>
      markup`<g><title>${text}</title>${parts.map(({ status, y, height }) => markup`<rect${attributes({ class: status, x, y, width, height })}/>`)}</g>`,
  );
  return markup`<figure><figcaption>${t("perDay", { kind: t(of), most })}</figcaption>
<svg class="bars"${size} role="img" aria-label="${t(of === "payouts" ? "barsOfPayouts" : "barsOfCheckouts")}">${shapes}</svg>
<p class="ends" aria-hidden="true"><span>${day(isoDay(from))}</span><span>${day(isoDay(to))}</span></p>
<ul class="legend">${statuses.map((status) => markup`<li class="${status}">${word("status", status)}</li>`)}</ul></figure>`;
}

function daysTable(
  view: View,
  { days, statuses }: Summary,
  counted: (text: string, status: string, first: string, last: string) => Part,
): Html {
  const { number, word } = view;
  const columns: Column<Summary["days"][number]>[] = [
    { title: "day", isHead: true, cell: ({ text }) => text },
    ...statuses.map((status, index): Column<Summary["days"][number]> => ({
      title: markup`${word("status", status)}`,
      class: "number",
      cell({ counts, day }) {
        const { payments } = counts[index]!;
        return payments > 0 ? counted(number(payments), status, day, day) : number(payments);
      },
    })),
    { title: "sumOfSuccess", class: "number", cell: ({ sums }) => sums.map((sum) => markup`<div>${sum}</div>`) },
  ];
  return table(view, days, columns, ({ day }) => day);
}

/** What a person should look at: what is worst comes first. */
async function issuesOf(view: View): Promise<Part[]> {
  const { context, merchant, root, area, t, rich, stamp } = view;
  const { storage, config, clock } = context;
  const merchantId = merchant?.id;
  const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
  const tooLong = clock.now() - minutes * 60_000;
  const which = merchantId === undefined ? {} : { merchantId };
  const limit = MOST_NAMED + 1;
  const isOperator = view.visit.session.merchantId === undefined;
  const [failing, givenUp, late, waiting, proposals, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit }),
    storage.listGivenUp({ merchantId, after: clock.now() - GIVEN_UP_MS, limit }),
    storage.listLate({ merchantId, before: tooLong, limit }),
    storage.listWaiting({ merchantId, limit: 1 }),
    isOperator ? storage.listProposals() : [],
    config.sandbox ? [] : storage.listAttention({ ...which, unknownBefore: tooLong, limit: 1 }),
    config.sandbox || merchantId !== undefined ? [] : storage.readPauses(),
  ]);
  const names = merchant ? undefined : await merchantNames(context, [...failing, ...givenUp, ...late]);
  /** The merchant that an issue is of, on the page of all merchants. */
  const ofMerchant = (id: string) => names && [" (", link(`${root}/m/${id}/overview`, bdi(names.get(id) ?? id)), ")"];
  const to = (id: string, path: string, parameters: Record<string, string>, text: string) =>
    link(`${root}/m/${id}/${path}${queryOf(parameters)}`, text);
  const shift = merchant?.clockOffset ?? 0;
  return [
    ...failing
      .toSorted((a, b) => b.waiting - a.waiting)
      .map(({ merchantId: id, host, waiting: count, since }) => {
        const text =
          count >= MOST_WAITING_COUNTED ? t("webhooksWait.more", { number: count }) : t("webhooksWait", { count });
        const webhooks = to(id, "webhooks", { status: "pending", host }, text);
        const values = { host, of: ofMerchant(id), webhooks, time: stamp(since) };
        return [
          rich("receiverFails", values),
          " ",
          to(id, "replays/new", { status: "pending", host }, t("sendThemNow.opens")),
        ];
      })
      .slice(0, MOST_NAMED),
    ...givenUp
      .toSorted((a, b) => b.failed - a.failed)
      .map(({ merchantId: id, host, failed: count, since }) => {
        const text =
          count >= MOST_GIVEN_UP_COUNTED ? t("webhooksFailed.more", { number: count }) : t("webhooksFailed", { count });
        const webhooks = to(id, "webhooks", { status: "failed", host }, text);
        const values = { host, of: ofMerchant(id), webhooks, time: stamp(since) };
        return [
          rich("receiverGaveUp", values),
          " ",
          to(id, "replays/new", { status: "failed", host }, t("sendThemAgain")),
        ];
      })
      .slice(0, MOST_NAMED),
    ...(unclear.length > 0 ? [[t("outcomeUnknown"), " ", link(`${area}/attention`, t("seePayments"))]] : []),
    ...pauses.map(({ rail, at }) => [
      rich("railIsPaused", { rail, time: stamp(at) }),
      " ",
      link(`${root}/rails`, t("seeRails")),
    ]),
    ...(waiting.length > 0 ? [[t("approvalsWait"), " ", link(`${area}/approvals`, t("decideAboutThem"))]] : []),
    ...(proposals.some((proposal) => merchantId === undefined || proposal.merchantId === merchantId)
      ? [[t("changesWait"), " ", link(`${root}/balances`, t("decideAboutThem"))]]
      : []),
    ...late
      .map(({ merchantId: id, payouts: count, since }) => {
        const text =
          count >= MOST_WAITING_COUNTED ? t("payoutsPending.more", { number: count }) : t("payoutsPending", { count });
        const payouts = to(id, "disbursements", { status: "pending" }, text);
        return rich("payoutsAreLate", { payouts, of: ofMerchant(id), minutes, time: stamp(since + shift) });
      })
      .slice(0, MOST_NAMED),
    ...([failing, givenUp, late].some(({ length }) => length > MOST_NAMED) ? [t("moreIssues")] : []),
  ];
}
