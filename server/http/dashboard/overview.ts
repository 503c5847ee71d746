import { refused } from "../../actions/action.ts";
import { MOST_GIVEN_UP_COUNTED, MOST_WAITING_COUNTED, type Figure, type Issue } from "../../domain/figures.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { say } from "../../texts/index.ts";
import { card, column, dim, items, link, markup, scroll, table, under } from "./html.ts";
import type { Column, Html, Part } from "./html.ts";
import { checkSearch, searchForm, type Filters, type Page } from "./page.ts";
import { KINDS, type Kind } from "./payment-search.ts";
import { queryOf, type View } from "./view.ts";

/** The number of receivers, and of merchants with late payouts, that the page names. */
const MOST_NAMED = 20;
/** For how long the page names receivers whose webhooks failed for good. */
const GIVEN_UP_MS = 7 * DAY_MS;

/** What needs a person, at one merchant (then with its figures too) or at all. */
export const overviewPage: Page = {
  at: "{scope}/overview",
  title: "overview",
  query: ["of", "from", "to"],
  async show(view) {
    const { t, merchant } = view;
    const [issues, figures] = await Promise.all([issuesOf(view), merchant && figuresOf(view, merchant)]);
    const content = issues.length > 0 ? items(issues, "issues") : markup`<p>${t("nothingHere")}</p>`;
    return markup`<h1>${t("overview")}</h1>
${card(content, { id: "attention", title: t("needsAttention"), isLive: true })}${figures}`;
  },
};

/** A link to the page about an issue, if anything was found. */
const issueOf = (found: readonly unknown[], text: Part, href: string) => (found.length > 0 ? [link(href, text)] : []);

type CountId = "webhooksWait" | "webhooksFailed" | "somePayouts";

/** What a person should look at: what is worst comes first. */
async function issuesOf(view: View): Promise<Part[]> {
  const { context, merchant, root, area, t, stamp, whose } = view;
  const { storage, config, clock } = context;
  const merchantId = merchant?.id;
  const minutes = config.attentionAfterMinutes;
  const lateBefore = clock.now() - minutes * 60_000;
  const limit = MOST_NAMED + 1;
  const isOperator = view.visit.session.merchantId === undefined;
  const [failing, givenUp, late, waiting, proposals, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit }),
    storage.listGivenUp({ merchantId, after: clock.now() - GIVEN_UP_MS, limit }),
    storage.listLate({ merchantId, before: lateBefore, limit }),
    storage.listWaiting({ merchantId, limit: 1 }),
    isOperator ? storage.listProposals() : [],
    config.sandbox
      ? []
      : storage.listAttention({ ...(merchant && { merchantId: merchant.id }), unknownBefore: lateBefore, limit: 1 }),
    config.sandbox || merchant ? [] : storage.readPauses(),
  ]);
  await view.nameMerchants([...failing, ...givenUp, ...late]);
  const changes = proposals.filter((proposal) => merchant === undefined || proposal.merchantId === merchant.id);
  const shift = merchant?.clockOffset ?? 0;

  /** A link to what an issue counts, at most so much. */
  const counted = (issue: Issue, text: CountId, most: number, path: string, query: Record<string, string>) => {
    const count = issue.count < most ? issue.count : ["≥ ", view.number(issue.count)];
    return link(`${root}/m/${issue.merchantId}/${path}${queryOf(query)}`, t(text, { count }));
  };
  /** The merchant that an issue is of, on the page of all merchants. */
  const of = (id: string) => whose(id) && [" (", link(`${root}/m/${id}/overview`, whose(id)), ")"];

  const receivers = (found: readonly Issue[], text: CountId, status: string, most: number) =>
    found
      .toSorted((a, b) => b.count - a.count)
      .map((issue) => {
        const { host = "", since, merchantId: id } = issue;
        const webhooks = counted(issue, text, most, "webhooks", { status, host });
        return t("receiverFails", { host, of: of(id), webhooks, time: stamp(since) });
      });

  const issues = [
    receivers(failing, "webhooksWait", "pending", MOST_WAITING_COUNTED),
    receivers(givenUp, "webhooksFailed", "failed", MOST_GIVEN_UP_COUNTED),
    issueOf(unclear, t("outcomeUnknown"), `${area}/attention`),
    pauses.map(({ rail, at }) => link(`${root}/rails`, t("railIsPaused", { rail, time: stamp(at) }))),
    issueOf(waiting, t("approvalsWait"), `${area}/approvals`),
    issueOf(changes, t("changesWait"), `${root}/balances`),
    late.map((issue) => {
      const payouts = counted(issue, "somePayouts", MOST_WAITING_COUNTED, "disbursements", { status: "pending" });
      const about = { payouts, of: of(issue.merchantId), time: stamp(issue.since + shift) };
      return t("payoutsAreLate", { ...about, minutes: say("duration.minutes", { count: minutes }) });
    }),
  ];
  const isCut = issues.some(({ length }) => length > MOST_NAMED);
  return [...issues.flatMap((each): Part[] => each.slice(0, MOST_NAMED)), ...(isCut ? [t("moreThere")] : [])];
}

const FILTERS = {
  of: { label: "payments", type: "select", options: { disbursements: "disbursements", checkouts: "checkouts" } },
  from: { label: "from", type: "date" },
  to: { label: "to", type: "date" },
} as const satisfies Filters;
const MOST_DAYS = 31;
const USUAL_DAYS = 7;

const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** What a person has chosen; the last days otherwise. @throws Refused */
function chosen(view: View, merchant: Merchant) {
  checkSearch(view, FILTERS);
  const { of, from: first = "", to: last = "" } = view.query;
  const today = Math.floor(sandboxTime(merchant, view.context.clock.now()) / DAY_MS);
  const to = last === "" ? today : Date.parse(last) / DAY_MS;
  const from = first === "" ? to - USUAL_DAYS + 1 : Date.parse(first) / DAY_MS;
  if (from > to || to - from >= MOST_DAYS) throw refused(422, "error.period", { days: MOST_DAYS });
  return { of: (of || "disbursements") as Kind, from, to };
}

type Counted = readonly Figure[];
const sum = (counted: Counted) => counted.reduce((total, { payments }) => total + payments, 0);
const withStatus = (counted: Counted, status: string) => counted.filter((each) => each.status === status);
/** The figures of each currency between two days. */
const byCurrency = (counted: Counted, first: number, last: number) =>
  [...Map.groupBy(counted, ({ currency }) => currency)]
    .toSorted()
    .map(([currency, among]) => ({ first, last, currency, among }));

/** The figures of a merchant's payments. */
async function figuresOf(view: View, merchant: Merchant): Promise<Html> {
  const { t, number, area, context } = view;
  const { of, from, to } = chosen(view, merchant);
  const { one: kind, statuses } = KINDS[of];
  const counted = await context.storage.readFigures({ merchantId: merchant.id, kind, from, to });
  const days = from === to ? [] : [...Map.groupBy(counted, ({ day }) => day)].toSorted(([a], [b]) => a - b);
  const rows = [byCurrency(counted, from, to), ...days.map(([day, among]) => byCurrency(among, day, day))].flat();
  /** Leads to the payments that a figure counts. */
  const toList = (text: string, status: string, first: number, last: number) =>
    link(`${area}/${of}${queryOf({ status, from: isoDay(first), to: isoDay(last) })}`, text);
  /** The share of final payments that succeeded. It says 100 % only if all did. */
  const success = (among: Counted) => {
    const total = sum(among) - sum(withStatus(among, "pending"));
    if (total === 0) return t("none");
    return `${number(Math.floor((1_000 * sum(withStatus(among, "success"))) / total) / 10)} %`;
  };
  const sums: Column<(typeof rows)[number]>[] = [
    column("day", "names", ({ first, last }) => (first === last ? view.day(isoDay(first)) : t("total"))),
    column("currency", "", ({ currency }) => currency),
    column("successRate", "number", ({ among }) => success(among)),
    ...statuses.map((status): (typeof sums)[number] =>
      column(`status.${status}`, "number", ({ first, last, currency, among }) => {
        const found = withStatus(among, status);
        if (found.length === 0) return dim(t("none"));
        const amount = found.reduce((total, each) => total + each.amount, 0n);
        return [view.amount(amount, currency), under(toList(number(sum(found)), status, first, last))];
      }),
    ),
  ];
  const content = scroll(table(view, rows, sums), { "aria-labelledby": "figures" });
  const title = t("kindFromTo", { kind: t(of), first: view.day(isoDay(from)), last: view.day(isoDay(to)) });
  return markup`${searchForm(view, FILTERS, queryOf(view.query) !== "")}
${card(counted.length === 0 ? markup`<p>${t("nothingHere")}</p>` : content, { id: "figures", title, isLive: true })}`;
}
